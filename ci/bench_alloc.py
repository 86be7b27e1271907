#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How fast and how lean allocators are: bench_alloc.py BUILD [--full]. Runs the programs of allocator/bench, and
# heapquake's memtable and insert-scan and recorded traces, on bedrock and its peers in turn, and prints ratios to the best peer of
# each row: below 1.00 bedrock leads. Judges nothing. CPU time, not elapsed time, so that a busy machine does little
# harm; the minima are what to compare. ROUNDS, ROWS=hot,ring,traces, ONLY and PEERS (see bench_peers.py) choose;
# OUT=FILE.json keeps every sample.
import concurrent.futures
import ctypes
import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

from bench_peers import allocators, environment, geometric_mean, print_row, ratio_to_best, turns

PR_SET_THP_DISABLE = 41
TIMEOUT_S = 120
SETTLE_MS = 1000
# From here on a heap says more about an allocator than about what it keeps for itself.
LARGER_KIB = 3 << 10
TRACE_LOOPS = 20
SETTLED = ("rows", "server", "medium", "large")
QUANTILES = ("p99", "p99_9", "p99_99")
# Workloads like a database's, and how many rows they have, of which a full run has four times as many.
DATABASES = {"memtable": 15, "insert-scan": 15}
# What is expected always holds: to ask for a metric is how to have it in the report.
DATABASE = """question: How fast and how lean is work like a database's?
workload:
  %s: { rows: %s }
expect:
  - latency.malloc.p99 >= 0ns
  - latency.malloc.p99_99 >= 0ns
  - latency.free.p99 >= 0ns
  - latency.free.p99_99 >= 0ns
  - heap.requested_peak >= 0B
  - rss.worked >= 0B
"""


class Bench:
    def __init__(self, build, is_full):
        self.build = build
        self.rounds = int(os.environ.get("ROUNDS", "7" if is_full else "5"))
        self.scale = "8" if is_full else "1"
        self.peers = allocators(build)
        only = [name for name in os.environ.get("ROWS", "").split(",") if name]
        names = [os.path.basename(path)[6:] for path in glob.glob(build + "/bench/bench_*") if not path.endswith(".d")]
        unknown = set(only) - set(names) - set(DATABASES) - {"traces"}
        if unknown:
            sys.exit("ROWS: there is no " + ", ".join(sorted(unknown)))
        self.rows = [name for name in sorted(names) if not only or name in only]
        self.databases = [name for name in DATABASES if not only or name in only]
        paths = glob.glob("scenarios/traces/*.hqtrace") if not only or "traces" in only else []
        self.traces = [os.path.basename(path).partition(".")[0] for path in sorted(paths)]
        self.is_full = is_full

    def run(self, row, peer, is_thp, settle_ms=0):
        """One run of a program -> its figures, or None if it failed."""
        return self.run_command([f"{self.build}/bench/bench_{row}", self.scale, str(settle_ms)], peer, is_thp)

    def run_command(self, command, peer, is_thp):
        prepare = None if is_thp else lambda: ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        try:
            done = subprocess.run(command, env=environment(self.peers[peer]), capture_output=True, text=True,
                                  timeout=TIMEOUT_S, preexec_fn=prepare)
        except subprocess.TimeoutExpired:
            return None
        words = done.stdout.split()
        if done.returncode or not words:
            return None
        return dict(zip(words[::2], map(int, words[1::2])))

    def measure_programs(self, is_thp):
        samples = {row: {peer: [] for peer in self.peers} for row in self.rows}
        for peer in turns(self.peers, self.rounds):
            for row in self.rows:
                figures = self.run(row, peer, is_thp)
                if figures:
                    samples[row][peer].append(figures)
        return samples

    def measure_traces(self):
        samples = {trace: {peer: [] for peer in self.peers} for trace in self.traces}
        for peer in turns(self.peers, self.rounds):
            for trace in self.traces:
                command = [self.build + "/bench/replay", trace, str(TRACE_LOOPS * int(self.scale)), "0"]
                figures = self.run_command(command, peer, True)
                if figures:
                    samples[trace][peer].append(figures)
        return samples

    def measure_left(self, is_thp):
        """What is resident a second after everything was freed; these runs may overlap, they are not timed."""
        jobs = [(row, peer) for row in SETTLED if row in self.rows for peer in self.peers]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = pool.map(lambda job: self.run(*job, is_thp, SETTLE_MS), jobs)
            return {job: figures for job, figures in zip(jobs, results) if figures}

    def scan(self, peer, scenario):
        path = self.peers[peer] or "glibc"
        command = [self.build + "/heapquake", "run", "-q", "--results=none", "--allocator=" + path, "--format=json",
                   scenario]
        try:
            out = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S).stdout
            metrics = json.loads(out)["results"][0]["metrics"]
        except (ValueError, LookupError, subprocess.TimeoutExpired):
            return None
        return {metric["name"]: next((value for key, value in metric.items() if key.startswith("value")), None)
                for metric in metrics}

    def measure_scan(self, name):
        samples = {peer: [] for peer in self.peers}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(DATABASE % (name, f"{DATABASES[name] * (4 if self.is_full else 1)}k"))
            file.flush()
            for peer in turns(self.peers, self.rounds):
                figures = self.scan(peer, file.name)
                if figures:
                    samples[peer].append(figures)
        return samples


def least(samples, key):
    return min((sample[key] for sample in samples if sample.get(key) is not None), default=None)


def median(samples, key):
    values = [sample[key] for sample in samples if sample.get(key) is not None]
    return statistics.median(values) if values else None


def print_head(title, peers):
    print(f"\n{title}")
    print(f"{'':14}" + "".join(f"{peer:>10}" for peer in peers))


