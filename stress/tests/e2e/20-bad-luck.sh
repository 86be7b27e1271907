#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processes that are killed, hang, fork, exec, flood: nothing may be lost, left behind, or hang.

test_killed_target_is_a_finding_with_all_files() {
	busy
	"$HQ" run --allocator=glibc busy.yaml >out 2>err &
	local controller=$!
	wait_for 10 has_host $controller
	sleep 0.5
	kill -9 "$(host_of $controller)"
	wait $controller
	[ $? = 1 ] || fail "status $?: $(cat out err)"
	says out 'SIGKILL'
	for file in plan.yaml verdict.json findings.json samples.csv latency.hlog latency.csv faults.jsonl repro; do
		[ -e "results/latest/busy/glibc/42/$file" ] || fail "no $file"
	done
	[ "$(wc -l <results/latest/busy/glibc/42/samples.csv)" -gt 50 ] || fail "samples were lost"
}

test_killed_controller_leaves_no_process() {
	busy
	"$HQ" run --allocator=glibc busy.yaml >out 2>err &
	local controller=$!
	wait_for 10 has_host $controller
	local below
	below=$(descendants $controller)
	kill -9 $controller
	wait $controller
	for pid in $below; do wait_for 5 gone "$pid"; done
}

test_killed_case_is_an_error_and_its_target_dies() {
	busy
	"$HQ" run --allocator=glibc busy.yaml >out 2>err &
	local controller=$!
	wait_for 10 has_host $controller
	local host
	host=$(host_of $controller)
	kill -9 "$(pgrep -P $controller | head -n 1)"
	wait $controller
	[ $? = 3 ] || fail "status: $(cat out err)"
	wait_for 5 gone "$host"
}

test_interrupt_reports_what_there_is() {
	busy
	"$HQ" run --allocator=glibc busy.yaml >out 2>err &
	local controller=$!
	wait_for 10 has_host $controller
	local host
	host=$(host_of $controller)
	sleep 0.3
	kill -INT $controller
	wait $controller
	[ $? = 130 ] || fail "status: $(cat out err)"
	says out '1 inconclusive'
	wait_for 5 gone "$host"
}

test_second_interrupt_ends_at_once() {
	scenario sleepy <<-'Y'
		question: Does it listen?
		target: { command: [sh, -c, "trap '' TERM INT; while :; do sleep 1; done"] }
	Y
	"$HQ" run sleepy.yaml >out 2>err &
	local controller=$!
	sleep 1
	local below
	below=$(descendants $controller)
	[ -n "$below" ] || fail "nothing was there to be ended"
	kill -INT $controller
	sleep 0.2
	kill -INT $controller
	local started=$SECONDS
	wait $controller
	[ $? = 130 ] || fail "status: $(cat out err)"
	[ $((SECONDS - started)) -le 3 ] || fail "took $((SECONDS - started)) s"
	for pid in $below; do wait_for 5 gone "$pid"; done
}

test_terminate_is_143() {
	busy
	"$HQ" run --allocator=glibc busy.yaml >out 2>err &
	local controller=$!
	wait_for 10 has_host $controller
	kill -TERM $controller
	wait $controller
	[ $? = 143 ] || fail "status: $(cat out err)"
}

test_program_that_never_ends_is_stopped() {
	expect 1 "$HQ" run --timeout=1s -- sleep 1000
	says err 'timeout|time'
	! pgrep -fx 'sleep 1000' >/dev/null || fail "it is still there"
}

test_daemon_of_a_target_does_not_stay() {
	expect 0 "$HQ" run -- sh -c 'setsid sleep 987 & exit 0'
	! pgrep -fx 'sleep 987' >/dev/null || fail "it is still there"
}

test_program_that_floods_is_bounded() {
	scenario flood <<-'Y'
		question: Who reads all that?
		target: { command: [sh, -c, "yes flood | head -c 50000000"] }
	Y
	expect 0 "$HQ" run flood.yaml
	local kept
	kept=$(stat -L -c %s results/latest/flood/*/42/stdout)
	[ "$kept" -lt 5000000 ] || fail "kept $kept bytes"
	says results/latest/flood/*/42/stdout 'more bytes were left out'
}

test_exec_and_fork_keep_their_faults() {
	cat >fork.py <<-'P'
		import ctypes, mmap, os, sys
		libc = ctypes.CDLL(None, use_errno=True)
		def refused():
		    area = mmap.mmap(-1, 1 << 16)
		    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
		    return libc.madvise(ctypes.c_void_p(address), 1 << 16, 4) == -1 and ctypes.get_errno() == 22
		if len(sys.argv) > 1:
		    sys.exit(0 if refused() else 9)
		child = os.fork()
		if child == 0:
		    os._exit(0 if refused() else 8)
		assert os.waitpid(child, 0)[1] == 0, "fork"
		assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, sys.argv[0], "again"]) == 0, "exec"
		assert refused(), "main"
	P
	expect 0 "$HQ" run --inject='madvise:advice=DONTNEED:error=EINVAL' -- python3 fork.py
}

