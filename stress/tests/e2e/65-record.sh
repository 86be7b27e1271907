#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Traces of real programs: all calls are there, whatever becomes of the program, and it does not notice.

# record ARGUMENT...: of heapquake record; the trace is t.hqtrace, ./err says what is in it, ./shown too.
record() {
	expect "${STATUS:-0}" "$HQ" record -o t.hqtrace "$@"
	cp err told
	"$HQ" record --show t.hqtrace >shown 2>&1 || fail "it cannot be read: $(cat shown)"
}

# count WORDS: the number in front of them in what was shown; nothing, and a status, where they are not.
count() {
	sed -n "s/.*[^0-9]\([0-9][0-9]*\) $1.*/\1/p" shown | head -n 1 | grep .
}

# between LOW HIGH WORDS
between() {
	local got
	got=$(count "$3") || fail "no word of $3: $(cat shown)"
	[ "$got" -ge "$1" ] && [ "$got" -le "$2" ] || fail "$got $3, not $1 to $2: $(cat shown)"
}

nothing_lost() {
	! grep -q lost shown || fail "something was lost: $(cat shown)"
}

# Besides its own calls, a program makes some of the C library's.
test_record_threads_and_hand_overs() {
	record -- "$BUILD/targets/traced" hand-over
	between 80000 80200 call
	between 5 5 thread
	between 40000 40100 block
	nothing_lost
}

test_record_threads_that_come_and_go() {
	record -- "$BUILD/targets/traced" lives
	between 60000 70000 call
	between 3001 3001 thread
	nothing_lost
}

test_record_realloc() {
	record -- "$BUILD/targets/traced" resize
	between 5100 5200 call
	between 100 150 block
	says told 'left out: 3 that were refused memory'
}

test_record_first_process_alone_or_with_children() {
	record -- "$BUILD/targets/traced" fork
	between 2000 2100 call
	record --children -- "$BUILD/targets/traced" fork
	between 12000 12100 call
	says told '2 processes'
}

test_record_program_that_becomes_another() {
	record -- "$BUILD/targets/traced" exec
	between 6000 6200 call
	says told '2 processes'
}

test_record_program_that_is_killed() {
	local pid
	"$HQ" record -o t.hqtrace -- "$BUILD/targets/traced" forever >out 2>err &
	pid=$!
	wait_for 30 grep -q going out
	pkill -KILL -P $pid
	wait $pid
	[ $? = 137 ] || fail "not the status of a killed program"
	"$HQ" record --show t.hqtrace >shown || fail "it cannot be read"
	between 200000 9000000000 call
}

# Nobody empties the memory meanwhile: calls are lost, and each of them is counted.
test_record_loss_is_counted() {
	local pid child calls lost
	"$HQ" record -o t.hqtrace -- bash -c 'kill -STOP $PPID; exec "$0" 4000000' "$BUILD/targets/pairs" >out 2>err &
	pid=$!
	wait_for 60 grep -q . out
	child=$(pgrep -P $pid)
	wait_for 60 gone "$child"
	kill -CONT $pid
	wait $pid || fail "status $?: $(cat err)"
	"$HQ" record --show t.hqtrace >shown || fail "it cannot be read"
	calls=$(count call) || fail "no word of calls: $(cat shown)"
	lost=$(sed -n 's/^ *\([0-9]*\) lost.*/\1/p' shown)
	[ "${lost:-0}" -gt 100000 ] || fail "nothing was lost: $(cat shown)"
	[ $((calls + lost)) -ge 7999000 ] && [ $((calls + lost)) -le 8020000 ] || fail "$calls and $lost: $(cat shown)"
}

test_record_hands_signals_on() {
	local pid
	"$HQ" record -o t.hqtrace -- "$BUILD/targets/traced" forever >out 2>err &
	pid=$!
	wait_for 30 grep -q going out
	kill -TERM $pid
	wait $pid
	[ $? = 143 ] || fail "not the status of a terminated program"
	"$HQ" record --show t.hqtrace >shown || fail "it cannot be read"
}

test_record_keeps_output_and_status() {
	echo input | STATUS=7 record -- bash -c 'read -r line; echo "out $line"; echo "to err" >&2; exit 7'
	says out '^out input$'
	says err '^to err$'
	says told 'calls of 1 thread'
}

test_record_bound_is_kept() {
	record --max-size=64KiB -- "$BUILD/targets/pairs" 6000000
	[ "$(stat -c %s t.hqtrace)" -le 65536 ] || fail "the file is too large"
	says shown 'cut off at the bound'
}

