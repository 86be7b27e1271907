#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What `heapquake record` costs: bench_record.py BUILD. Runs with and without it take turns. First the CPU time of a call
# of malloc or free in a program that does nothing else; then a redis server under its benchmark: how long that takes,
# the server's CPU time, and whether anything was lost. ROUNDS (5) rounds; minima, and the medians of ratios within a
# round. Judges nothing.
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench_peers import turns

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(os.environ.get("ROUNDS", "5"))
TIMEOUT_S = 120
PAIRS = 2000000
WAYS = ("plain", "recorded")
SERVER = ["--port", "0", "--save", "", "--unixsocket"]
CLIENT = ["-q", "-r", "100000", "-n", "60000", "-P", "16", "-d", "200", "-t", "set,get,lpush,lrange_100"]
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def prefix(folder, way):
    return [BUILD + "/heapquake", "record", "-o", folder + "/t.hqtrace", "--"] if way == "recorded" else []


def figures_of(said):
    """(calls, lost) of what record said."""
    calls, lost = re.search(r"(\d+) calls? of", said), re.search(r"(\d+) lost", said)
    if not calls or calls.group(1) == "0":
        sys.exit(f"nothing was recorded: {said}")
    return int(calls.group(1)), int(lost.group(1)) if lost else 0


def measure_call(folder, threads):
    """{way: ns for a call}, calls lost"""
    least, lost = {}, 0
    for way in turns(WAYS, ROUNDS):
        done = subprocess.run([*prefix(folder, way), BUILD + "/targets/pairs", str(PAIRS), str(threads)],
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        least[way] = min(int(done.stdout) / 1000, least.get(way, 1e9))
        if way == "recorded":
            lost += figures_of(done.stderr)[1]
    return least, lost


def server_below(pid):
    """The server itself: the process, or its only child."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return int(children[0]) if children else pid


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def end(server, socket):
    """Ends the server, by force if it does not answer: below `record` it would outlive that."""
    try:
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True, timeout=20)
        server.wait(60)
    except subprocess.TimeoutExpired:
        os.kill(server_below(server.pid), signal.SIGKILL)
        server.kill()
        server.wait()


def serve(folder, way):
    """(elapsed s, CPU s of the server, what record said)"""
    socket = folder + "/redis.sock"
    command = [*prefix(folder, way), "redis-server", *SERVER, socket, "--dir", folder]
    with tempfile.TemporaryFile("w+") as said:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        try:
            until = time.monotonic() + 20
            while not os.path.exists(socket) and time.monotonic() < until:
                time.sleep(0.02)
            pid = server_below(server.pid) if way == "recorded" else server.pid
            began_s, began_cpu_s = time.monotonic(), cpu_s(pid)
            subprocess.run(["redis-benchmark", "-s", socket, *CLIENT], capture_output=True, timeout=TIMEOUT_S, check=True)
            took = time.monotonic() - began_s, cpu_s(pid) - began_cpu_s
        finally:
            end(server, socket)
        said.seek(0)
        return *took, said.read()


def print_calls(folder):
    print(f"{'':24}{'plain ns':>10}{'recorded':>10}{'cost ns':>10}{'lost':>8}")
    for threads in (1, 2):
        least, lost = measure_call(folder, threads)
        print(f"{f'a call, {threads} thread(s)':24}{least['plain']:10.1f}{least['recorded']:10.1f}"
              f"{least['recorded'] - least['plain']:10.1f}{lost:8}", flush=True)


def print_redis(folder):
    rounds = {way: [] for way in WAYS}
    calls = lost = 0
    for way in turns(WAYS, ROUNDS):
        *took, said = serve(folder, way)
        rounds[way].append(took)
        if way == "recorded":
            one = figures_of(said)
            calls, lost = calls + one[0], lost + one[1]
    print(f"\n{'redis':24}{'plain s':>10}{'recorded':>10}{'of minima':>10}{'of rounds':>10}")
    for title, which in (("benchmark, elapsed", 0), ("server, CPU", 1)):
        plain, recorded = ([took[which] for took in rounds[way]] for way in WAYS)
        within = statistics.median(b / a for a, b in zip(plain, recorded))
        print(f"{title:24}{min(plain):10.2f}{min(recorded):10.2f}{min(recorded) / min(plain):10.2f}{within:10.2f}")
    print(f"{calls} calls recorded in {ROUNDS} runs, {lost} lost")


def main():
    with tempfile.TemporaryDirectory() as folder:
        print_calls(folder)
        if shutil.which("redis-server") and shutil.which("redis-benchmark"):
            print_redis(folder)
        else:
            print("redis is not installed")


main()
