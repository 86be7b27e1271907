#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each verdict, its exit status and its place in the reports.

test_pass_is_zero() {
	scenario fine <<-'Y'
		question: Is all well?
		workload:
		  churn: { threads: 2, ops: 2k }
		expect:
		  - ops.missed == 0
	Y
	expect 0 "$HQ" run --allocator=glibc fine.yaml
	says out '^1 scenario: 1 pass \(seed 42, '
	[ -e results/latest/fine/glibc/42/verdict.json ] || fail "no verdict.json"
	[ -s results/latest/fine/glibc/42/plan.yaml ] || fail "no plan.yaml"
}

test_a_row_that_a_storage_engine_loses_is_one() {
	scenario lost <<-'Y'
		question: Is one row of each memtable missed?
		workload:
		  insert-scan: { threads: 1, rows: 4k, budget: 256KiB, lookups: 0%, lose: 1, passes: 1 }
	Y
	expect 1 "$HQ" run --allocator=glibc lost.yaml
	says out "content: the workload's own data are wrong"
	expect 0 "$HQ" run --allocator=glibc --set workload.lose=0 lost.yaml
}

test_broken_expectation_is_one() {
	scenario greedy <<-'Y'
		question: Can it do without memory?
		workload:
		  churn: { threads: 1, ops: 2k }
		expect:
		  - rss.peak <= 4KiB
	Y
	expect 1 "$HQ" run --allocator=glibc greedy.yaml
	says out 'rss\.peak'
	says out 'heapquake run .*--allocator=glibc .*greedy.yaml'
}

test_silent_rule_is_inconclusive() {
	scenario silent <<-'Y'
		question: Does a rule that never fires prove anything?
		workload:
		  churn: { threads: 1, ops: 1k, size: 16B..64B log }
		inject:
		  - never: { call: mremap, fail: ENOMEM, length: 1GiB.. }
	Y
	expect 4 "$HQ" run --allocator=glibc silent.yaml
	says out '1 inconclusive'
	says out 'never'
}

test_optional_rule_may_be_silent() {
	scenario silent <<-'Y'
		question: May it be silent?
		workload:
		  churn: { threads: 1, ops: 1k, size: 16B..64B log }
		inject:
		  - never: { call: mremap, fail: ENOMEM, length: 1GiB.., optional: true }
	Y
	expect 0 "$HQ" run --allocator=glibc silent.yaml
}

test_missing_program_is_skipped() {
	scenario absent <<-'Y'
		question: Is it installed?
		target: { command: [no-such-program-here] }
	Y
	expect 77 "$HQ" run absent.yaml
	says out 'no-such-program-here'
	expect 1 "$HQ" run --require absent.yaml
}

test_known_failure_is_expected() {
	scenario known <<-'Y'
		question: Is it known?
		workload:
		  churn: { threads: 1, ops: 2k }
		expect:
		  - rss.peak <= 4KiB
		known:
		  glibc: { verdict: fail, because: "it needs memory" }
	Y
	expect 0 "$HQ" run --allocator=glibc known.yaml
	says out '1 xfail|1 expected'
}

test_known_failure_that_is_gone_is_one() {
	scenario known <<-'Y'
		question: Is it still known?
		workload:
		  churn: { threads: 1, ops: 2k }
		known:
		  glibc: { verdict: fail, because: "it used to" }
	Y
	expect 1 "$HQ" run --allocator=glibc known.yaml
	says out 'XPASS|xpass'
}

test_missing_preload_library_is_three() {
	cp "$HQ" ./heapquake
	scenario fine <<-'Y'
		question: Is all there?
		workload: none
	Y
	expect 3 ./heapquake run --allocator=glibc fine.yaml
	says out 'libheapquake-preload.so'
}

test_nothing_matched_is_five() {
	scenario fine <<-'Y'
		question: Is all well?
		workload: none
	Y
	expect 5 "$HQ" run -k nothing-of-that-name fine.yaml
}

test_malformed_scenario_is_two_before_anything_runs() {
	scenario bad <<-'Y'
		question: Is it read?
		workload:
		  churn: { trheads: 2 }
	Y
	expect 2 "$HQ" run --allocator=glibc bad.yaml
	says err "bad.yaml:3:[0-9]+: .*'trheads'.*did you mean 'threads'"
	[ ! -e results ] || fail "a results folder was made"
}

test_missing_allocator_is_two() {
	scenario fine <<-'Y'
		question: Is all well?
		workload: none
	Y
	expect 2 "$HQ" run --allocator=/no/such/lib.so fine.yaml
	expect 2 "$HQ" run --allocator=jemaloc fine.yaml
	says err "did you mean 'jemalloc'"
}

