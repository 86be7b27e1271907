#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the house demands of every file: the include law, lengths, licence lines, formatting.
# Prints one line a breach and exits 1 if there is any.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
breaches=0

breach() {
	echo "lint: $*"
	breaches=$((breaches + 1))
}

mapfile -t sources < <(git ls-files '*.c' '*.h')
mapfile -t scripts < <(git ls-files '*.sh' '.ci/run' ci | xargs -r grep -lE '^#!.*(bash|sh)$' | sort -u)

# The include law: which rooms a file of a room may include. Tests may include everything.
allowed() {
	case $1 in
	*/tests/*) echo '.' ;;
	allocator/bench/*) echo '^allocator/bench/' ;;
	allocator/bedrock/*) echo '^allocator/bedrock/' ;;
	allocator/faulty/*) echo '^allocator/faulty/' ;;
	injectors/*) echo '^injectors/' ;;
	stress/wire/*) echo '^(injectors|stress/wire)/' ;;
	stress/preload/*) echo '^(injectors|stress/wire|stress/preload)/' ;;
	stress/between/*) echo '^(injectors|stress/between)/' ;;
	stress/guard/*) echo '^(injectors|stress/wire|stress/between|stress/guard)/' ;;
	stress/recorder/*) echo '^(injectors|stress/(between|trace|recorder))/' ;;
	stress/trace/*) echo '^(injectors|stress/trace)/' ;;
	stress/workload/*) echo '^(injectors|stress/(wire|trace|workload))/' ;;
	stress/host/*) echo '^(injectors|stress/wire|stress/workload|stress/host)/' ;;
	stress/observe/*) echo '^(injectors|stress/wire|stress/observe)/' ;;
	stress/check/*) echo '^(injectors|stress/wire|stress/observe|stress/check)/' ;;
	stress/report/*) echo '^(injectors|stress/(wire|observe|check|report))/' ;;
	stress/compare/*) echo '^(injectors|stress/(wire|observe|check|compare))/' ;;
	stress/plan/*) echo '^(injectors|stress/(wire|workload|observe|check|plan))/' ;;
	stress/control/*) echo '^(injectors|stress/(wire|trace|workload|observe|check|report|plan|control))/' ;;
	stress/command/*) echo '^(injectors|stress/(wire|trace|workload|observe|check|compare|report|plan|control|command))/' ;;
	*) echo '^$' ;;
	esac
}

for file in "${sources[@]}"; do
	law=$(allowed "$file")
	while read -r included; do
		[[ $included =~ $law ]] || breach "$file includes $included, against the include law"
		[ -e "$included" ] || breach "$file includes $included by no path from the root"
	done < <(sed -n 's/^#include "\(.*\)".*/\1/p' "$file")
	head -n 1 "$file" | grep -q 'SPDX-License-Identifier: MIT' || breach "$file: no SPDX line"
	lines=$(wc -l <"$file")
	if [ "$lines" -gt 600 ] && ! sed -n 1,30p "$file" | grep -qi 'one thing'; then
		breach "$file: $lines lines; split it, or say in its first lines why it is one thing"
	fi
done
for file in "${scripts[@]}"; do
	sed -n 2p "$file" | grep -q 'SPDX-License-Identifier: MIT' || breach "$file: no SPDX line"
done

# Functions above 70 lines.
while read -r line; do breach "$line"; done < <(
	awk 'FNR == 1 { open = 0 }
	     /^[A-Za-z_].*\(/ && !/;/ { name = $0 }
	     /^\{/ { open = FNR }
	     /^\}/ { if (open && FNR - open > 71)
			printf "%s:%d: function of %d lines: %s\n", FILENAME, open, FNR - open - 1, name
		     open = 0 }' "${sources[@]}"
)

while read -r line; do breach "white space at the end: $line"; done < <(
	grep -nE '[[:space:]]+$' "${sources[@]}" Makefile "${scripts[@]}" | cut -c1-100
)

# Memory orders live in the two atomic headers alone.
while read -r line; do breach "memory order outside atomic.h: $line"; done < <(
	grep -n 'memory_order_' "${sources[@]}" | grep -v '/atomic\.h:' | cut -c1-100
)

# Every refusal that bedrock answers is proved.
while read -r line; do breach "$line"; done < <(python3 ci/check_failures.py)

if command -v clang-format >/dev/null; then
	while read -r line; do breach "$line"; done < <(
		clang-format --dry-run "${sources[@]}" 2>&1 | sed -n 's/: warning:.*/: not as clang-format has it/p' |
			sort -u -t: -k1,1
	)
else
	echo "lint: clang-format is not installed; formatting was not looked at" >&2
fi
if command -v shellcheck >/dev/null; then
	while read -r line; do breach "$line"; done < <(shellcheck -f gcc "${scripts[@]}" | grep -v ': note:')
else
	echo "lint: shellcheck is not installed; scripts were not looked at" >&2
fi

[ "$breaches" = 0 ]
