#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# System calls by kind, lock waits and memory that came back, of a program that does a known number of each.

can_trace() {
	"$HQ" doctor >capabilities 2>&1
	grep -Eq '^  ok +system call trace' capabilities || skip "system calls cannot be traced here"
}

# Two hundred times 64 KiB are touched and given back; a lock is waited for 20 ms. At the end of the other thread most
# of its stack, which was hardly touched, is given back as well.
write_program() {
	cat >work.py <<-'P'
		import mmap, threading, time
		memory = mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
		for _ in range(200):
		    memory[:] = b"x" * 65536
		    memory.madvise(mmap.MADV_DONTNEED)
		lock = threading.Lock()
		lock.acquire()
		other = threading.Thread(target=lambda: lock.acquire(timeout=0.02))
		other.start()
		other.join()
	P
}

test_system_calls_of_a_program_are_counted_by_kind() {
	can_trace
	write_program
	"$HQ" run -q --results=none --allocator=own --check 'calls.lost == 0' --check 'calls.madvise.count >= 200' \
		--check 'calls.madvise.count <= 260' --check 'calls.madvise.time >= 1us' --check 'calls.advised >= 12MiB' \
		--check 'calls.advised <= 40MiB' --check 'calls.lock_waits >= 1' --check 'calls.lock_wait_time >= 20ms' \
		--check 'memory.faulted_again >= 8MiB' --check 'calls.process_madvise.count == 0' -- python3 work.py \
		>out 2>err || fail "$(cat out err)"
}

test_a_call_that_was_refused_by_a_fault_is_none_of_the_kernels() {
	can_trace
	write_program
	"$HQ" run -q --results=none --allocator=own --inject madvise:advice=DONTNEED:error=EAGAIN \
		--check 'calls.madvise.count <= 60' --check 'calls.advised <= 4MiB' \
		--check 'calls.lock_waits >= 1' -- python3 work.py >out 2>err
	# The program says that its advice was refused.
	! grep -q 'expect:' out || fail "$(cat out err)"
	grep -q 'Resource temporarily unavailable' out err || fail "nothing was refused: $(cat out err)"
}

test_calls_that_are_not_traced_have_no_value() {
	cat >quiet.yaml <<-'Y'
		question: Is what was not traced left open?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 1, ops: 1k }
		expect:
		  - calls.mmap.count >= 0
		run: { calls: never }
	Y
	"$HQ" run --results=none quiet.yaml >out 2>err
	[ $? = 4 ] || fail "a metric without a value was judged: $(cat out err)"
	grep -q 'run.calls' out || fail "the reason is missing: $(cat out err)"
}
