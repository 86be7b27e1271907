#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the benchmark programs, one after the other: bench.sh [NAME...]. Each prints a table of ratios
# from alternating runs of one invocation; nothing here judges.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${BUILD:-build}
names=("$@")
if [ $# = 0 ]; then
	mapfile -t names < <(find "$build" -path '*/tests/bench_*' -type f -executable ! -path '*/obj/*' \
		-printf '%f\n' | sed 's/^bench_//' | sort)
	names+=(driver)
fi
status=0

# How much of a run is the driver itself: the same work on an allocator that does next to nothing.
driver() {
	local scenario round allocator
	scenario=$(mktemp --suffix=.yaml)
	cat >"$scenario" <<-'Y'
		question: How much of a run is the driver itself?
		workload:
		  churn: { threads: 2, ops: 300k, live: 1k, size: 16B..1KiB log, realloc: 0%, aligned: 0% }
	Y
	echo "driver: CPU seconds of the same churn by allocator; the null allocator's is the driver's own"
	for allocator in "$build/targets/lib_null_allocator" "$build/libbedrock.so" glibc; do
		for round in 1 2 3; do
			"$build/heapquake" run -q --results=none --allocator="$allocator" --format=json "$scenario" |
				python3 -c 'import json, sys
for case in json.load(sys.stdin)["results"]:
    print(case["allocator"], [m for m in case["metrics"] if m["name"] == "cpu.total"])'
		done
	done
	rm -f "$scenario"
}

for name in "${names[@]}"; do
	if [ "$name" = driver ]; then
		driver || status=1
		continue
	fi
	program=$(find "$build" -path "*/tests/bench_$name" -type f -executable ! -path '*/obj/*' | head -n 1)
	if [ -z "$program" ]; then
		echo "bench: no benchmark is called $name" >&2
		exit 2
	fi
	echo "== $name"
	BUILD=$build "$program" || status=1
done
exit $status
