#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Instructions of a malloc and free pair, counted by callgrind, loop and PLT included: bench_instructions.py BUILD.
# With --check only bedrock is counted, and judged: fails above 10 % more than what is aimed at, skips without
# callgrind. Counts do not depend on how busy the machine is.
import os
import re
import shutil
import subprocess
import sys
import tempfile

from bench_peers import allocators, environment, ratio_to_best

PAIRS = 200000
TIMEOUT_S = 300
# What is aimed at. A batch takes 44, 3 more than its goal: 13 of them are the loop and the calls.
GOALS = {"hot": 58, "ring": 55, "batch": 41, "calloc": 94}
WHAT = {
    "hot": "64 B, one at a time",
    "ring": "1,024 blocks of 16 to 1,040 B",
    "batch": "1,000 times 48 B",
    "calloc": "64 B of zeros",
}


def inclusive(file):
    """Name of a measured function -> instructions in it and in what it calls, out of a callgrind file."""
    totals, names, function, is_call = {}, {}, None, False
    for line in file:
        start = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line)
        if start:
            name = names.setdefault(start[2], (start[3] or "").split("'")[0])
            function = name if start[1] == "fn" else function
        elif re.match(r"[+*\d-]", line) and function:
            totals[function] = totals.get(function, 0) + int(line.split()[1])
    return {name[8:]: count for name, count in totals.items() if name.startswith("measure_")}


def count(build, path):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measure_*",
                   "--callgrind-out-file=" + folder + "/out", build + "/bench/instructions"]
        subprocess.run(command, env=environment(path), capture_output=True, timeout=TIMEOUT_S)
        try:
            with open(folder + "/out") as file:
                return {name: total / PAIRS for name, total in inclusive(file).items()}
        except OSError:
            return {}


def judge(build):
    if os.uname().machine != "x86_64" or not shutil.which("valgrind"):
        print("instructions skipped: needs callgrind, on the machine the goals are for")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    figures = count(build, os.path.abspath(build + "/libbedrock.so"))
    bad = 0
    for name, goal in GOALS.items():
        figure = figures.get(name)
        if figure is None:
            print(f"instructions: {name} was not counted: is {build}/bench/instructions built?")
            bad += 1
        elif figure > 1.1 * goal:
            print(f"instructions: {name} takes {figure}, not 1.1 times {goal} at most")
            bad += 1
    print(f"{len(GOALS) - bad} passed, {bad} failed, 0 skipped")
    return 1 if bad else 0


def compare(build):
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        return 1
    figures = {name: count(build, path) for name, path in allocators(build).items()}
    print(f"{'instructions a pair':32}" + "".join(f"{name:>10}" for name in figures) + "      goal  of best")
    for row, goal in GOALS.items():
        values = {name: counts.get(row) for name, counts in figures.items()}
        cells = "".join(f"{value:10.1f}" if value else f"{'-':>10}" for value in values.values())
        ratio = ratio_to_best(values, "bedrock")
        print(f"{WHAT[row]:32}{cells}{goal:10}{f'{ratio:9.2f}' if ratio else '        -'}")
    return 0


def main():
    build = sys.argv[1]
    return judge(build) if "--check" in sys.argv[2:] else compare(build)


sys.exit(main())
