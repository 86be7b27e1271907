#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Faults through the whole binary: that each one the contract table allows is survived by every
# allocator, that every mechanism makes the same ones, and that what is reported is what happened.

# The faults of the contract table, one a line: a name, then the words of a rule.
# A row that names advices gives one rule for all of them and one for each that allocators use.
contract_faults() {
	local row='^  ([a-z]+) (fails with ([A-Z]+)|lies|is delayed|is cut short)( advice ([A-Z_,]+))?: .*'
	"$HQ" explain contract | sed -nE "s/$row/\1|\2|\5/p" | while IFS='|' read -r call deed advices; do
		local does=
		case $deed in
		'fails with '*) does="fail: ${deed#fails with }" ;;
		lies) does="lie: true" ;;
		'is delayed') does="delay: 2ms" ;;
		'is cut short') does="shrink: 50%" ;;
		esac
		[ -n "$advices" ] || echo "$call: call: $call, $does"
		[ -z "$advices" ] || echo "$call: call: $call, $does, advice: [${advices//MADV_/}]"
		for advice in DONTNEED FREE HUGEPAGE; do
			[[ ,$advices, == *,MADV_$advice,* ]] && echo "$call: call: $call, $does, advice: $advice"
		done
	done
}

# Purges early and often, where an allocator can be told to, so that there are calls to refuse.
write_fault() {
	local name=$1 rule=$2 workload=$3 decay="dirty_decay_ms:0,muzzy_decay_ms:0" limit=
	[[ $rule != *FREE* ]] || decay="dirty_decay_ms:0,muzzy_decay_ms:1000"
	[[ $rule != *HUGEPAGE* ]] || decay+=",thp:always"
	# bedrock asks what a purge left only under a limit of its own, and the others never do.
	[[ $rule != *mincore* ]] || limit=",memory_limit:1GiB"
	scenario "$name" <<-Y
		question: "Is one fault survived? (${rule:0:150})"
		target:
		  env:
		    MALLOC_CONF: "$decay"
		    BEDROCK_CONF: "${decay%,thp*}$limit"
		    GLIBC_TUNABLES: "glibc.malloc.hugetlb=1"
		    TCMALLOC_AGGRESSIVE_DECOMMIT: "1"
		    MIMALLOC_RESET_DELAY: "0"
		    MALLOC_TRIM_THRESHOLD_: "4096"
		    MALLOC_MMAP_THRESHOLD_: "65536"
		workload:
		  $workload
		inject:
		  - fault: { $rule, times: 1, optional: true }
		run: { settle: 0s }
	Y
}

