#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Planted errors, stress programs and unit tests under memcheck. Criterion ends green whatever valgrind found in its
# workers, so the judge is the log: one file a process, and any file with text is a failure. Only
# definite leaks count, since the runner itself shows "possibly lost".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
if ! command -v valgrind >/dev/null; then
	echo "valgrind skipped: not installed"
	[ -z "${CI:-}" ]
	exit
fi
build=${BUILD:-build}
logs=$build/reports.valgrind
rm -rf "$logs" "$logs".seen.*
mkdir -p "$logs"
wrapper="valgrind -q --trace-children=yes --leak-check=full --show-leak-kinds=definite
	--errors-for-leak-kinds=definite --error-exitcode=9 --log-file=$logs/vg.%p.log"
[ ! -s ci/valgrind.supp ] || wrapper="$wrapper --suppressions=$PWD/ci/valgrind.supp"
failed=0 stressed=0

# Errors planted in bedrock's blocks are found. The others below are about its own code.
BUILD=$build python3 ci/planted.py memcheck || failed=1

for program in "$build"/allocator/tests/stress_* "$build"/stress/tests/stress_*; do
	[ -x "$program" ] || continue
	case $program in *.d) continue ;; esac
	stressed=$((stressed + 1))
	echo "valgrind: $program"
	# Children of a fork end with blocks of threads that they have not: lost, and rightly so.
	case $program in *_fork | *_limit) annotate=false ;; *) annotate=true ;; esac
	# shellcheck disable=SC2086 # the wrapper is a command with its options
	BEDROCK_CONF=annotate:$annotate STRESS_MOVE=no STRESS_SCALE=0.05 timeout -k 10 600 $wrapper "$program" || { echo "failed: $program (status $?)"; failed=1; }
done

[ "$stressed" != 0 ] || { echo "failed: no stress program was built" && failed=1; }

# Each test costs an emulated start of its own, so these are the units that own memory in ways worth
# emulating; the address sanitizer sees all of them. Left out by nature: those that install filters, count
# in the kernel, remap, or start programs.
units=${VALGRIND_UNITS:-allocator/tests/test_(api|arena|bitmap|cache|classes|decay|large|options|slab) \
	injectors/tests/test_(decide|option|rule) \
	stress/tests/test_(drain|plan|report_json|report_junit|scenario|verdict|yaml_node|words)}
pattern=$(echo "$units" | sed -E 's/[[:space:]]+/|/g')
mapfile -t programs < <(find "$build" -name 'test_*' -type f -executable | grep -v '\.d$' |
	grep -E "^$build/($pattern)\$" | sort)
BEDROCK_CONF=annotate:false WRAPPER=$wrapper UNIT_TIMEOUT=900 bash ci/units.sh --log "$logs" "${programs[@]}" || failed=1
for report in "$logs"/*; do
	[ -s "$report" ] || continue
	echo "failed: report $report"
	head -n 60 "$report"
	failed=1
done
[ "$failed" = 0 ] && echo "valgrind: clean"
exit "$failed"