test_static_program_is_served_by_notification() {
	[ -x "$BUILD/targets/static_madvise" ] || skip "no static program was built"
	expect 0 "$HQ" run --inject='madvise:error=EAGAIN' -- "$BUILD/targets/static_madvise"
	says out 'refused'
}

test_program_keeps_its_output_and_status() {
	expect 1 "$HQ" run -- sh -c 'echo to-stdout; echo to-stderr >&2; exit 7'
	says out '^to-stdout$'
	says err '^to-stderr$'
	says err 'exit status 7|status 7'
	expect 7 "$HQ" run --pass-status -- sh -c 'exit 7'
}

test_host_that_hangs_is_named() {
	[ -x "$BUILD/targets/lib_hang" ] || skip "no hanging allocator was built"
	scenario stuck <<-'Y'
		question: Does it go on?
		workload:
		  churn: { threads: 2, ops: 100k }
		run: { hang: 1s }
	Y
	expect 1 "$HQ" run --allocator="$BUILD/targets/lib_hang" stuck.yaml
	says out 'no progress|hung|hang'
	says out 'madvise'
	says out 'calls/s|calls a second|per second'
}

test_memory_limit_kill_is_the_kernels() {
	"$HQ" doctor >doctor.out
	grep -qiE 'cgroup.*ok|ok.*cgroup' doctor.out || skip "no memory cgroup: $(grep -i cgroup doctor.out | head -n 1)"
	scenario oom <<-'Y'
		question: Who killed it?
		workload:
		  idle-decay: { threads: 1, burst: 200MiB, rounds: 1 }
		inject:
		  - memory-limit: { limit: 32MiB, via: cgroup }
	Y
	expect 1 "$HQ" run --allocator=glibc oom.yaml
	says out 'out-of-memory killer'
}

test_ordinary_user_without_cgroup_rights() {
	[ "$(id -u)" = 0 ] || skip "already an ordinary user"
	command -v setpriv >/dev/null || skip "no setpriv"
	cp -r "$BUILD/heapquake" "$BUILD/heapquake-host" "$BUILD/libheapquake-preload.so" .
	scenario limit <<-'Y'
		question: What can be limited here?
		workload:
		  churn: { threads: 1, ops: 1k }
		inject:
		  - memory-limit: { limit: 64MiB, via: cgroup, optional: true }
	Y
	chmod -R a+rX . && chmod 777 .
	setpriv --reuid=65534 --regid=65534 --clear-groups ./heapquake run --allocator=glibc limit.yaml >out 2>err
	[ $? = 77 ] || fail "status: $(cat out err)"
	says out 'memory-limit'
}

# Programs that start others and want to hear nothing of their ends hand that on.
test_ignored_ends_of_children_are_seen_all_the_same() {
	local words
	for words in 'run -q --results none -- true' 'record -o trace -- true' \
		'compare -q --results none --pairs 2 --a glibc --b bedrock -- true'; do
		expect 0 timeout -k 5 60 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$HQ" $words
	done
}

test_full_disk_is_an_error_and_not_a_verdict() {
	[ "$(id -u)" = 0 ] || skip "needs root for a small file system"
	mkdir small && mount -t tmpfs -o size=16k none small 2>/dev/null || skip "cannot mount a tmpfs"
	scenario fine <<-'Y'
		question: Is there room?
		workload:
		  churn: { threads: 1, ops: 300k }
	Y
	"$HQ" run --allocator=glibc --results=small fine.yaml >out 2>err
	local status=$?
	umount -l small
	[ $status = 3 ] || fail "status $status: $(cat out err)"
	says out 'No space left|cannot write'
}

# The host's books lie beside the heap that they are about, under the same limit; this allocator has all that it will
# ever need before the limit counts.
test_blocks_that_could_not_be_watched_are_told() {
	scenario narrow <<-'Y'
		question: Is it said when there was no memory to watch every block?
		workload:
		  churn: { threads: 2, ops: 2k, live: 400, size: 16B..1MiB log }
		inject:
		  - address-space-limit: { limit: 1MiB, optional: true }
	Y
	expect 4 "$HQ" run -q --results=none --allocator="$BUILD/targets/lib_null_allocator" narrow.yaml
	says out 'had no memory to watch every block'
	says out '[1-9][0-9]* blocks not watched'
}
