#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unit tests and threaded stress programs of a variant that checks more: sanitize.sh asan|debug|tsan.
# A report is a failure whatever the program's exit status says: each goes to a file of its own, and any
# file fails the job.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
variant=$1
build=build/$variant
logs=$build/reports
rm -rf "$logs" "$logs".seen.*
mkdir -p "$logs"
options="log_path=$PWD/$logs/$variant:exitcode=66"
export ASAN_OPTIONS="$options:detect_stack_use_after_return=0:allocator_may_return_null=1"
export TSAN_OPTIONS="$options:halt_on_error=0:suppressions=$PWD/ci/tsan.supp"
export UBSAN_OPTIONS="$options:print_stacktrace=1"
failed=0 stressed=0

# What a sanitizer tells in passing: small stacks are answered by larger ones, and a request that is beyond
# all memory is to be refused.
export REPORT_NOTES='^(Sanitizer: (pre-allocated stack size is insufficient|pthread_create is likely to fail)|==[0-9]+==WARNING: AddressSanitizer failed to allocate)'

for program in "$build"/allocator/tests/stress_* "$build"/stress/tests/stress_*; do
	[ -x "$program" ] || continue
	case $program in *.d) continue ;; esac
	stressed=$((stressed + 1))
	echo "stress: $program"
	timeout -k 10 300 "$program" || { echo "failed: $program (status $?)"; failed=1; }
done

[ "$stressed" != 0 ] || { echo "failed: no stress program was built" && failed=1; }

# The unit test runner does not start under the thread sanitizer; the stress programs do.
units() {
	local programs
	mapfile -t programs < <(find "$build" -path '*/tests/test_*' -type f -executable | grep -vE '/obj/|\.d$' |
		grep -vE "${SANITIZE_EXCLUDE:-/test_((allocator|preload|preload_report|notify|contract)(_|$)|guard$)}" | sort)
	bash ci/units.sh --log "$logs" "${programs[@]}"
}

[ "$variant" = tsan ] || units || failed=1
# Errors planted in the blocks of bedrock, as it is linked into programs under the sanitizer.
[ "$variant" != asan ] || BUILD=build python3 ci/planted.py asan || failed=1
for report in "$logs"/*; do
	[ -s "$report" ] || continue
	grep -qvE "$REPORT_NOTES" "$report" || continue
	echo "failed: report $report"
	head -n 60 "$report"
	failed=1
done
[ "$failed" = 0 ] && echo "$variant: clean"
exit "$failed"
