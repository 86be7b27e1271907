#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What others see of the planted bugs: `make mutation PEERS=1`.

Runs our own self-test, and then, with the same bugs in the same preloaded allocator, what people use
otherwise: stress-ng with --verify, glibc's own malloc checks, memcheck with its own malloc switched off (it
would replace the allocator under test), and redis-server under redis-benchmark. Each has as much time for a
bug as our run took, at least PEER_SECONDS (1). A peer has caught a bug if it crashed, hung, found a wrong
byte, or reported anything; it must do none of that without a bug, or it is left out.

In one table: how the bug was caught; `not` where it struck and nobody saw it; `-` where it never struck, since
the peer makes no such calls, or injects no fault. The first thread of a process is spared only for the first
5000 opportunities here, so that programs of one thread meet the bugs, too.

Ends after PEER_MINUTES (20) at the latest; what was not run by then says so. Everything it starts dies with
it, and it writes in a temporary folder only. BUILD names the build folder; -k chooses bugs as the self-test's
does, and --json FILE keeps the figures.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
FAULTY = BUILD + "/libfaulty.so"
HONEST = BUILD + "/targets/honest"
DEBUG = "libc_malloc_debug.so.0"
SECONDS = float(os.environ.get("PEER_SECONDS", "1"))
MINUTES = float(os.environ.get("PEER_MINUTES", "20"))
SPARED = "5000"
ALARM = re.compile(r"fail:|corrupt|SIG[A-Z]{3,}|invalid|mcheck|terminated with an error|malloc_check", re.I)
LIBC = ctypes.CDLL(None)


def in_child(address_space):
    """Between fork and exec: die with us, leave no core, and eat no more than a share of the machine."""
    LIBC.prctl(1, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if address_space:
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))


