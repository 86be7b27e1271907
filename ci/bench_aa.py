#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What `heapquake compare` raises where nothing differs, and what it finds where something does: bench_aa.py BUILD [--full].
# First short comparisons of one side with itself, 40 or with --full 200: an alarm is a comparison in which any metric is
# called lower or higher, and their share is printed with its 95 % confidence interval (Wilson's) beside the 5 % that
# the procedure promises. Then comparisons of 10 pairs, 5 or with --full 20 for each of several planted differences: side B
# has that much more to do. It is found among all metrics where cpu.total is called higher, and claimed alone where its
# interval lies above 0. Fails if even the low end of the alarms' interval is above 5 %, or if twice the work was not
# found. OPS chooses how long a run is, which is what noise depends on.
import json
import math
import os
import subprocess
import sys
import tempfile

PAIRS = 10
TIMEOUT_S = 300
PROMISED = 0.05
OPS = int(os.environ.get("OPS", "60000"))
PLANTED = (0.02, 0.05, 0.10, 0.20, 0.50, 1.00)
FOUND_OFTEN = 0.8
WORK = """question: What does a comparison say of these two?
target: { allocator: glibc }
workload:
  churn: { threads: 1, ops: %d, live: 1k, size: 16B..1KiB log }
""" % OPS


def compare(build, scenario, words):
    """The series of a comparison, or None if it did not get to its end."""
    done = subprocess.run([build + "/heapquake", "compare", scenario, "--format=json", "--results=none",
                           f"--pairs={PAIRS}"] + words, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        print(f"bench: compare ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["series"]


def interval(hits, count):
    """Wilson's 95 % interval of a share."""
    z = 1.959964
    middle = (hits + z * z / 2) / (count + z * z)
    half = z * math.sqrt(hits * (count - hits) / count + z * z / 4) / (count + z * z)
    return max(0.0, middle - half), min(1.0, middle + half)


def share(hits, count):
    low, high = interval(hits, count)
    return f"{hits:4} of {count:4}  {100 * hits / count:5.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def same_sides(build, scenario, count):
    """False alarms: (comparisons with one, comparisons)."""
    alarms, tested, below, total, widths = 0, 0, 0, 0, []
    for seed in range(1, count + 1):
        series = compare(build, scenario, ["--aa", f"--seed={seed}"])
        if series is None:
            continue
        raised = [one["metric"] for one in series if one["verdict"] in ("lower", "higher")]
        tested += 1
        alarms += bool(raised)
        below += sum(1 for one in series if one["p"] is not None and one["p"] <= 0.05)
        total += len(series)
        widths += [(one["high"] - one["low"]) / 2 for one in series
                   if one["metric"] == "cpu.total" and one["low"] is not None]
        if raised:
            print(f"  seed {seed}: {', '.join(raised)}", flush=True)
    if not tested:
        return 0, 0
    print(f"alarms where nothing differs     {share(alarms, tested)}, promised {100 * PROMISED:.0f} % at most")
    print(f"metrics with p <= 0.05 by itself {share(below, total)}")
    if widths:
        print(f"noise floor of cpu.total: {100 * sorted(widths)[len(widths) // 2]:.2f} % (median half interval)", flush=True)
    return alarms, tested


def planted(build, scenario, effect, count):
    """Shares of comparisons in which a side B with `effect` more to do was found: (called higher, interval above 0)."""
    called, above, tested, changes = 0, 0, 0, []
    for seed in range(1, count + 1):
        series = compare(build, scenario, ["--a", f"workload.ops={OPS}", "--b",
                                           f"workload.ops={round(OPS * (1 + effect))}", f"--seed={1000 + seed}"])
        one = next((one for one in series or [] if one["metric"] == "cpu.total"), None)
        if one is None:
            continue
        tested += 1
        called += one["verdict"] == "higher"
        above += one["low"] is not None and one["low"] > 0
        changes.append(one["change"])
    if not tested:
        return 0.0, 0.0
    middle = sorted(changes)[len(changes) // 2]
    print(f"  {100 * effect:4.0f} % more work: cpu.total {100 * middle:+6.1f} % (median); among all metrics {share(called, tested)}; "
          f"claimed alone {share(above, tested)}", flush=True)
    return called / tested, above / tested


def smallest(found):
    """The least effect from which on all were found often enough, as text."""
    best = None
    for effect, often in sorted(found.items(), reverse=True):
        if often < FOUND_OFTEN:
            break
        best = effect
    return "none of these" if best is None else f"{100 * best:.0f} %"


def main():
    build = sys.argv[1]
    full = "--full" in sys.argv[2:]
    among, alone = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        scenario = os.path.join(folder, "aa.yaml")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(WORK)
        alarms, tested = same_sides(build, scenario, 200 if full else 40)
        print(f"planted differences, {PAIRS} pairs of runs of {OPS} operations", flush=True)
        for effect in PLANTED:
            among[effect], alone[effect] = planted(build, scenario, effect, 20 if full else 5)
    print(f"smallest effect found in {FOUND_OFTEN:.0%} of comparisons: among all metrics {smallest(among)}, "
          f"claimed alone {smallest(alone)}")
    if not tested or interval(alarms, tested)[0] > PROMISED:
        print("bench: more false alarms than promised", file=sys.stderr)
        return 1
    if alone[PLANTED[-1]] < FOUND_OFTEN:
        print("bench: twice the work was not found", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
