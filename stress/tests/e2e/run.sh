#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# End-to-end tests of the real binary: each file NN-*.sh holds functions named test_*, each run in a
# shell and a folder of its own with a deadline. run.sh [PATTERN] chooses by name.
# Ends with "N passed, N failed, N skipped".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
export TOP=$top BUILD=$top/${BUILD:-build} HERE=$here
export HQ=$BUILD/heapquake
passed=0 failed=0 skipped=0

run_one() {
	local file=$1 name=$2 folder status
	folder=$(mktemp -d)
	(
		cd "$folder" && timeout -k 5 "${E2E_TIMEOUT:-240}" \
			bash -c 'set -uo pipefail; . "$HERE/lib.sh"; trap end_jobs EXIT; . "$1"; "$2"' e2e "$file" "$name"
	) >"$folder.log" 2>&1
	status=$?
	case $status in
	0) passed=$((passed + 1)) ;;
	77)
		skipped=$((skipped + 1))
		echo "skipped: $name: $(tail -n 1 "$folder.log")"
		;;
	*)
		failed=$((failed + 1))
		echo "failed: $name (status $status)"
		sed 's/^/    /' "$folder.log" | tail -n 40
		;;
	esac
	rm -rf "$folder" "$folder.log"
}

for file in "$here"/[0-9]*.sh; do
	for name in $(sed -n 's/^\(test_[a-z0-9_]*\)() {.*/\1/p' "$file"); do
		[[ $name == *${1:-}* ]] && run_one "$file" "$name"
	done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) != 0 ]