class Process:
    """A program in a session of its own, so that all of it can be ended."""

    def __init__(self, argv, folder, env=None, address_space=6 << 30):
        self.log = open(tempfile.mkstemp(dir=folder, suffix=".log")[1], "w+b")
        self.child = subprocess.Popen(
            argv, cwd=folder, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, start_new_session=True, preexec_fn=lambda: in_child(address_space))

    def wait(self, seconds):
        """The exit status, or None after that time."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        """Kills what is left of it, and returns what it said."""
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.log.seek(0)
        text = self.log.read(1 << 20).decode(errors="replace")
        self.log.close()
        return text


def fires(folder):
    """How often the bug struck; the allocator counts in a page of this file."""
    try:
        with open(folder + "/fires", "rb") as file:
            return struct.unpack("Q", file.read(8))[0]
    except (OSError, struct.error):
        return 0


def environment(bug, folder, preload=FAULTY):
    return {"FAULTY": bug, "FAULTY_COUNT": folder + "/fires", "FAULTY_SPARED": SPARED, "LD_PRELOAD": preload}


def verdict(status, text):
    """How a program that ran to its end, or not, was caught; "" if it was not."""
    if status is None:
        return "hang"
    if status < 0:
        return "crash " + signal.Signals(-status).name
    found = ALARM.search(text)
    if found:
        return "report"
    return "status %d" % status if status else ""


def run_once(argv, bug, folder, deadline, preload=FAULTY, env=None, address_space=6 << 30):
    process = Process(argv, folder, {**environment(bug, folder, preload), **(env or {})}, address_space)
    status = process.wait(deadline)
    return verdict(status, process.end())


# ---- the peers: each takes (bug, folder, seconds, patience) and says how it caught it, "" if not ----

STRESS_NG = (
    ["--malloc", "2", "--malloc-bytes", "4K", "--malloc-max", "2000"],
    ["--malloc", "1", "--malloc-bytes", "256K", "--malloc-max", "500"],
    ["--malloc", "1", "--malloc-bytes", "64K", "--malloc-max", "1000", "--malloc-pthreads", "4"],
)


def stress_ng(bug, folder, seconds, patience):
    for setting in STRESS_NG:
        caught = run_once(["stress-ng", *setting, "--verify", "--temp-path", folder, "--timeout",
                           "%d" % max(1, round(seconds))], bug, folder, seconds + patience)
        if caught:
            return caught
    return ""


def glibc_checks(bug, folder, _seconds, patience):
    return run_once([HONEST], bug, folder, patience, FAULTY + " " + DEBUG, {"MALLOC_CHECK_": "3"})


def memcheck(bug, folder, _seconds, patience):
    return run_once(["valgrind", "-q", "--soname-synonyms=somalloc=nouserintercepts", "--error-exitcode=9",
                     "--num-callers=4", HONEST], bug, folder, 2 * patience, address_space=0)


def redis_answers(folder, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ask = Process(["redis-cli", "-s", folder + "/s", "ping"], folder)
        ask.wait(max(0.1, end - time.monotonic()))
        if "PONG" in ask.end():
            return True
        time.sleep(0.05)
    return False


def redis(bug, folder, seconds, patience):
    server = Process(["redis-server", "--port", "0", "--unixsocket", folder + "/s", "--save", "", "--appendonly",
                      "no", "--dir", folder, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru",
                      "--lazyfree-lazy-user-del", "yes"], folder, environment(bug, folder))
    asked = None
    try:
        if redis_answers(folder, patience):
            load = Process(["redis-benchmark", "-s", folder + "/s", "-n", "100000000", "-d", "300", "-r", "5000",
                            "-c", "20", "-q", "-t", "set"], folder)
            broke = load.wait(seconds / 2)
            load.end()
            load = Process(["redis-benchmark", "-s", folder + "/s", "-n", "100000000", "-d", "60", "-r", "500",
                            "-c", "20", "-q", "-t", "lpush,lpop,sadd,hset,zadd"], folder)
            broke = load.wait(seconds / 2) or broke
            load.end()
            if server.wait(0) is None and redis_answers(folder, patience):
                asked = Process(["redis-cli", "-s", folder + "/s", "shutdown", "nosave"], folder)
                asked.wait(patience)
            if broke:
                server.wait(patience)
        status = server.wait(patience if asked else 0)
    finally:
        text = server.end()
        if asked:
            asked.end()
    if "REDIS BUG REPORT" in text and not status:
        return "report"
    return verdict(status, "")


PEERS = (
    ("stress-ng", stress_ng, ("stress-ng",)),
    ("glibc checks", glibc_checks, (HONEST,)),
    ("memcheck", memcheck, ("valgrind", HONEST)),
    ("redis", redis, ("redis-server", "redis-benchmark", "redis-cli")),
)


def in_folder(peer, bug, seconds, patience, root):
    """(how it was caught, how often the bug struck, how long it took)"""
    folder = tempfile.mkdtemp(dir=root)
    began = time.monotonic()
    try:
        caught = peer(bug, folder, seconds, patience)
        return caught, fires(folder), time.monotonic() - began
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def choose_peers(root):
    """[(name, run, patience)] and {name: why it is left out}. Patience comes from a run without a bug."""
    usable, left_out = [], {}
    for name, peer, needs in PEERS:
        missing = [need for need in needs if not shutil.which(need)]
        if missing:
            left_out[name] = "%s is not there" % missing[0]
            continue
        caught, _, took = in_folder(peer, "", SECONDS, 60.0, root)
        if caught:
            left_out[name] = "without any bug: " + caught
        else:
            usable.append((name, peer, 5.0 + 2.0 * took))
    return usable, left_out


def show_what_glibc_sees(root):
    """Its checks are in its own malloc: behind another allocator they are never called, and the reverse."""
    folder = tempfile.mkdtemp(dir=root)
    run_once([HONEST], "same-twice", folder, 60, DEBUG + " " + FAULTY, {"MALLOC_CHECK_": "3"})
    struck = fires(folder)
    return "glibc checks loaded in front of the allocator keep it from being called: its bug struck %d times" % struck


def our_rows(pattern):
    argv = [BUILD + "/heapquake", "selftest", "--format=json", "--jobs=2"]
    done = subprocess.run(argv + (["-k", pattern] if pattern else []), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False)
    if done.returncode not in (0, 1):
        sys.exit("compare_peers: heapquake selftest ended with status %d" % done.returncode)
    return json.loads(done.stdout)["rows"]


def duration(ns):
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return "%.3g %s" % (ns / size, unit)
    return "%d ns" % ns


def is_caught(row):
    """By the checker that is meant to see it, and in time: by luck, or too late, is another outcome."""
    return row["outcome"] == "caught"


def ours(row):
    if is_caught(row):
        return "%s, %s" % (row["caught_by"], duration(row["found_after_ns"]))
    return row["outcome"] if row["intended"] != "-" else "not yet"


def cell(result):
    if result is None:
        return "not run"
    caught, struck, _ = result
    return caught or ("not" if struck else "-")


def print_table(rows, names, cells):
    widths = [22, 32] + [14] * len(names)
    line = "".join("%%-%ds" % width for width in widths)
    print((line % ("bug", "heapquake", *names)).rstrip())
    for row in rows:
        print((line % (row["bug"], ours(row), *(cell(cells.get((row["bug"], name))) for name in names))).rstrip())


def print_totals(rows, names, cells):
    caught = sum(is_caught(row) for row in rows)
    print("\nheapquake      caught %d of %d" % (caught, len(rows)))
    for name in names:
        results = [result for (_, peer), result in cells.items() if peer == name and result]
        struck = sum(1 for result in results if result[0] or result[1])
        print("%-14s caught %d of %d; %d struck while it ran" % (
            name, sum(1 for result in results if result[0]), len(results), struck))


def run_peers(rows, usable, root, end):
    cells = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        pending = {}

        def one(row, peer, patience):
            if time.monotonic() > end:
                return None
            return in_folder(peer, row["bug"], max(SECONDS, row["verdict_after_ns"] / 1e9), patience, root)

        for row in rows:
            for name, peer, patience in usable:
                pending[pool.submit(one, row, peer, patience)] = (row["bug"], name)
        for future in concurrent.futures.as_completed(pending):
            cells[pending[future]] = future.result()
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-k", default="", help="which bugs")
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end = time.monotonic() + MINUTES * 60
    root = tempfile.mkdtemp(prefix="heapquake-peers-")
    try:
        rows = our_rows(arguments.k)
        usable, left_out = choose_peers(root)
        names = [name for name, _, _ in usable]
        cells = run_peers(rows, usable, root, end)
        print_table(rows, names, cells)
        print_totals(rows, names, cells)
        for name, why in left_out.items():
            print("%-14s left out: %s" % (name, why))
        if "glibc checks" in names:
            print(show_what_glibc_sees(root))
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump([{"bug": row["bug"], "heapquake": row["outcome"],
                            **{name: cell(cells.get((row["bug"], name))) for name in names}} for row in rows],
                          file, indent=1)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
