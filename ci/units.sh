#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs Criterion programs: units.sh [--log DIR] PROGRAM... Closes its traps by construction: no program at
# all is a failure, the number of tests run is compared with the number listed (a parametrised test is
# listed once), and with --log any report of a sanitizer or valgrind found in DIR after a program fails it.
# Ends with "N passed, N failed, N skipped".
# Lines that match REPORT_NOTES (environment) are no report.
# WRAPPER (environment) is put before each program, e.g. valgrind with its options.
set -uo pipefail
log=
if [ "${1:-}" = --log ]; then
	log=$2
	shift 2
	mkdir -p "$log"
fi
passed=0 failed=0 skipped=0
tap=$(mktemp)
trap 'rm -f "$tap"' EXIT

run_one() {
	local program=$1 listed ran ok bad skip status
	listed=$("$program" --list 2>/dev/null | grep -cE '^ *(├|└)── ')
	# shellcheck disable=SC2086 # WRAPPER is a command with its options
	timeout -k 10 "${UNIT_TIMEOUT:-600}" ${WRAPPER:-} "$program" --tap="$tap" --quiet -j"${UNIT_JOBS:-2}" >"$tap.out" 2>&1
	status=$?
	ok=$(grep -cE '^ok ' "$tap")
	skip=$(grep -cE '^ok .*# SKIP' "$tap")
	bad=$(grep -cE '^not ok ' "$tap")
	ran=$((ok + bad))
	passed=$((passed + ok - skip)) skipped=$((skipped + skip)) failed=$((failed + bad))
	grep -E '^ok .*# SKIP' "$tap" | sed "s|^ok - |skipped: $(basename "$program") |"
	if [ "$bad" != 0 ] || [ "$status" != 0 ]; then
		grep -vE '^ok ' "$tap"
		cat "$tap.out"
		[ "$bad" != 0 ] || failed=$((failed + 1))
		echo "failed: $program (status $status)"
	fi
	if [ "$ran" = 0 ] || [ "$ran" -lt "$listed" ]; then
		echo "failed: $program lists $listed tests and ran $ran"
		failed=$((failed + 1))
	fi
	: >"$tap"
}

[ $# != 0 ] || { echo "failed: no program to run" && failed=1; }
for program in "$@"; do
	run_one "$program"
	[ -n "$log" ] || continue
	for report in "$log"/*; do
		[ -s "$report" ] || continue
		grep -qvE "${REPORT_NOTES:-^$}" "$report" || continue
		echo "failed: $program: report $report:"
		head -n 40 "$report"
		failed=$((failed + 1))
		mv "$report" "$log.seen.$(basename "$report")"
	done
done
rm -f "$tap.out"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
