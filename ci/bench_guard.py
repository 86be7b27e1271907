#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the heap guard costs whole programs, beside glibc's own checks (MALLOC_CHECK_=3), memcheck, and, for a
# program of ours that can be built so, the address sanitizer. bench_guard.py BUILD, from the top of the project.
#
# The ways take turns, up to ROUNDS times, and a ratio is the median of those within one round; memcheck has
# MEMCHECK rounds, each behind a run without it. All rows together end within MINUTES: each gets a share of what is
# left, and a run that is not done by then is stopped. WORKS="gcc redis" and ALLOCATORS choose rows.
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench_peers import turns

BUILD = os.path.abspath(sys.argv[1])
HEAPQUAKE = BUILD + "/heapquake"
MINUTES = float(os.environ.get("MINUTES", "9"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
MEMCHECK = int(os.environ.get("MEMCHECK", "1"))
ALLOCATORS = os.environ.get("ALLOCATORS", "glibc jemalloc").split()
WORKS = os.environ.get("WORKS", "").split()
GUARDED = {"none": [], "1/64": ["--guard=1/64"], "full": ["--guard"], "canary": ["--guard=canary"]}
DIRECT = {
    "direct": ([], {}),
    "mcheck": ([], {"LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_CHECK_": "3"}),
    "asan": ([], {"ASAN_OPTIONS": "detect_leaks=0"}),
    "memcheck": (["valgrind", "-q", "--trace-children=yes"], {}),
}
COLUMNS = {"1/64": "none", "full": "none", "canary": "none", "mcheck": "direct", "asan": "direct", "memcheck": "direct"}
BLOCKS = "l = [None] * 1000\nfor i in range(300000):\n    l[i % 1000] = bytes(600 + i * 7 % 3000)\n"
OBJECTS = "d = {}\nfor i in range(200000):\n    d[i % 1000] = ([i], str(i) * 3, {'k': i})\n"
FUNCTION = "int f%d(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * %d ^ a; return s; }\n"
REDIS = ["--port", "0", "--save", "", "--unixsocket"]
CLIENT = ["-q", "-r", "100000", "-n", "40000", "-P", "16", "-d", "200", "-t", "set,get,lpush,lrange_100"]
NOTES = """\
CPU time of 'none', and of each way as a multiple of that without it: medians of alternating runs.
asan: of 'malloc only' alone, which is built with it here; the others are installed programs, and not built anew.
memcheck: %d of its runs each; >: it was stopped, having taken that much. -: does not apply, or there was no time."""


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


# ---- one run, as (CPU ms, whether it came to its end), or None where it failed ----


def start(command, variables):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, **variables}, start_new_session=True, **quiet)


def stop(process):
    """Ends all of a session. CPU ms of them so far: of those that nobody waited for, no usage is told later."""
    ticks = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == process.pid:
            ticks += sum(map(int, fields[11:15]))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def finish(process, until):
    """Waits for a process and its children, and stops them where they are not done in time."""
    pid = 0
    while not pid:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if not pid and time.monotonic() >= until:
            return stop(process), False
        if not pid:
            time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if process.returncode else (1000 * (used.ru_utime + used.ru_stime), True)


def reported(folder, allocator, options, work, until):
    """A program that heapquake runs."""
    report = folder + "/report"
    run = [HEAPQUAKE, "run", "-q", "--results=none", "--format=json:" + report, "--allocator=" + allocator]
    what = ["--", *work] if work else ["--no-faults", "scenarios/programs/redis.yaml"]
    done = finish(start([*run, *options, *what], {}), until)
    if not done or not done[1]:
        return None
    with open(report) as file:
        metrics = json.load(file)["results"][0]["metrics"]
    return next(metric["value_ns"] / 1e6 for metric in metrics if metric["name"] == "cpu.total"), True


