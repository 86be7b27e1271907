# SPDX-License-Identifier: MIT
# Which allocators there are to measure: bedrock, and those of its peers that this machine has. PEERS adds more, as
# "name=/path/to/lib.so,...", for those that no package brings; ONLY="bedrock,glibc" chooses.
import glob
import math
import os

SCUDO = "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-" + os.uname().machine + ".so"
PACKAGED = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
    "tbbmalloc": "libtbbmalloc_proxy.so.2",
}


def library(name):
    for folder in ("/usr/lib/" + os.uname().machine + "-linux-gnu/", "/usr/lib64/", "/usr/lib/"):
        if os.path.exists(folder + name):
            return folder + name
    return None


def allocators(build):
    """Name -> library to preload, or None for what the C library has."""
    found = {"bedrock": os.path.abspath(build + "/libbedrock.so"), "glibc": None}
    found.update((name, library(file)) for name, file in PACKAGED.items() if library(file))
    found.update(("scudo", path) for path in sorted(glob.glob(SCUDO))[-1:])
    found.update(pair.split("=", 1) for pair in os.environ.get("PEERS", "").split(",") if pair)
    only = [name for name in os.environ.get("ONLY", "").split(",") if name]
    return {name: path for name, path in found.items() if not only or name in only}


def environment(path, **more):
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    if path:
        env["LD_PRELOAD"] = path
    return {**env, **more}


def turns(names, rounds):
    """The names in turn, `rounds` times, each time beginning with another one."""
    names = list(names)
    for number in range(rounds):
        shift = number % len(names)
        yield from names[shift:] + names[:shift]


def ratio_to_best(values, name):
    """values[name] / the least of the peers, or None."""
    peers = [value for other, value in values.items() if other != "bedrock" and value]
    if not peers or not values.get(name):
        return None
    return values[name] / min(peers)


def geometric_mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def print_row(title, values, unit, digits=0):
    """The ratio of each allocator to the best peer, and bedrock's own figure."""
    cells = ""
    for peer in values:
        ratio = ratio_to_best(values, peer)
        cells += f"{ratio:10.2f}" if ratio else f"{'-':>10}"
    own = values.get("bedrock")
    print(f"{title:14}{cells}   {'-' if own is None else f'{own:.{digits}f} {unit}'}", flush=True)