test_record_allocators() {
	local allocator
	for allocator in bedrock jemalloc mimalloc tcmalloc glibc; do
		"$HQ" record -o t.hqtrace --allocator=$allocator -- true 2>err
		case $?:$allocator in
		0:*) ;;
		2:*malloc) says err 'not installed' && continue ;;
		*) fail "$allocator: $(cat err)" ;;
		esac
		record --allocator=$allocator -- "$BUILD/targets/traced" hand-over
		between 80000 80200 call
	done
}

test_record_sqlite() {
	command -v sqlite3 >/dev/null || skip "sqlite3 is not installed"
	record -- sqlite3 :memory: 'create table t(a); with recursive c(x) as (values(1) union all select x + 1 from c
		limit 20000) insert into t select x * 7919 % 20011 from c; create index i on t(a); select sum(a) from t;'
	says out '[0-9]'
	between 1000 1000000 call
}

test_record_python() {
	PYTHONMALLOC=malloc record -- python3 -c 'print(sum(len(str(i)) for i in range(20000)))'
	says out '^88890$'
	between 50000 1000000 call
}

test_record_nothing_says_why() {
	STATUS=1 record -- "$BUILD/targets/static_madvise"
	says told 'nothing was recorded: the program loads no library of ours'
	between 0 0 call
}

test_record_refuses() {
	expect 3 "$HQ" record -o t.hqtrace -- ./there-is-no-such
	says err 'cannot start ./there-is-no-such: No such file'
	[ ! -e t.hqtrace ] || fail "a trace of nothing"
	expect 3 "$HQ" record -o no/such/folder/t.hqtrace -- true
	says err 'cannot record into no/such/folder'
	expect 3 "$HQ" record -o /dev/null -- true
	says err '/dev/null is no file to write to'
	expect 2 "$HQ" record -- true
	says err '-o FILE is needed'
	expect 2 "$HQ" record -o t.hqtrace
	says err 'a program is needed'
	expect 2 "$HQ" record -o t.hqtrace --max-size=1KiB -- true
	says err 'must be from 64KiB'
	expect 2 "$HQ" record -o t.hqtrace --allocator=all -- true
	says err 'name one'
	expect 1 "$HQ" record --show "$BUILD/heapquake"
	says err 'it is no trace'
	rm -f out err
	[ -z "$(ls -A)" ] || fail "left behind: $(ls -A)"
}

test_record_truncated_is_told_with_its_place() {
	record -- "$BUILD/targets/traced" hand-over
	head -c 5000 t.hqtrace >cut.hqtrace
	expect 1 "$HQ" record --show cut.hqtrace
	says err 'cut.hqtrace: byte 128, operation 0: the file ends within this part'
}

test_record_imports() {
	printf '= Start\n@ ./a:[0x1] + 0x1000 0x64\n@ ./a:[0x2] - 0x1000\n= End\n' >m.txt
	expect 0 "$HQ" record --import=mtrace m.txt -o t.hqtrace
	"$HQ" record --show t.hqtrace >shown || fail "it cannot be read"
	between 2 2 call
	expect 1 "$HQ" record --import=heaptrack m.txt -o u.hqtrace
	says err 'm.txt: line 1 is none of heaptrack'
	[ ! -e u.hqtrace ] || fail "a trace of nothing"
	expect 2 "$HQ" record --import=mtrac m.txt -o u.hqtrace
	says err "did you mean 'mtrace'"
	expect 2 "$HQ" record --import=mtrace -o u.hqtrace
	says err 'needs the name of one file'
}

# What was recorded is what is replayed: as many calls, on every allocator.
test_record_and_replay() {
	local calls
	record -- "$BUILD/targets/traced" hand-over
	calls=$(count call) || fail "no word of calls: $(cat shown)"
	cat >replay.yaml <<-Y
		question: Is it what was recorded?
		workload:
		  trace: { file: ./t.hqtrace, threads: 5 }
		expect:
		  - ops.count >= $calls
		  - ops.missed == 0
	Y
	expect 0 "$HQ" run --results=none -q --allocator=bedrock,glibc,jemalloc replay.yaml
	head -c 3000 t.hqtrace >cut.hqtrace
	sed -i 's/t.hqtrace/cut.hqtrace/' replay.yaml
	expect 2 "$HQ" run --results=none -q replay.yaml
	says err 'replay.yaml:3:.*cut.hqtrace: byte 128'
}
