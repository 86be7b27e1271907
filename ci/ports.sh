#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bedrock elsewhere: built with musl, and for aarch64, where its stress programs run under emulation. A port whose
# compiler or emulator is missing is skipped with the reason. Ends with "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0 skipped=0

# build VARIANT COMPILER PROGRAM...: the library, and those programs.
build() {
	local variant=$1 compiler=$2 program targets=("build/$1/libbedrock.so" "build/$1/libbedrock.a")
	shift 2
	for program in "$@"; do
		targets+=("build/$variant/allocator/tests/stress_$program")
	done
	make --no-print-directory -j"$(nproc)" VARIANT="$variant" CC="$compiler" "${targets[@]}"
}

# run_all VARIANT "RUNNER..." PROGRAM...
run_all() {
	local variant=$1 runner=$2 program
	shift 2
	for program in "$@"; do
		echo "$variant: stress_$program"
		# shellcheck disable=SC2086 # the runner is a command with its options
		if STRESS_SCALE=0.2 timeout -k 5 300 $runner "build/$variant/allocator/tests/stress_$program" </dev/null; then
			passed=$((passed + 1))
		else
			echo "failed: stress_$program on $variant (status $?)"
			failed=$((failed + 1))
		fi
	done
}

# port VARIANT COMPILER "RUNNER..." PROGRAM...
port() {
	local variant=$1 compiler=$2 runner=$3
	shift 3
	if ! command -v "$compiler" >/dev/null || { [ -n "$runner" ] && ! command -v "${runner%% *}" >/dev/null; }; then
		echo "$variant skipped: $compiler${runner:+ or ${runner%% *}} is not installed"
		skipped=$((skipped + 1))
	elif build "$variant" "$compiler" "$@"; then
		run_all "$variant" "$runner" "$@"
	else
		echo "failed: $variant does not build"
		failed=$((failed + 1))
	fi
}

port musl musl-gcc "" threads faults fork huge limit model
# The emulator loses its way after a fork of several threads, so what forks is left out.
port aarch64 aarch64-linux-gnu-gcc "qemu-aarch64 -L /usr/aarch64-linux-gnu" threads faults huge limit
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
