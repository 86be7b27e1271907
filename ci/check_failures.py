#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is every row of the failure table in docs/bedrock.md proved?

The table says what bedrock does when a call fails; allocator/tests/failures.table names for each of
its rows, by call, purpose and failure, the unit tests and what injects it into a running program.
This prints one line for each row that has no such entry, each entry that has no row, each test,
scenario or stress program that does not exist, each scenario that never shows that the call was
refused, and each call of the table in os.h that no row speaks of. It runs nothing.
"""
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DOCUMENT = TOP / "docs/bedrock.md"
PROOFS = TOP / "allocator/tests/failures.table"
OS = TOP / "allocator/bedrock/os.h"
# What rules can refuse (heapquake explain contract).
INJECTED = {"madvise", "mincore", "mmap", "mremap", "munmap"}


def read_rows():
    """-> 'call | purpose | failure' of each row of the document's table."""
    table = DOCUMENT.read_text().split("| call | for | legal failure |")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines()[2:]]
    return [" | ".join(row) for row in cells]


def read_proofs():
    """-> {row: [(kind, name)]}, and the calls that cannot fail."""
    proofs, harmless, row = {}, set(), None
    for line in PROOFS.read_text().splitlines():
        if line.startswith("cannot fail: "):
            harmless.update(line.split()[2:])
        elif line.startswith("\t"):
            kind, *names = line.split()
            proofs[row] += [(kind, name) for name in names]
        elif line and not line.startswith("#"):
            row = line
            proofs[row] = []
    return proofs, harmless


def unit_tests():
    sources = "".join(path.read_text() for path in (TOP / "allocator/tests").glob("test_*.c"))
    return {f"{suite}::{name}" for suite, name in re.findall(r"^Test\((\w+), (\w+)", sources, re.M)}


def is_stress(name):
    """A program, or a case of one by its name in the source: 'faults', 'start:open'."""
    program, _, case = name.partition(":")
    path = TOP / f"allocator/tests/stress_{program}.c"
    return path.exists() and f'"{case.replace("-", " ")}"' in path.read_text() + '""'


def judge_scenario(row, name):
    """-> what is wrong with a scenario as a proof of the row, or None."""
    path = TOP / "scenarios" / f"{name}.yaml"
    if not path.exists():
        return "is no scenario"
    text = path.read_text()
    if not re.search(r"- inject\.[\w-]+\.fired >= [1-9]", text):
        return "does not expect its fault to fire"
    call = row.split(" | ")[0]
    if call in INJECTED and not re.search(rf"call: .*\b{call}\b", text):
        return f"does not refuse {call}"
    return None


def judge(row, proofs, tests):
    """-> one line for each thing that is wrong with the proofs of a row."""
    kinds = {kind for kind, _ in proofs}
    if "test" not in kinds:
        yield f"no unit test of: {row}"
    if not kinds & {"scenario", "stress"}:
        yield f"no scenario or stress program for: {row}"
    for kind, name in proofs:
        if kind == "test" and name not in tests:
            yield f"{name} is no test, named for: {row}"
        if kind == "stress" and not is_stress(name):
            yield f"stress_{name} is no program or has no such case, named for: {row}"
        wrong = judge_scenario(row, name) if kind == "scenario" else None
        if wrong:
            yield f"{name} {wrong}, named for: {row}"
        if kind not in ("test", "stress", "scenario"):
            yield f"'{kind}' is none of test, scenario, stress: {row}"


def breaches():
    rows, (proofs, harmless), tests = read_rows(), read_proofs(), unit_tests()
    for row in rows:
        if row not in proofs:
            yield f"{PROOFS.name} says nothing of this row of {DOCUMENT.name}: {row}"
    for row in proofs:
        if row not in rows:
            yield f"{DOCUMENT.name} has no row: {row}"
        yield from judge(row, proofs[row], tests)
    spoken_of = {call for row in rows for call in re.split(r", ?", row.split(" | ")[0])}
    table = OS.read_text().split("struct bedrock_os_table {")[1].split("\n};")[0]
    for call in re.findall(r"^\t\w.*?\(\*(\w+)\)\(", table, re.M):
        if call not in spoken_of | harmless:
            yield f"bedrock calls {call}, and no row of {DOCUMENT.name} says what its failure does"


found = list(breaches())
for breach in found:
    print(breach)
if found:
    print(f"for each row {PROOFS.name} has a line 'CALL | FOR | FAILURE' as in {DOCUMENT.name}, and below it "
          "lines that begin with a tab: 'test SUITE::NAME', and 'scenario THEME/NAME' or 'stress NAME[:CASE]'")
sys.exit(1 if found else 0)
