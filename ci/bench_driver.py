#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How much of a run is the driver itself: bench_driver.py BUILD. Prints minima of CPU time of ROUNDS (5) rounds in turn.
# "alone" is the work of a workload in a program that neither times nor checks nor notes a call; what is more in a run
# is the share of the driver. "null allocator" is a run on one that does next to nothing, as a share of that on this
# one: what is left is not the allocator's. Judges nothing. ONLY and PEERS (see bench_peers.py) choose.
import json
import os
import subprocess
import sys
import tempfile

from bench_peers import allocators, environment

ROUNDS = int(os.environ.get("ROUNDS", "5"))
TIMEOUT_S = 120
WORK = (
    ("insert-scan", {"rows": "20k"}),
    ("memtable", {"rows": "60k"}),
    ("query-mix", {"rows": "20k"}),
    ("churn", {"threads": "2", "ops": "300k", "live": "1k", "size": "16B..1KiB log", "realloc": "0%", "aligned": "0%"}),
)


def in_a_run(build, scenario, allocator):
    """CPU time of a run in us, or None if it did not get to its end; what it found does not matter here."""
    done = subprocess.run([build + "/heapquake", "run", "-q", "--results=none", "--allocator=" + allocator,
                           "--format=json", scenario], capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode not in (0, 1):
        return None
    for metric in json.loads(done.stdout)["results"][0]["metrics"]:
        if metric["name"] == "cpu.total":
            return metric["value_ns"] / 1000
    return None


def alone(build, name, options, path):
    words = [build + "/bench/plain", name] + [f"{key}={value.replace(' ', '_')}" for key, value in options.items()]
    done = subprocess.run(words, env=environment(path), capture_output=True, text=True, timeout=TIMEOUT_S)
    return None if done.returncode else int(done.stdout.split()[1])


def write_scenario(folder, name, options):
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("question: How much of a run is the driver itself?\nworkload:\n  " + name + ": { "
                   + ", ".join(f"{key}: {value}" for key, value in options.items()) + " }\n")
    return path


def least(samples):
    samples = [sample for sample in samples if sample is not None]
    return min(samples) if samples else None


def main():
    build = sys.argv[1]
    peers = allocators(build)
    null = os.path.abspath(build + "/targets/lib_null_allocator")
    print(f"{'workload':13}{'allocator':12}{'alone ms':>10}{'in a run':>10}{'driver':>9}{'null allocator':>17}")
    with tempfile.TemporaryDirectory() as folder:
        for name, options in WORK:
            path = write_scenario(folder, name, options)
            plain, run, empty = {peer: [] for peer in peers}, {peer: [] for peer in peers}, []
            for _ in range(ROUNDS):
                for peer, library in peers.items():
                    plain[peer].append(alone(build, name, options, library))
                    run[peer].append(in_a_run(build, path, library or peer))
                empty.append(in_a_run(build, path, null))
            for peer in peers:
                alone_us, run_us, null_us = least(plain[peer]), least(run[peer]), least(empty)
                if alone_us is None or run_us is None:
                    print(f"{name:13}{peer:12}  failed")
                    continue
                null_text = "-" if null_us is None else f"{null_us / run_us:.0%}"
                print(f"{name:13}{peer:12}{alone_us / 1000:10.1f}{run_us / 1000:10.1f}"
                      f"{1 - alone_us / run_us:9.0%}{null_text:>17}")


main()
