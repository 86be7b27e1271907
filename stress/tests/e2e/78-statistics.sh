#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What allocators say of themselves, as metrics of a run.

test_what_an_allocator_gave_back_is_told_where_it_says_it() {
	cat >bursts.yaml <<-'Y'
		question: What does it say of itself?
		target: { env: { MALLOC_CONF: "dirty_decay_ms:0", BEDROCK_CONF: "dirty_decay_ms:0,muzzy_decay_ms:0" } }
		workload:
		  idle-decay: { threads: 2, burst: 8MiB, size: 64KiB..256KiB, rounds: 4, hold: 0, pause: 0 }
		expect:
		  - stats.purges >= 20
		  - stats.purged >= 8MiB
		  - stats.retained >= 0
		  - stats.metadata >= 0
		  - stats.lock_waits >= 0
		  - stats.lock_wait_time >= 0
		run: { statistics: 5ms }
	Y
	"$HQ" run --results=none --allocator=jemalloc bursts.yaml >out 2>err
	case $? in
	0) ;;
	77) skip "no jemalloc" ;;
	*) fail "$(cat out err)" ;;
	esac
	"$HQ" run --results=none --allocator=glibc bursts.yaml >out 2>err
	[ $? = 4 ] || fail "what glibc does not say was judged: $(cat out err)"
	grep -q 'stats.purges was not observed: this allocator does not say it' out || fail "$(cat out)"
	sed -i '/lock_/d' bursts.yaml
	"$HQ" run --results=none --allocator=bedrock bursts.yaml >out 2>err || fail "$(cat out err)"
}
