#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How long the longest calls of malloc and free take: bench_tails.py BUILD. Runs allocator/bench/tails on bedrock and its
# peers in turn, and prints quantiles as ratios to the best peer of each row: below 1.00 bedrock leads. Judges nothing.
# Calls during which a thread lost its CPU are left out, so that a busy machine does little harm, but not none: the
# minima are what to compare. The last row tells the share of those calls. ROUNDS, ONLY and PEERS (see bench_peers.py) choose.
import os
import statistics
import subprocess
import sys

from bench_peers import allocators, environment, print_row, turns

ROUNDS = int(os.environ.get("ROUNDS", "5"))
TIMEOUT_S = 120
UNITS = {f"{call}_{quantile}_ns": "ns" for call in ("malloc", "free") for quantile in ("p50", "p99", "p99_9", "p99_99")}
UNITS.update({"cpu_us": "us", "faults": "", "peak_kib": "KiB"})


def run(build, path):
    """One run -> its figures, or None if it failed."""
    try:
        done = subprocess.run([build + "/bench/tails"], env=environment(path), capture_output=True, text=True,
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None
    words = done.stdout.split()
    return None if done.returncode else dict(zip(words[::2], map(int, words[1::2])))


def left_out_share(figures):
    """Of all calls, those that lost their CPU."""
    calls = figures["left_out"] + figures["malloc_calls"] + figures["free_calls"]
    return figures["left_out"] / calls if calls else 0


def main():
    build = sys.argv[1]
    peers = allocators(build)
    samples = {peer: [] for peer in peers}
    for peer in turns(peers, ROUNDS):
        figures = run(build, peers[peer])
        if figures:
            samples[peer].append(figures)
    print(f"{'ratio to best':14}" + "".join(f"{peer:>10}" for peer in peers))
    for row, unit in UNITS.items():
        for title, pick in ((row.removesuffix("_ns"), statistics.median), ("  least", min)):
            values = {peer: pick([run[row] for run in runs]) for peer, runs in samples.items() if runs}
            print_row(title, values, unit)
    shares = (f"{100 * statistics.median(map(left_out_share, runs)):9.2f}%" if runs else f"{'-':>10}"
              for runs in samples.values())
    print(f"{'left out':14}" + "".join(shares))


main()
