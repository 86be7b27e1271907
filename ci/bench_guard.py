#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the heap guard costs whole programs, beside glibc's own checks (MALLOC_CHECK_=3), memcheck, and, for a
# program of ours that can be built so, the address sanitizer. The least CPU time of ROUNDS rounds in which
# the ways take turns; memcheck has one. bench_guard.py BUILD, from the top of the project.
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
HEAPQUAKE = BUILD + "/heapquake"
ROUNDS = int(os.environ.get("ROUNDS", "5"))
ALLOCATORS = os.environ.get("ALLOCATORS", "glibc jemalloc").split()
GUARDED = {"1/64": ["--guard=1/64"], "full": ["--guard"], "canary": ["--guard=canary"]}
COLUMNS = ["1/64", "full", "canary", "mcheck", "memcheck", "asan"]
BLOCKS = "l = [None] * 1000\nfor i in range(300000):\n    l[i % 1000] = bytes(600 + i * 7 % 3000)\n"
OBJECTS = "d = {}\nfor i in range(200000):\n    d[i % 1000] = ([i], str(i) * 3, {'k': i})\n"
FUNCTION = "int f%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d ^ a; return s; }\n"
REDIS = ["--port", "0", "--save", "", "--unixsocket"]
CLIENT = ["-q", "-r", "100000", "-n", "40000", "-P", "16", "-d", "200", "-t", "set,get,lpush,lrange_100"]


def works(folder):
    with open(folder + "/many.c", "w") as file:
        file.writelines(FUNCTION % (i, i) for i in range(150))
    heaps = build_heaps(folder)
    return {
        "python3 blocks": [sys.executable, "-S", "-c", BLOCKS],
        "python3 objects": [sys.executable, "-S", "-c", OBJECTS],
        "gcc -O2": ["gcc", "-O2", "-c", "-o", folder + "/many.o", folder + "/many.c"],
        "db_bench": ["db_bench", "--db=" + folder + "/db", "--num=40000", "--benchmarks=fillrandom,readrandom"],
        "redis": None,
        "malloc only": [heaps, "mix"],
    }


def build_heaps(folder):
    """A program that does hardly anything but malloc and free, and the same with the address sanitizer."""
    source = "stress/tests/targets/heaps.c"
    common = ["gcc", "-D_GNU_SOURCE", "-I.", "-O2", "-fno-builtin", "-pthread", source, "-o"]
    subprocess.run([*common, folder + "/heaps"], check=True)
    subprocess.run([*common, folder + "/heaps.asan", "-fsanitize=address"], capture_output=True)
    return folder + "/heaps"


def reported_ms(folder, allocator, options, work):
    """CPU time of a program that heapquake ran and passed, else None."""
    report = folder + "/report"
    run = [HEAPQUAKE, "run", "-q", "--results=none", "--format=json:" + report, "--allocator=" + allocator]
    what = ["--", *work] if work else ["--no-faults", "scenarios/programs/redis.yaml"]
    if subprocess.run([*run, *options, *what], capture_output=True).returncode:
        return None
    with open(report) as file:
        metrics = json.load(file)["results"][0]["metrics"]
    return next(metric["value_ns"] / 1e6 for metric in metrics if metric["name"] == "cpu.total")


def waited_ms(process):
    """CPU time of a process that ended well, with its children, else None."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    return 1000 * (used.ru_utime + used.ru_stime) if status == 0 else None


def start(command, variables):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, **variables}, **quiet)


def direct_ms(folder, prefix, variables, work):
    """CPU time of a program that no controller runs; for redis that of the server."""
    if work:
        return waited_ms(start([*prefix, *work], variables))
    socket = folder + "/redis.sock"
    server = start([*prefix, "redis-server", *REDIS, socket, "--dir", folder], variables)
    for _ in range(600):
        if os.path.exists(socket) or server.poll() is not None:
            break
        time.sleep(0.05)
    subprocess.run(["redis-benchmark", "-s", socket, *CLIENT], capture_output=True, timeout=300)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True)
    return waited_ms(server)


def take_turns(folder, allocator, work):
    """{way: least CPU time}; the ratios of what runs directly are to `direct`."""
    least = {}

    def note(way, ms):
        if ms:
            least[way] = min(ms, least.get(way, ms))

    for _ in range(ROUNDS):
        note("none", reported_ms(folder, allocator, [], work))
        for way, options in GUARDED.items():
            note(way, reported_ms(folder, allocator, options, work))
        if allocator != "glibc":
            continue
        note("direct", direct_ms(folder, [], {}, work))
        checks = {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}
        note("mcheck", direct_ms(folder, [], checks, work))
        if work and os.path.exists(work[0] + ".asan"):
            note("asan", direct_ms(folder, [], {"ASAN_OPTIONS": "detect_leaks=0"}, [work[0] + ".asan", *work[1:]]))
    if allocator == "glibc" and shutil.which("valgrind"):
        note("memcheck", direct_ms(folder, ["valgrind", "-q", "--trace-children=yes"], {}, work))
    return least


def main():
    print("CPU time, as a multiple of that without any of them")
    print("work             allocator   CPU ms" + "".join(f"{column:>9}" for column in COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for name, work in works(folder).items():
            if not shutil.which(work[0] if work else "redis-server"):
                print(f"{name:16} is not installed")
                continue
            for allocator in ALLOCATORS:
                least = take_turns(folder, allocator, work)
                if "none" not in least:
                    print(f"{name:16} {allocator:10}  could not be run")
                    continue
                cells = ""
                for column in COLUMNS:
                    base = least["none"] if column in GUARDED else least.get("direct", 0)
                    cells += f"{least[column] / base:8.2f}x" if column in least and base else "        -"
                print(f"{name:16} {allocator:9} {least['none']:8.0f}{cells}", flush=True)


main()