test_unwritable_results_are_two() {
	scenario fine <<-'Y'
		question: Is all well?
		workload: none
	Y
	expect 2 "$HQ" run --results=/proc/nowhere --allocator=glibc fine.yaml
	says err '/proc/nowhere'
}

test_planted_bugs_are_found() {
	local bug
	scenario planted <<-'Y'
		question: Is the heap whole?
		workload:
		  churn: { threads: 2, ops: 20k, calloc: 30%, realloc: 20%, aligned: 10% }
	Y
	for bug in overlap stomp misaligned dirty prefix errno null; do
		BROKEN=$bug "$HQ" run --allocator="$BUILD/targets/lib_broken_allocator" planted.yaml >out 2>err
		[ $? = 1 ] || fail "the planted bug '$bug' was not found: $(tail -n 5 out)"
	done
}

test_reports_are_well_formed() {
	scenario fine <<-'Y'
		question: Is all <well> & "good"?
		workload: none
	Y
	expect 0 "$HQ" run --allocator=glibc --format=text,json:a.json,junit:a.xml,tap:a.tap fine.yaml
	python3 -c 'import json; d = json.load(open("a.json")); assert d["schema_version"] == 1, d' || fail "JSON"
	python3 -c 'import xml.dom.minidom as m; assert m.parse("a.xml").getElementsByTagName("testcase")' ||
		fail "JUnit"
	says a.tap '^1\.\.1$'
	says a.tap '^ok 1 '
}

test_repro_line_reproduces() {
	scenario greedy <<-'Y'
		question: Can it do without memory?
		workload:
		  churn: { threads: 1, ops: 2k }
		expect:
		  - rss.peak <= 4KiB
	Y
	expect 1 "$HQ" run --allocator=glibc --seed=7 --inject='madvise:error=ENOMEM:probability=0.3:optional' greedy.yaml
	expect 1 bash -c "$(cat results/latest/greedy/glibc/7/repro)"
	says out 'seed 7'
	expect 1 "$HQ" run results/latest/greedy/glibc/7/plan.yaml
}

test_replay_says_the_same() {
	scenario greedy <<-'Y'
		question: Can it do without memory?
		workload:
		  churn: { threads: 1, ops: 2k }
		expect:
		  - rss.peak <= 4KiB
	Y
	expect 1 "$HQ" run --allocator=glibc greedy.yaml
	expect 1 "$HQ" replay results/latest/greedy/glibc/42
	says err 'same verdict, FAIL'
}

# Not munmap: whether one would split a mapping depends on what the kernel put beside it this time.
test_equal_seeds_make_equal_faults() {
	local seed
	scenario faulty <<-'Y'
		question: Is the schedule the seed's?
		workload:
		  churn: { threads: 1, ops: 3k, live: 50, size: 64KiB..512KiB log }
		inject:
		  - enomem: { call: [mmap, mremap], fail: ENOMEM, probability: 30%, optional: true }
		  - purge: { call: madvise, fail: EAGAIN, probability: 30%, optional: true }
	Y
	local turn=0
	for seed in 1 1 2; do
		turn=$((turn + 1))
		"$HQ" run --allocator=glibc --seed=$seed faulty.yaml >out 2>err
		[ $? -le 1 ] || fail "status: $(cat err out)"
		python3 - results/latest/faulty/glibc/$seed/faults.jsonl >faults.$seed.$turn <<-'P'
			import json, sys
			rows = [json.loads(line) for line in open(sys.argv[1])]
			# By thread, and only as far as both runs surely came: timing may end a stream earlier.
			seen = {}
			for row in rows:
			    seen.setdefault(row["thread"], []).append((row["rule"], row["n"]))
			for thread in sorted(seen):
			    print(thread, seen[thread][:20])
		P
	done
	[ -s faults.1.1 ] || fail "no fault fired"
	cmp faults.1.1 faults.1.2 || fail "the same seed made other faults"
	! cmp -s faults.1.1 faults.2.3 || fail "another seed made the same faults"
}

# The selftest takes its scenarios and its table from here.
test_selftest_refuses_a_table_that_names_no_scenario() {
	mkdir scenarios
	cp -r "$TOP/scenarios/selftest" scenarios/
	expect 0 "$HQ" selftest -k zero-null
	says err '^\[1/1\] '
	expect 0 "$HQ" selftest -k zero-null --quiet
	[ ! -s err ] || fail "not quiet: $(cat err)"
	expect 5 "$HQ" selftest -k no-such-bug
	sed -i 's/^zero-null: \[selftest-edges,/zero-null: [selftest-egdes,/' scenarios/selftest/bugs.table
	expect 2 "$HQ" selftest -k zero-null
	says err 'selftest-egdes: no such scenario; did you mean'
}