# No row of the contract may be an impossible fault: what no allocator survives is suspect.
test_every_single_legal_fault_is_survived() {
	local count=0 call rule
	contract_faults >faults
	[ "$(wc -l <faults)" -ge 30 ] || fail "few faults: $(cat faults)"
	while IFS=: read -r call rule; do
		count=$((count + 1))
		# Hardly anything is given back without work.
		[ "$call" = madvise ] || write_fault "$call-$count-none" "$rule" "none: {}"
		write_fault "$call-$count-churn" "$rule" \
			"churn: { threads: 1, ops: 4k, live: 100, size: 16B..256KiB log, realloc: 30% }"
	done <faults
	"$HQ" run --quiet --jobs=4 --allocator=all --format=json:all.json ./*.yaml >out 2>err
	[ $? -le 1 ] || fail "status: $(tail -n 20 out err)"
	python3 - all.json <<-'P' || fail "an allocator did not survive"
		import json, sys
		# Leaving errno behind is a failing of the allocator and no sign of an impossible fault.
		# jemalloc 5.3.0 crashes where the first mmap for a thread's arena fails.
		known = {("jemalloc", "mmap", "survived")}
		results = json.load(open(sys.argv[1]))["results"]
		fired, bad = {}, 0
		for one in results:
		    call = one["scenario"].split("-")[0]
		    # One fault has a scenario with work, and most have one without; it is to be seen in one of them.
		    fault = one["question"]
		    fired[fault] = fired.get(fault, 0) + sum(rule["fired"] for rule in one["rules"])
		    if one["verdict"] in ("ERROR", "INCONCLUSIVE", "SKIP"):
		        print(one["scenario"], one["allocator"], one["verdict"], one["reason"], one["findings"])
		        bad += 1
		    for finding in one["findings"]:
		        if finding["checker"] == "errno" or (one["allocator"], call, finding["checker"]) in known:
		            continue
		        print(one["question"], one["allocator"], finding["checker"], finding["text"], one["repro"])
		        bad += 1
		for fault in (fault for fault, count in fired.items() if count == 0):
		    print("fired in no allocator:", fault)
		    bad += 1
		print(len(results), "cases;", len(fired), "faults")
		sys.exit(bad != 0)
	P
}

# The faults of a run, one a line: rule and n.
faults_of() {
	python3 -c 'import json, sys
for line in open(sys.argv[1]):
    row = json.loads(line)
    print(row["rule"], row["n"], row["call"])' "results/latest/$1/faults.jsonl"
}

# total FILE RULE COUNTER: a count of a rule in a JSON report; counts FILE RULE COUNTER N: it is that.
total() {
	python3 -c 'import json, sys
rules = json.load(open(sys.argv[1]))["results"][0]["rules"]
print(next(rule[sys.argv[3]] for rule in rules if rule["name"] == sys.argv[2]))' "$1" "$2" "$3"
}

counts() {
	local got
	got=$(total "$1" "$2" "$3")
	[ "$got" = "$4" ] || fail "rule $2: $3 is $got and not $4"
}

# Not munmap: whether one would split a mapping depends on what the kernel put beside it this time.
test_trap_and_notify_make_the_same_faults() {
	local mechanism
	scenario churned <<-'Y'
		question: Does the mechanism matter?
		target: { env: { MALLOC_TRIM_THRESHOLD_: "4096" } }
		workload:
		  churn: { threads: 1, ops: 2k, live: 50, size: 64KiB..512KiB log }
		inject:
		  - some: { call: [mmap, mremap], fail: ENOMEM, when: 3+4, optional: true }
		  - purge: { call: madvise, fail: EAGAIN, when: 2+3, optional: true }
	Y
	for mechanism in trap notify; do
		expect 0 "$HQ" run --allocator=glibc --mechanism=$mechanism churned.yaml
		faults_of churned/glibc/42 >faults.$mechanism
	done
	[ -s faults.trap ] || fail "no fault fired"
	cmp faults.trap faults.notify || fail "other faults"
}

# In a main thread, whose name every mechanism knows, the drawn ones are the same as well.
test_trap_and_notify_draw_the_same_faults() {
	local mechanism
	for mechanism in trap notify; do
		"$HQ" run --mechanism=$mechanism --inject='madvise:error=EAGAIN:probability=0.5:name=half' \
			-- "$BUILD/targets/calls" main >out 2>err
		faults_of command/own/42 >faults.$mechanism
		"$HQ" run --mechanism=$mechanism --inject='madvise:error=EAGAIN:probability=0.5:name=half' \
			-- "$BUILD/targets/calls" calls >out 2>err
		faults_of command/own/42 >>faults.$mechanism
	done
	[ "$(wc -l <faults.trap)" -gt 300 ] || fail "few faults fired"
	cmp faults.trap faults.notify || fail "other faults"
}

test_mechanisms_give_the_same_verdict() {
	local mechanism
	for mechanism in trap notify static; do
		expect 0 "$HQ" run --mechanism=$mechanism \
			--inject='madvise:advice=DONTNEED:error=EAGAIN:optional' -- "$BUILD/targets/many_ways" plain
		expect 1 "$HQ" run --mechanism=$mechanism \
			--inject='madvise:advice=DONTNEED:error=EAGAIN:optional' -- "$BUILD/targets/calls" main
		says err 'status 3'
	done
}

# Counted by somebody who knows nothing of us.
test_seen_calls_are_those_that_strace_counts() {
	command -v strace >/dev/null || skip "strace is not installed"
	local counted
	strace -f -c -e trace=madvise -o counts "$BUILD/targets/calls" threads || skip "strace cannot trace here"
	counted=$(awk '$NF == "madvise" { print $4 }' counts)
	[ "${counted:-0}" -ge 50 ] || fail "strace: $(cat counts)"
	for mechanism in trap notify; do
		expect 0 "$HQ" run --mechanism=$mechanism --format=text,json:run.json \
			--inject='madvise:error=EAGAIN:window=1h..:name=never:optional' -- "$BUILD/targets/calls" threads
		counts run.json never seen "$counted"
		counts run.json never fired 0
	done
}

test_times_are_kept_and_every_fault_is_written_in_order() {
	expect 0 "$HQ" run --format=text,json:run.json --inject='madvise:error=EAGAIN:when=11+2:times=40:name=some' \
		-- "$BUILD/targets/calls" calls
	counts run.json some seen 1000
	counts run.json some fired 40
	python3 - results/latest/command/own/42/faults.jsonl <<-'P' || fail "faults.jsonl"
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1])]
		assert [row["n"] for row in rows] == list(range(11, 91, 2)), rows
		times = [row["time_ns"] for row in rows]
		assert times == sorted(times), times
		assert 0 < times[0] and times[-1] < 60e9, times
		assert {row["result_name"] for row in rows} == {"EAGAIN"}, rows
	P
}

# One thread writes a fault down when the call is done, so that only its last may have ended too late.
test_window_limits_when_faults_are_made() {
	scenario windowed <<-'Y'
		question: Is the window kept?
		target: { env: { MALLOC_MMAP_THRESHOLD_: "65536" } }
		workload:
		  idle-decay: { threads: 1, burst: 4MiB, size: 128KiB..512KiB, for: 1200ms, hold: 2ms, pause: 2ms }
		inject:
		  - inside: { call: [mmap, munmap], delay: 10us, window: 300ms..600ms }
	Y
	expect 0 "$HQ" run --allocator=glibc --format=text,json:run.json windowed.yaml
	python3 - results/latest/windowed/glibc/42/faults.jsonl run.json <<-'P' || fail "the window was not kept"
		import json, sys
		faults = [json.loads(line) for line in open(sys.argv[1])]
		rule = json.load(open(sys.argv[2]))["results"][0]["rules"][0]
		print(rule, faults[:1], faults[-1:])
		assert len(faults) == rule["fired"] == rule["eligible"] >= 10
		assert faults[0]["time_ns"] >= 300e6 and all(f["time_ns"] < 600e6 for f in faults[:-1])
		# Calls before and behind it, and none left out within.
		assert faults[0]["n"] > 25 and faults[-1]["n"] < rule["seen"] - 25
		assert faults[-1]["n"] - faults[0]["n"] == len(faults) - 1
	P
}

test_delay_delays() {
	expect 1 "$HQ" run --inject='madvise:delay=50ms:name=slow' -- "$BUILD/targets/calls" slow
	local took
	took=$(sed -nE 's/.*exited with status ([0-9]+).*/\1/p' err | head -n 1)
	[ "${took:-0}" -ge 50 ] || fail "it took ${took:-no} ms"
}