def print_table(title, table, peers, unit):
    print_head(title, peers)
    for row, values in table.items():
        print_row(row, values, unit)


def ratios(table, peer):
    return {row: ratio_to_best(values, peer) for row, values in table.items()}


def print_means(cpu, memory, peers):
    print_head("geometric means, and worst single rows", peers)
    lines = {"CPU": [], "CPU worst": [], "RSS": [], "RSS worst": [], "sqrt(CPU*RSS)": []}
    for peer in peers:
        fast, lean = ratios(cpu, peer), ratios(memory, peer)
        lines["CPU"].append(geometric_mean(fast.values()))
        lines["CPU worst"].append(max((value for value in fast.values() if value), default=None))
        lines["RSS"].append(geometric_mean(lean.values()))
        lines["RSS worst"].append(max((value for value in lean.values() if value), default=None))
        lines["sqrt(CPU*RSS)"].append(geometric_mean(
            (fast[row] * lean[row]) ** 0.5 for row in lean if fast.get(row) and lean[row]))
    for name, values in lines.items():
        ratio = ratio_to_best(dict(zip(peers, values)), "bedrock")
        print(f"{name:14}" + "".join(f"{value:10.2f}" if value else f"{'-':>10}" for value in values) +
              (f"   {ratio:.2f} of the best peer's" if ratio else ""))


def table_of(samples, peers, pick, key):
    return {row: {peer: pick(samples[row][peer], key) for peer in peers} for row in samples}


def report_programs(bench, samples, left, title):
    peers = list(bench.peers)
    cpu = table_of(samples, peers, least, "cpu_us")
    memory = table_of(samples, peers, median, "peak_kib")
    requested = table_of(samples, peers, median, "requested_kib")
    larger = {row: values for row, values in memory.items()
              if max(value or 0 for value in requested[row].values()) >= LARGER_KIB}
    print(f"\n== {title}")
    print_table("CPU time, minima: ratio to the best peer", cpu, peers, "us")
    print_table("CPU time, medians", table_of(samples, peers, median, "cpu_us"), peers, "us")
    print_table("peak resident memory, medians, larger heaps", larger, peers, "KiB")
    print_over_requested(larger, memory, requested, peers)
    print_table("page faults, medians", table_of(samples, peers, median, "faults"), peers, "")
    kept = {row: {peer: left[row, peer]["left_kib"] if (row, peer) in left else None for peer in peers}
            for row in SETTLED if row in samples}
    print_table("resident 1 s after everything was freed", kept, peers, "KiB")
    for row, values in kept.items():
        own = left.get((row, "bedrock"))
        if own and own["peak_kib"]:
            print(f"{row}: bedrock keeps {own['left_kib'] / own['peak_kib']:.0%} of its peak")
    print_means(cpu, larger, peers)


def print_over_requested(rows, memory, requested, peers):
    print_head("peak resident over requested", peers)
    for row in rows:
        cells = [memory[row][peer] / requested[row][peer] if memory[row][peer] and requested[row][peer] else None
                 for peer in peers]
        print(f"{row:14}" + "".join(f"{cell:10.2f}" if cell else f"{'-':>10}" for cell in cells))


def report_traces(bench, samples):
    peers = list(bench.peers)
    cpu = table_of(samples, peers, least, "cpu_us")
    memory = table_of(samples, peers, median, "peak_kib")
    print("\n== traces: recorded calls of real programs (docs/traces.md), each block written to as far as its pages")
    print_table("CPU time, minima: ratio to the best peer", cpu, peers, "us")
    print_over_requested(samples, memory, table_of(samples, peers, median, "requested_kib"), peers)
    print_table("page faults, medians", table_of(samples, peers, median, "faults"), peers, "")
    print_means(cpu, memory, peers)


def report_scan(bench, name, samples):
    peers = list(bench.peers)
    # A process that also records: the host's own share is the same for all of them.
    print_head(name + ", with heapquake's host: ratio to the best peer (latencies: medians and minima)", peers)
    print_row("CPU", {peer: least(samples[peer], "cpu.total") for peer in peers}, "ns")
    lean = {}
    for peer in peers:
        pairs = [(run.get("rss.worked"), run.get("heap.requested_peak")) for run in samples[peer]]
        values = [rss / heap for rss, heap in pairs if rss and heap]
        lean[peer] = statistics.median(values) if values else None
    print_row("RSS/requested", lean, "", 2)
    for call in ("malloc", "free"):
        for quantile in QUANTILES:
            metric = f"latency.{call}.{quantile}"
            print_row(f"{call} {quantile}", {peer: median(samples[peer], metric) for peer in peers}, "ns")
            print_row("  least", {peer: least(samples[peer], metric) for peer in peers}, "ns")


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    is_full = "--full" in sys.argv[2:]
    bench = Bench(sys.argv[1], is_full)
    kept = {}
    for is_thp in (() if not bench.rows else (True, False) if is_full else (True,)):
        title = "huge pages as the system has them" if is_thp else "no huge pages"
        samples, left = bench.measure_programs(is_thp), bench.measure_left(is_thp)
        report_programs(bench, samples, left, title)
        kept["thp" if is_thp else "no_thp"] = samples
        kept["left_thp" if is_thp else "left_no_thp"] = {"/".join(job): figures for job, figures in left.items()}
    if bench.traces:
        kept["traces"] = bench.measure_traces()
        report_traces(bench, kept["traces"])
    for name in bench.databases:
        kept[name] = bench.measure_scan(name)
        report_scan(bench, name, kept[name])
    if os.environ.get("OUT"):
        with open(os.environ["OUT"], "w") as file:
            json.dump({"schema_version": 1, "rounds": bench.rounds, "scale": int(bench.scale), **kept}, file, indent=1)


main()
