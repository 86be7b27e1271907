#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Where faults do not reach, and where results might get lost: neither may look like a PASS.

test_child_without_filter_is_inconclusive() {
	expect 4 "$HQ" run --results=none --allocator=glibc \
		--inject 'mmap:error=ENOMEM:probability=50%' -- "$BUILD/targets/filterless" /bin/true
	says err 'the filter was not installed in every process'
}

test_no_process_for_a_case_is_an_error() {
	scenario fine <<-'Y'
		question: Is there room for it?
		workload: none
	Y
	expect 3 env LD_PRELOAD="$BUILD/targets/lib_no_fork" "$HQ" run --results=none \
		--allocator=glibc fine.yaml
	says out 'cannot start a process for this case: Resource temporarily unavailable'
}

test_build_in_a_path_with_spaces_says_so() {
	mkdir 'a b'
	cp "$HQ" "$BUILD/heapquake-host" "$BUILD/libheapquake-preload.so" 'a b'
	scenario fine <<-'Y'
		question: Is our library loaded?
		workload: none
	Y
	expect 3 'a b/heapquake' run --results=none --allocator=glibc fine.yaml
	says out "splits such a path"
}

test_build_in_a_long_path_works() {
	local deep
	deep=$(printf 'd%.0s' $(seq 1 230))
	mkdir "$deep"
	cp "$HQ" "$BUILD/heapquake-host" "$BUILD/libheapquake-preload.so" "$BUILD/libbedrock.so" "$deep"
	scenario fine <<-'Y'
		question: Is it found?
		workload:
		  churn: { threads: 1, ops: 1k }
	Y
	expect 0 "$deep/heapquake" run --results=none --allocator=glibc fine.yaml
}

test_closed_standard_files_change_no_verdict() {
	scenario fine <<-'Y'
		question: Are standard files taken for granted?
		target: { command: [sh, -c, 'echo said'] }
	Y
	"$HQ" run --allocator=bedrock fine.yaml <&- >&- 2>err
	grep -q '"verdict": *"PASS"' results/latest/fine/bedrock/42/verdict.json || fail "no PASS"
	[ "$(cat results/latest/fine/bedrock/42/stdout)" = said ] || fail "its output is lost"
}

test_results_of_equal_names_are_all_kept() {
	mkdir x y
	cp "$BUILD/libbedrock.so" x
	cp "$BUILD/libbedrock.so" y
	scenario fine <<-'Y'
		question: Is the first one still there?
		workload: none
	Y
	expect 0 "$HQ" run --jobs=2 --allocator="$PWD/x/libbedrock.so,$PWD/y/libbedrock.so" fine.yaml
	[ "$(find results/ -name verdict.json | wc -l)" = 2 ] || fail "results were overwritten"
}

test_second_interrupt_leaves_no_process() {
	scenario stubborn <<-'Y'
		question: Does anything stay behind?
		target: { command: [sh, -c, "trap '' TERM; setsid sleep 97531 & sleep 97532 & touch begun; wait; wait"] }
		run: { timeout: 60s }
	Y
	"$HQ" run -q --results=none stubborn.yaml >out 2>err &
	local pid=$! left
	wait_for 20 test -e begun
	sleep 0.3
	kill -INT $pid
	sleep 0.2
	kill -INT $pid
	wait $pid
	sleep 0.2
	left=$(pgrep -f 'sleep 9753[12]')
	[ -z "$left" ] && return
	kill -9 $left
	fail "left behind: $left"
}

test_ready_file_that_never_comes_is_named() {
	scenario late <<-'Y'
		question: When does the driver begin?
		target: { command: [sleep, "100"], driver: ["true"], ready: { file: /nowhere/ready } }
		run: { timeout: 2s, hang: 1s }
	Y
	expect 1 "$HQ" run --results=none late.yaml
	says out "the driver was not started: '/nowhere/ready' never appeared"
}

# What it calls of other libraries could allocate in the middle of an allocation, so it calls next to
# nothing: dlsym, once, before anything else runs. (Weak symbols are those of the compiler's start-up code.)
test_library_in_the_target_calls_nothing_that_allocates() {
	command -v nm >/dev/null || skip 'nm is not installed'
	nm -D --undefined-only "$BUILD/libheapquake-preload.so" | sed -n 's/^ *U \([a-z_]*\).*/\1/p' >calls
	[ -s calls ] || fail 'nm found no symbol at all'
	# Both look into the loader's tables, under its lock, and allocate nothing.
	! grep -vxE 'dlsym|dladdr' calls || fail 'the preloaded library calls the functions above'
}

test_memory_of_a_programs_children_is_counted() {
	# What tail keeps is in none of the shell's pages.
	expect 0 "$HQ" run --results=none -q --allocator=glibc,bedrock --format=usage:table \
		--check 'rss.peak <= 8MiB' --check 'rss.tree_peak >= 24MiB' --check 'rss.tree_peak <= 64MiB' \
		-- sh -c 'head -c 24M /dev/zero | tail -c 24M | (sleep 0.2; wc -c)'
	grep -qE '^  glibc +PASS .* MiB ' table || fail "$(cat table)"
	grep -qE '^  bedrock +PASS .* MiB ' table || fail "$(cat table)"
}

test_a_case_that_lacks_a_program_it_needs_is_skipped() {
	cat >needy.yaml <<-'Y'
		question: Is what a shell would start looked for first?
		target: { command: [sh, -c, exit 1], needs: [sh, no-such-program-as-this] }
	Y
	expect 77 "$HQ" run --results=none -q --allocator=glibc needy.yaml
	says out "no-such-program-as-this' is not in PATH"
}