test_shrink_leaves_the_tail() {
	expect 1 "$HQ" run --format=text,json:run.json --inject='madvise:advice=DONTNEED:shrink=50%:name=half' \
		-- "$BUILD/targets/calls" keep
	says err 'exited with status 4'
	counts run.json half fired 1
}

# Starts slowly enough for a supervisor to be there.
test_valgrind_is_served_by_notification() {
	command -v valgrind >/dev/null || skip "valgrind is not installed"
	"$HQ" run --format=text,json:run.json --inject='madvise:advice=DONTNEED:error=EAGAIN:optional' \
		-- valgrind -q "$BUILD/targets/calls" calls >out 2>err
	local status=$?
	grep -q '"mechanism": "notify"' run.json || fail "another mechanism: $(grep mechanism run.json)"
	# The program says 1 where all its calls were refused.
	[ "$(total run.json madvise-EAGAIN fired)" -ge 1000 ] || fail "$(cat run.json)"
	[ $status = 1 ] || fail "status $status: $(cat err)"
	says err 'exited with status 1'
}

# Compiles the slow asker with another C library.
musl() {
	command -v musl-gcc >/dev/null || skip "musl-gcc is not installed (musl-tools)"
	musl-gcc "$@" "$TOP/stress/tests/targets/static_madvise.c" || fail "musl-gcc"
}

