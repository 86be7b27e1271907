#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything `make check` runs, in order: lint, unit tests, command-line transcripts, end-to-end tests,
# the quick scenarios. Every part ends with "N passed, N failed, N skipped"; so does the whole.
# check.sh [PART...] runs some of them; BUILD names the build folder.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${BUILD:-build}
parts=("$@")
[ $# != 0 ] || parts=(lint units instructions transcripts e2e scenarios selftest)
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

lint() {
	if bash ci/lint.sh; then echo "1 passed, 0 failed, 0 skipped"; else echo "0 passed, 1 failed, 0 skipped"; fi
}

units() {
	local programs
	mapfile -t programs < <(find "$build" -path '*/tests/test_*' -type f -executable | grep -v '/obj/' |
		grep -vE "^$build/(asan|debug|tsan)/" | sort)
	bash ci/units.sh "${programs[@]}"
}

# How many instructions a pair of malloc and free may take.
instructions() {
	python3 ci/bench_instructions.py "$build" --check
}

transcripts() {
	local files good=0 bad=0 cram
	cram=$(command -v cram3 || command -v cram) || {
		echo "transcripts skipped: cram is not installed (python3-cram)"
		echo "0 passed, 0 failed, 1 skipped"
		return
	}
	files=(stress/tests/cli/*.t)
	for file in "${files[@]}"; do
		if HEAPQUAKE="$PWD/$build/heapquake" TOP="$PWD" timeout 120 "$cram" "$file"; then
			good=$((good + 1))
		else
			bad=$((bad + 1))
		fi
	done
	echo "$good passed, $bad failed, 0 skipped"
}

e2e() {
	BUILD=$build bash stress/tests/e2e/run.sh
}

scenarios() {
	local json good bad skip status
	json=$(mktemp)
	"$build/heapquake" run --jobs=2 --tags=quick --allocator="all,$build/libbedrock-debug.so" --results=none --format="text,tap:$json" scenarios
	status=$?
	good=$(grep -cE '^ok ' "$json")
	skip=$(grep -cE '^ok .*# SKIP' "$json")
	good=$((good + $(grep -cE '^not ok .*# TODO' "$json")))
	bad=$(grep -E '^not ok ' "$json" | grep -vcE '# TODO')
	rm -f "$json"
	[ "$bad" != 0 ] || { [ "$good" != 0 ] && [ "$status" = 0 ]; } || bad=1
	echo "$((good - skip)) passed, $bad failed, $skip skipped"
}

# Planted bugs, about one of each kind: a suite that finds nothing must have been able to.
selftest() {
	local json good bad status
	json=$(mktemp)
	"$build/heapquake" selftest --quick --jobs=2 --format=json >"$json"
	status=$?
	good=$(grep -c '"outcome": "caught"' "$json")
	bad=$(($(grep -c '"outcome": ' "$json") - good))
	[ "$bad" = 0 ] || grep -E -B5 -A1 '"outcome": "(caught .|[^c])' "$json"
	rm -f "$json"
	[ "$bad" != 0 ] || { [ "$good" != 0 ] && [ "$status" = 0 ]; } || bad=1
	echo "$good passed, $bad failed, 0 skipped"
}

for part in "${parts[@]}"; do
	echo "== $part"
	"$part" 2>&1 | tee "$log"
	read -r p f s < <(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
	if [ -z "${p:-}" ]; then
		echo "failed: $part did not end with its counts"
		p=0 f=1 s=0
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	p=
done
echo "== all"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
