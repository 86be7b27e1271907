#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bedrock elsewhere: its unit and stress programs with musl, and for aarch64 under emulation. A port whose
# compiler or emulator is missing is skipped with the reason. Ends with "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0 skipped=0
# Unit tests mostly wait, so more of them run at a time than there are CPUs.
parallel=$((3 * $(nproc)))

# Unit tests that a port does without, and why: variant, program, test or * for all of them.
left_out="\
aarch64 test_background background/child_of_a_fork_starts_its_own the emulator loses its way after a fork of several threads
aarch64 test_bounded * counts against a clock that runs on
aarch64 test_cache cache/no_free_pays_for_more_than_one_slab a look at the clock comes in between where all is slow
aarch64 test_fork * the emulator loses its way after a fork of several threads
aarch64 test_guarded guarded/a_freed_block_is_charged_its_header_only what is resident is the emulator's to say
aarch64 test_guarded guarded/munmap_refused_empties_and_keeps_the_mapping_and_guards_no_more_until_it_is_not what is resident is the emulator's to say
aarch64 test_limit limit/no_page_of_a_chunk_becomes_a_huge_one flags of mappings are those of the emulator's
aarch64 test_limit limit/parts_add_up_and_the_kernel_never_holds_more a look at the clock comes in between where all is slow
aarch64 test_machines * minutes under emulation
aarch64 test_model * minutes under emulation
aarch64 test_purges * counts against a clock that runs on
aarch64 test_relief * counts against a clock that runs on
aarch64 test_space space/first_mapping_is_trimmed_and_later_ones_cost_one_call the emulator chooses other places
aarch64 test_sweep * minutes under emulation"

# The unit tests of bedrock, by name; those with parameters need Criterion itself.
units() {
	grep -L 'criterion/parameterized' allocator/tests/test_*.c | xargs -n 1 basename -s .c | grep -vx test_faulty
}

with_parameters() {
	grep -l 'criterion/parameterized' allocator/tests/test_*.c | xargs -rn 1 basename -s .c
}

# build VARIANT COMPILER PROGRAM...: the library, the unit tests, and those programs.
build() {
	local variant=$1 compiler=$2 program targets=("build/$1/libbedrock.so" "build/$1/libbedrock.a")
	shift 2
	for program in $(units) "${@/#/stress_}"; do
		targets+=("build/$variant/allocator/tests/$program")
	done
	make --no-print-directory -j"$(nproc)" VARIANT="$variant" PLAIN=1 CC="$compiler" "${targets[@]}"
}

# unit VARIANT "RUNNER..." PROGRAM TEST...: without those tests; what it says, and its status, go to a file.
unit() {
	local variant=$1 runner=$2 program=$3
	shift 3
	# shellcheck disable=SC2086 # the runner is a command with its options
	timeout -k 5 300 $runner "build/$variant/allocator/tests/$program" "$@" \
		</dev/null >"build/$variant/units/$program" 2>&1
	echo "status $?" >>"build/$variant/units/$program"
}

# judge VARIANT PROGRAM: what a unit test said of itself.
judge() {
	local said=build/$1/units/$2 numbers
	numbers=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$said" | tail -n 1)
	# shellcheck disable=SC2086 # three numbers
	set -- "$1" "$2" ${numbers:-0 1 0}
	passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
	[ "$(tail -n 1 "$said")" != "status 0" ] || return
	echo "failed: $2 on $1"
	tail -n 20 "$said"
	[ "$4" != 0 ] || failed=$((failed + 1))
}

# unit_all VARIANT "RUNNER..."
unit_all() {
	local variant=$1 runner=$2 program without started=()
	rm -rf "build/$variant/units"
	mkdir -p "build/$variant/units"
	echo "$left_out" | sed -nE "s/^$variant ([^ ]+) ([^ ]+) /skipped on $variant: \1 \2: /p"
	for program in $(with_parameters); do
		echo "skipped on $variant: $program *: it has parameters, and there is no Criterion"
		skipped=$((skipped + 1))
	done
	for program in $(units); do
		mapfile -t without < <(echo "$left_out" | sed -nE "s/^$variant $program ([^ ]+) .*/\1/p")
		if [ "${without[*]}" = "*" ]; then
			skipped=$((skipped + 1))
			continue
		fi
		while [ "$(jobs -rp | wc -l)" -ge "$parallel" ]; do wait -n; done
		unit "$variant" "$runner" "$program" "${without[@]}" &
		started+=("$program")
	done
	wait
	for program in "${started[@]}"; do
		judge "$variant" "$program"
	done
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
		unit_all "$variant" "$runner"
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