test_dynamic_program_of_another_c_library() {
	musl -o asker
	expect 0 "$HQ" run --inject='madvise:error=EAGAIN' -- ./asker
	says out 'refused'
	expect 77 "$HQ" run --allocator=bedrock --inject='madvise:error=EAGAIN' -- ./asker
	says err 'bedrock is not in effect'
}

test_static_program_cannot_pass_for_an_allocator() {
	musl -static -o asker
	expect 0 "$HQ" run --inject='madvise:error=EAGAIN' -- ./asker
	says out 'refused'
	expect 77 "$HQ" run --allocator=bedrock -- ./asker
	says err 'bedrock is not in effect'
}

test_go_program_survives_refused_purges() {
	command -v go >/dev/null || skip "go is not installed"
	cat >main.go <<-'G'
		package main

		import (
			"runtime/debug"
			"time"
		)

		func main() {
			for i := 0; i < 40; i++ {
				_ = make([]byte, 8<<20)
				debug.FreeOSMemory()
				time.Sleep(25 * time.Millisecond)
			}
		}
	G
	GOCACHE=$PWD/cache GOFLAGS=-mod=mod CGO_ENABLED=0 go build -o main main.go || skip "go cannot build here"
	expect 0 "$HQ" run --inject='madvise:error=EINVAL:name=purge' --check 'inject.purge.fired >= 10' -- ./main
}

test_static_program_without_memory_ends_cleanly_and_is_reported() {
	[ -x "$BUILD/targets/static_hungry" ] || skip "no static program was built"
	expect 1 "$HQ" run --mechanism=notify --inject='mmap,brk:error=ENOMEM:name=none' \
		-- "$BUILD/targets/static_hungry"
	says err 'exited with status 3'
	says err "rule 'none'.* [1-9][0-9]* faults"
}

test_allocator_sees_its_options() {
	expect 0 "$HQ" doctor
	grep -qE '^ +ok +jemalloc' out || skip "jemalloc is not installed"
	scenario confirmed <<-'Y'
		question: Are its options seen?
		target: { env: { MALLOC_CONF: "confirm_conf:true,narenas:1" } }
		workload: none
	Y
	expect 0 "$HQ" run --allocator=jemalloc confirmed.yaml
	says results/latest/confirmed/jemalloc/42/stderr 'narenas:1'
	MALLOC_CONF=confirm_conf:true,narenas:1 expect 0 "$HQ" run --allocator=jemalloc -- true
	says err 'narenas:1'
}

# ---- programs that are hard to supervise ----

test_hard_ways_to_live_are_served() {
	local way mechanism
	for way in blocked children closed elsewhere session; do
		for mechanism in trap notify; do
			expect 0 "$HQ" run --mechanism=$mechanism --inject='madvise:advice=DONTNEED:error=EAGAIN' \
				-- "$BUILD/targets/many_ways" $way
		done
	done
}

test_more_threads_than_slots_are_told() {
	expect 1 "$HQ" run --inject='madvise:advice=DONTNEED:error=EAGAIN' -- "$BUILD/targets/many_ways" threads
	says err 'threads found no slot'
}

test_program_of_another_user_is_not_silent() {
	[ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
	command -v setpriv >/dev/null || skip "setpriv is not installed"
	cp "$BUILD/targets/many_ways" . && chmod 755 . many_ways
	local other=(setpriv --reuid=65534 --regid=65534 --clear-groups ./many_ways plain)
	expect 1 "$HQ" run --inject='madvise:advice=DONTNEED:error=EAGAIN' -- "${other[@]}"
	says err 'as another user'
	expect 0 "$HQ" run --mechanism=notify --inject='madvise:advice=DONTNEED:error=EAGAIN' -- "${other[@]}"
}
