#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The heap guard between ordinary programs and their allocators: silent where nothing is wrong, and
# where something is, it says whose fault it was.

ALLOCATORS=${ALLOCATORS:-"glibc jemalloc bedrock"}

# guarded ALLOCATOR GUARD COMMAND...: nothing found, and calls were seen.
guarded() {
	local allocator=$1 guard=$2
	shift 2
	expect 0 "$HQ" run --results=none -q "--allocator=$allocator" "--guard=$guard" --check 'guard.calls >= 64' -- "$@"
}

needs() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
}

on_all() {
	local allocator
	for allocator in $ALLOCATORS; do
		guarded "$allocator" full "$@"
	done
	guarded glibc canary "$@"
	guarded jemalloc 1/64 "$@"
}

test_guard_is_silent_with_threads() {
	on_all "$BUILD/targets/honest"
}

test_guard_is_silent_with_python_threads_and_forks() {
	needs python3
	cat >work.py <<-'P'
		import os, threading
		def work():
		    kept = {}
		    for i in range(5000):
		        kept[i % 500] = bytes(600 + i % 5000)
		threads = [threading.Thread(target=work) for _ in range(4)]
		[t.start() for t in threads]
		for _ in range(5):
		    pid = os.fork()
		    if pid == 0:
		        work()
		        os._exit(0)
		    os.waitpid(pid, 0)
		[t.join() for t in threads]
	P
	on_all python3 work.py
}

test_guard_is_silent_with_git() {
	needs git
	git init -q repo
	for i in 1 2 3 4 5; do
		seq $((i * 1000)) >"repo/$i"
		git -C repo add .
		git -C repo -c user.name=a -c user.email=a@b commit -qm "$i"
	done
	on_all git -C repo log -p --stat
	on_all git -C repo gc -q
}

test_guard_is_silent_with_a_compiler() {
	needs gcc
	for i in $(seq 50); do
		echo "int f$i(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * $i ^ a; return s; }"
	done >many.c
	on_all gcc -O2 -c -o many.o many.c
}

test_guard_is_silent_with_a_shell_that_forks() {
	on_all bash -c 'for i in $(seq 30); do x=$(echo "$i" | cat); (exit 0); done; ls /etc | sort | wc -l'
}

test_guard_is_silent_with_redis() {
	needs redis-server
	needs redis-benchmark
	for allocator in $ALLOCATORS; do
		expect 0 "$HQ" run --results=none -q --allocator="$allocator" --guard --no-faults \
			"$TOP/scenarios/programs/redis.yaml"
	done
}

test_guard_is_silent_with_a_database() {
	needs db_bench
	for allocator in $ALLOCATORS; do
		guarded "$allocator" full db_bench --db="$PWD/db" --num=5000 --benchmarks=fillrandom,readrandom --threads=2
	done
}

test_guard_is_silent_under_an_address_limit() {
	guarded glibc full bash -c "ulimit -v 200000 && '$BUILD/targets/honest'"
}

test_guard_finds_what_an_allocator_does_wrong() {
	local bug
	for bug in overlap:overlap misaligned:alignment dirty:calloc-zero prefix:realloc errno:errno null:null-errno; do
		BROKEN=${bug%:*} expect 1 "$HQ" run --results=none -q --guard \
			--allocator="$BUILD/targets/lib_broken_allocator" -- "$BUILD/targets/honest"
		says err "^  ${bug#*:}: "
		says err "called from honest\+0x"
	done
}

test_guard_tells_the_programs_faults_apart() {
	local fault
	for fault in twice:full:program-free stray:full:program-free behind:canary:program-tail; do
		IFS=: read -r what guard checker <<<"$fault"
		for allocator in $ALLOCATORS; do
			expect 1 "$HQ" run --results=none -q --allocator="$allocator" "--guard=$guard" -- "$BUILD/targets/honest" "$what"
			says err "^  $checker: "
			[ "$(grep -cE "^  [a-z-]+: " err)" -le 4 ] || {
				cat err
				fail "more than the program's fault was found"
			}
		done
	done
}

test_guard_with_faults_in_the_kernel_finds_nothing_wrong() {
	expect 0 "$HQ" run --results=none -q --allocator=glibc --guard \
		--inject 'mmap:error=ENOMEM:probability=0.2' -- "$BUILD/targets/honest"
}

test_guard_refuses_what_it_cannot_watch() {
	expect 3 "$HQ" run --results=none -q --guard -- "$BUILD/targets/static_madvise"
	says err "the guard cannot watch"
	expect 2 "$HQ" run --guard=1/0 -- true
	says err "none of full, canary and 1/N"
}
