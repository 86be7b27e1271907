#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do other people's tools find planted errors in bedrock's blocks?  planted.py memcheck|asan

Runs allocator/tests/planted.c and looks for a report of each error, with the right block. Memcheck sees
bedrock preloaded, linked, and by its own names, with and without replacing malloc itself. Ends with
"N passed, N failed".
"""
import os
import re
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
KEEP_MALLOC = "--soname-synonyms=somalloc=nouserintercepts"
TIMEOUT_S = 120

# A small block, one of more than a page, a large and a huge one.
SIZES = (100, 5000, 100_000, 3_000_000)

# Error: the first line of the report, and a line about the block. {n} is its size, {h} half of it.
MEMCHECK = {
    "use_after_free": ("Invalid read of size 1", "{h} bytes inside a block of size {n} free'd"),
    "overflow": ("Invalid write of size 1", "0 bytes after a block of size {n} alloc'd"),
    "overflow_aligned": ("Invalid write of size 1", "0 bytes after a block of size {n} alloc'd"),
    "uninitialised": ("Conditional jump or move depends on uninitialised", ""),
    "double_free": ("Invalid free()", "0 bytes inside a block of size {n} free'd"),
    "free_inside": ("Invalid free()", "16 bytes inside a block of size {n} alloc'd"),
    "use_after_realloc": ("Invalid write of size 1", "0 bytes inside a block of size {n} free'd"),
    "realloc_of_freed": ("Invalid free()", "0 bytes inside a block of size {n} free'd"),
    "leak": ("definitely lost", "{N} bytes in 1 blocks are definitely lost"),
}

# The sanitizer knows where memory must not be used, and not whose it is.
ASAN = ("use_after_free", "overflow", "overflow_aligned", "double_free", "free_inside",
        "use_after_realloc", "realloc_of_freed")


class Tally:
    passed = 0
    failed = 0

    def check(self, is_good, what, output):
        if is_good:
            self.passed += 1
            return
        self.failed += 1
        print(f"failed: {what}\n{output}")


def run(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False)
    return done.returncode, done.stdout


def is_found(reports, name, size, expected):
    """Is there a report of that kind, with the planting function in a stack, and the block?"""
    first, block = (text.format(n=f"{size:,}", N=f"{size:,}", h=f"{size // 2:,}") for text in expected)
    return any(re.search(rf"\bplant_{name}\b", report) and first in report and block in report
               for report in reports)


def memcheck_plants(tally, way, command, environment, size):
    _, output = run([*command, "all", str(size)], environment)
    reports = re.split(r"^==\d+== \n", output, flags=re.M)
    for name, expected in MEMCHECK.items():
        tally.check(is_found(reports, name, size, expected), f"{way} {size}: {name}", output)
    # Where malloc is not bedrock's, the two must not be mixed; where it is, they may.
    is_mixed = "prefixed" in way and KEEP_MALLOC not in way
    is_told = is_found(reports, "mismatch", size, ("free()", ""))
    tally.check(is_told == is_mixed, f"{way} {size}: mismatch", output)


def memcheck(tally):
    preload = {"LD_PRELOAD": f"{BUILD}/libbedrock.so"}
    debug = {"LD_PRELOAD": f"{BUILD}/libbedrock-debug.so"}
    # Where malloc is replaced by memcheck's own, one size will do.
    ways = (("preloaded", preload, [], SIZES[:1]), ("preloaded", preload, [KEEP_MALLOC], SIZES),
            ("preloaded", debug, [KEEP_MALLOC], SIZES[:1]),
            ("linked", {}, [], SIZES[:1]), ("linked", {}, [KEEP_MALLOC], SIZES),
            ("prefixed", {}, [], SIZES), ("prefixed", {}, [KEEP_MALLOC], SIZES[:1]))
    tool = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", "--num-callers=20"]
    for program, environment, options, sizes in ways:
        way = " ".join(["memcheck:", program, *environment.values(), *options])
        command = [*tool, *options, f"{BUILD}/planted/{program}"]
        status, output = run([*command, "clean", *map(str, SIZES)], environment)
        tally.check(status == 0 and not output, f"{way}: clean (status {status})", output)
        for size in sizes:
            memcheck_plants(tally, way, command, environment, size)


def asan(tally):
    environment = {"ASAN_OPTIONS": "exitcode=66:detect_leaks=1"}
    command = [f"{BUILD}/planted/asan"]
    status, output = run([*command, "clean", *map(str, SIZES)], environment)
    tally.check(status == 0 and not output, f"asan: clean (status {status})", output)
    for size in SIZES:
        for name in ASAN:
            status, output = run([*command, name, str(size)], environment)
            is_found_there = "ERROR: AddressSanitizer:" in output and f"plant_{name}" in output
            tally.check(status == 66 and is_found_there, f"asan {size}: {name} (status {status})", output)


def main():
    tools = {"memcheck": memcheck, "asan": asan}
    if len(sys.argv) != 2 or sys.argv[1] not in tools:
        sys.exit(__doc__)
    tally = Tally()
    tools[sys.argv[1]](tally)
    print(f"planted errors: {tally.passed} passed, {tally.failed} failed")
    sys.exit(tally.failed != 0)


if __name__ == "__main__":
    main()
