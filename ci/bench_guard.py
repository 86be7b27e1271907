#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the heap guard costs whole programs, beside memcheck: minima of CPU time over ROUNDS rounds, in which
# the ways take turns. bench_guard.py BUILD, from the top of the project.
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

HEAPQUAKE = os.path.abspath(os.path.join(sys.argv[1], "heapquake"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
WAYS = {"none": [], "1/64": ["--guard=1/64"], "full": ["--guard"], "canary": ["--guard=canary"]}
BLOCKS = "l = [None] * 1000\nfor i in range(300000):\n    l[i % 1000] = bytes(600 + i * 7 % 3000)\n"
OBJECTS = "d = {}\nfor i in range(200000):\n    d[i % 1000] = ([i], str(i) * 3, {'k': i})\n"
FUNCTION = "int f%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d ^ a; return s; }\n"


def works(folder):
    with open(folder + "/many.c", "w") as file:
        file.writelines(FUNCTION % (i, i) for i in range(200))
    return {
        "python3 blocks": ["--", sys.executable, "-S", "-c", BLOCKS],
        "python3 objects": ["--", sys.executable, "-S", "-c", OBJECTS],
        "gcc -O2": ["--", "gcc", "-O2", "-c", "-o", folder + "/many.o", folder + "/many.c"],
        "redis": ["--no-faults", "scenarios/programs/redis.yaml"],
    }


def cpu_ms(folder, allocator, options, work):
    """CPU time of a run that passed, else None."""
    report = folder + "/report"
    run = [HEAPQUAKE, "run", "-q", "--results=none", "--format=json:" + report, "--allocator=" + allocator]
    if subprocess.run([*run, *options, *work], capture_output=True).returncode:
        return None
    with open(report) as file:
        metrics = json.load(file)["results"][0]["metrics"]
    return next(metric["value_ns"] / 1e6 for metric in metrics if metric["name"] == "cpu.total")


def memcheck_ms(work):
    if work[0] != "--" or not shutil.which("valgrind"):
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["valgrind", "-q", "--trace-children=yes", *work[1:]], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def least_of(folder, allocator, work):
    least = {}
    for _ in range(ROUNDS):
        for way, options in WAYS.items():
            ms = cpu_ms(folder, allocator, options, work)
            if ms:
                least[way] = min(ms, least.get(way, ms))
    return least


def main():
    print("work             allocator   CPU ms" + "".join(f"{way:>9}" for way in list(WAYS)[1:] + ["memcheck"]))
    with tempfile.TemporaryDirectory() as folder:
        for name, work in works(folder).items():
            for allocator in ("glibc", "jemalloc"):
                least = least_of(folder, allocator, work)
                if "none" not in least:
                    print(f"{name:16} {allocator:10}  could not be run")
                    continue
                if allocator == "glibc":
                    least["memcheck"] = memcheck_ms(work)
                ratios = [least.get(way) for way in list(WAYS)[1:] + ["memcheck"]]
                cells = "".join(f"{ms / least['none']:8.2f}x" if ms else "        -" for ms in ratios)
                print(f"{name:16} {allocator:9} {least['none']:8.0f}{cells}", flush=True)


main()