def within(command, until):
    """Whether a helper did its work in time."""
    try:
        left = max(until - time.monotonic(), 0.1)
        return subprocess.run(command, capture_output=True, timeout=left).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def has_ended(process):
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def serve(folder, prefix, variables, until):
    """The server of redis, while its benchmark asks it."""
    socket = folder + "/redis.sock"
    if os.path.exists(socket):
        os.remove(socket)
    server = start([*prefix, "redis-server", *REDIS, socket, "--dir", folder], variables)
    while not os.path.exists(socket) and not has_ended(server) and time.monotonic() < until:
        time.sleep(0.05)
    if not within(["redis-benchmark", "-s", socket, *CLIENT], until):
        return finish(server, 0)
    within(["redis-cli", "-s", socket, "shutdown", "nosave"], until)
    return finish(server, until)


def measure(folder, way, allocator, work, until):
    if way in GUARDED:
        return reported(folder, allocator, GUARDED[way], work, until)
    prefix, variables = DIRECT[way]
    if not work:
        return serve(folder, prefix, variables, until)
    if way == "asan":
        work = [work[0] + ".asan", *work[1:]]
    return finish(start([*prefix, *work], variables), until)


# ---- a row ----


def ways_of(allocator, work):
    """Those that take turns."""
    ways = list(GUARDED)
    if allocator == "glibc":
        ways += ["direct", "mcheck"]
        if work and os.path.exists(work[0] + ".asan"):
            ways.append("asan")
    return ways


def note(ratios, spent):
    """The ratios of one round, as (ratio, whether it is whole)."""
    for way, base in COLUMNS.items():
        if spent.get(way) and spent.get(base) and spent[base][1]:
            ratios.setdefault(way, []).append((spent[way][0] / spent[base][0], spent[way][1]))


def take_turns(folder, allocator, work, seconds):
    """({way: ratios}, CPU ms of each run without a guard)"""
    began = time.monotonic()
    has_memcheck = allocator == "glibc" and MEMCHECK > 0 and shutil.which("valgrind")
    ways, ratios, plain, spent = ways_of(allocator, work), {}, [], {}
    until = began + seconds * (0.5 if has_memcheck else 1.0)
    for way in turns(ways, ROUNDS):
        spent[way] = measure(folder, way, allocator, work, until)
        if len(spent) == len(ways):
            note(ratios, {way: done for way, done in spent.items() if done and done[1]})
            plain += [spent["none"][0]] if spent["none"] else []
            spent = {}
        if time.monotonic() >= until:
            break
    for _ in range(MEMCHECK if has_memcheck else 0):
        pair = {way: measure(folder, way, allocator, work, began + seconds) for way in ("direct", "memcheck")}
        note(ratios, pair)
    return ratios, plain


def cell(ratios):
    if not ratios:
        return f"{'-':>10}"
    whole = [ratio for ratio, is_whole in ratios if is_whole]
    text = f"{statistics.median(whole):.2f}x" if whole else f">{max(ratio for ratio, _ in ratios):.1f}x"
    return f"{text:>10}"


def print_row(name, allocator, ratios, plain):
    if not plain:
        print(f"{name:16} {allocator:9}  could not be run in the time there was", flush=True)
        return
    cells = "".join(cell(ratios.get(way)) for way in COLUMNS)
    print(f"{name:16} {allocator:9} {len(plain):6} {statistics.median(plain):8.0f}{cells}", flush=True)


def main():
    until = time.monotonic() + 60 * MINUTES
    print("work             allocator  rounds   CPU ms" + "".join(f"{way:>10}" for way in COLUMNS), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = {name: work for name, work in works(folder).items() if not WORKS or name.split()[0] in WORKS}
        rows = [(name, allocator) for name in chosen for allocator in ALLOCATORS]
        # memcheck takes longer than all others together.
        weight = {row: 3 if row[1] == "glibc" else 1 for row in rows}
        for number, row in enumerate(rows):
            work = chosen[row[0]]
            if not shutil.which(work[0] if work else "redis-server"):
                print(f"{row[0]:16} is not installed", flush=True)
                continue
            share = weight[row] / sum(weight[later] for later in rows[number:])
            seconds = max(until - time.monotonic(), 1) * share
            print(f"[{number + 1}/{len(rows)}] {row[0]} on {row[1]}, at most {seconds:.0f} s", file=sys.stderr)
            print_row(*row, *take_turns(folder, row[1], work, seconds))
    print(NOTES % MEMCHECK)


main()
