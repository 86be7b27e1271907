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
	names+=(driver guard record instructions alloc)
fi
status=0

# How much of a run is the driver itself.
driver() {
	python3 ci/bench_driver.py "$build"
}

# run NAME: a program of that name, in whichever room.
run() {
	local program
	program=$(find "$build" -path "*/tests/bench_$1" -type f -executable ! -path '*/obj/*' | head -n 1)
	if [ -z "$program" ]; then
		echo "bench: no benchmark is called $1" >&2
		exit 2
	fi
	echo "== $1"
	BUILD=$build "$program"
}

for name in "${names[@]}"; do
	case $name in
	driver)
		echo "== driver"
		driver || status=1
		;;
	guard)
		echo "== guard"
		python3 ci/bench_guard.py "$build" || status=1
		# Asked for by its name, it brings the programs that tell where the time goes.
		if [ $# != 0 ]; then
			run guard_calls || status=1
			run stamp || status=1
		fi
		;;
	record)
		echo "== record"
		python3 ci/bench_record.py "$build" || status=1
		;;
	instructions)
		echo "== instructions"
		python3 ci/bench_instructions.py "$build" || status=1
		;;
	tails)
		echo "== tails"
		python3 ci/bench_tails.py "$build" || status=1
		;;
	aa)
		echo "== aa"
		python3 ci/bench_aa.py "$build" ${FULL:+--full} || status=1
		;;
	alloc)
		echo "== alloc"
		python3 ci/bench_alloc.py "$build" ${FULL:+--full} || status=1
		;;
	*) run "$name" || status=1 ;;
	esac
done
exit $status
