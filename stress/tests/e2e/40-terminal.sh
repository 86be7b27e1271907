#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a person sees on a terminal and a log does not, and what is left behind and shared by several
# heapquakes on one machine.

esc=$'\033'

# on_terminal COLUMNS COMMAND: a shell command on a terminal of its own, read from stdin; its output
# goes to ./screen, and the command's exit status is told there as "status N". The shell on the terminal is
# bash whatever SHELL says: others die of the interrupt that is meant for the command.
on_terminal() {
	command -v script >/dev/null || skip "script is not installed (util-linux)"
	SHELL=$BASH timeout 60 script -qec "stty cols $1; $2; echo status \$?" /dev/null >screen
}

has_screen() {
	grep -q -- "$1" screen 2>/dev/null
}

short() {
	scenario a-name-that-is-so-long-that-it-needs-many-columns <<-'Y'
		question: Is it drawn?
		workload:
		  churn: { threads: 1, ops: 50M }
		run: { timeout: 800ms }
	Y
}

test_live_table_on_a_terminal() {
	short
	TERM=xterm on_terminal 120 "$HQ run --allocator=glibc *.yaml" </dev/null
	has_screen "${esc}\[1A${esc}\[2K" || fail "nothing was drawn anew: $(cat -v screen | tail)"
	has_screen 'working .*MiB .*faults' || fail "no live line: $(cat -v screen | tail)"
	has_screen "${esc}\[31mFAIL" || fail "no color: $(cat -v screen | tail)"
	has_screen '^status 1' || fail "status: $(cat -v screen | tail)"
}

test_live_table_fits_a_narrow_terminal() {
	short
	local columns
	for columns in 40 80; do
		TERM=xterm on_terminal $columns "$HQ run --allocator=glibc *.yaml" </dev/null
		sed "s/$esc\[[0-9;]*[A-Za-z]//g; s/\r//g" screen | grep -E '^  a-name' >live
		[ -s live ] || fail "no live line: $(cat -v screen | tail)"
		[ "$(wc -L <live)" -lt $columns ] || fail "wraps in $columns: $(sort -u live)"
	done
}

test_interrupt_from_the_terminal_reports() {
	local name=busy-$$.yaml pid
	busy
	mv busy.yaml "$name"
	{
		wait_for 20 has_screen 'working'
		pid=$(pgrep -o -f "$name")
		host_of "$pid" >host
		descendants "$pid" >below
		printf '\003'
		wait_for 20 has_screen '^status'
	} | TERM=xterm on_terminal 120 "$HQ run --allocator=glibc $name"
	has_screen '1 inconclusive (interrupted' || fail "no report: $(cat -v screen | tail)"
	has_screen '^status 130' || fail "status: $(cat -v screen | tail)"
	[ -s host ] || fail "nothing was there to be left"
	for pid in $(cat below); do wait_for 5 gone "$pid"; done
}

test_no_color_and_dumb_terminals() {
	short
	NO_COLOR=1 TERM=xterm on_terminal 120 "$HQ run --allocator=glibc *.yaml" </dev/null
	! has_screen "${esc}\[3[0-9]m" || fail "color in spite of NO_COLOR: $(cat -v screen | tail)"
	TERM=dumb on_terminal 120 "$HQ run --allocator=glibc *.yaml" </dev/null
	! has_screen "$esc" || fail "escapes on a dumb terminal: $(cat -v screen | tail)"
	has_screen 'FAIL' || fail "no report: $(cat -v screen | tail)"
	TERM=xterm on_terminal 120 "$HQ run --color=never --allocator=glibc *.yaml" </dev/null
	! has_screen "${esc}\[3[0-9]m" || fail "color in spite of --color=never: $(cat -v screen | tail)"
	TERM=xterm on_terminal 120 "$HQ run --quiet --color=never --allocator=glibc *.yaml" </dev/null
	! has_screen "$esc" || fail "escapes in spite of --quiet: $(cat -v screen | tail)"
	! has_screen 'working .*MiB' || fail "progress in spite of --quiet"
}

test_no_escapes_in_a_pipe() {
	short
	TERM=xterm expect 1 "$HQ" run --allocator=glibc ./*.yaml
	! grep -q "$esc" out err || fail "escapes: $(cat -v out err)"
	says err '^\[1/1\] FAIL'
	expect 1 "$HQ" run --quiet --allocator=glibc ./*.yaml
	[ ! -s err ] || fail "not quiet: $(cat err)"
}

# ---- what a killed one leaves behind ----

# The cgroup that the host of the controller PID is in.
cgroup_of_host() {
	local pid
	for pid in $(host_of "$1"); do
		grep -m 1 -o 'heapquake-[0-9]*-[0-9]*' "/proc/$pid/cgroup" && return
	done
	return 1
}

cgroups_named() {
	find /sys/fs/cgroup -maxdepth 6 -type d -name "$1" 2>/dev/null
}

# Once the killed one's case has been waited for, too.
group_is_swept_by_a_run() {
	expect 0 "$HQ" run --allocator=glibc tiny.yaml
	[ -z "$(cgroups_named "$1")" ]
}

test_cgroup_of_a_killed_controller_goes_at_the_next_start() {
	local controller group pids
	"$HQ" doctor >out
	grep -qE 'ok +memory limit \(cgroup\)' out || skip "no memory cgroup can be made here"
	scenario limited <<-'Y'
		question: Who removes the group?
		workload:
		  churn: { threads: 1, ops: 50M }
		inject:
		  - memory-limit: { limit: 128MiB, via: cgroup, optional: true }
		run: { timeout: 60s }
	Y
	scenario tiny <<-'Y'
		question: Is it swept?
		workload: none
	Y
	"$HQ" run --allocator=glibc limited.yaml >out 2>err &
	controller=$!
	wait_for 10 cgroup_of_host $controller >/dev/null
	group=$(cgroup_of_host $controller)
	pids=$(descendants $controller)
	[ -n "$(cgroups_named "$group")" ] || skip "cgroups are not mounted where this test looks"
	kill -9 $controller
	wait $controller 2>/dev/null
	for pid in $pids; do wait_for 5 gone "$pid"; done
	wait_for 5 group_is_swept_by_a_run "$group"
}

test_temporary_folder_of_a_dead_run_is_swept() {
	local controller dead
	mkdir temporary
	busy
	TMPDIR=$PWD/temporary "$HQ" run --results=none --allocator=glibc busy.yaml >out 2>err &
	controller=$!
	wait_for 10 has_host $controller
	dead=$(ls temporary)
	[[ $dead == heapquake.* ]] || fail "no temporary folder: $dead"
	kill -9 $controller
	wait $controller 2>/dev/null
	mkdir "temporary/heapquake.$$.living" temporary/somebody-elses
	scenario tiny <<-'Y'
		question: Is it swept?
		workload: none
	Y
	wait_for 5 swept_by_a_run "$dead"
	[ "$(ls temporary | wc -l)" = 2 ] || fail "left, or too much was removed: $(ls temporary)"
}

# Once the killed one's case is gone, too.
swept_by_a_run() {
	TMPDIR=$PWD/temporary expect 0 "$HQ" run --results=none --allocator=glibc tiny.yaml
	[ ! -e "temporary/$1" ]
}

test_two_suites_share_a_results_folder() {
	local one two
	scenario fine <<-'Y'
		question: Is there room for two?
		workload:
		  churn: { threads: 1, ops: 20k }
	Y
	"$HQ" run --allocator=glibc --repeat=4 --format=json:one.json fine.yaml >out 2>err &
	one=$!
	"$HQ" run --allocator=glibc --repeat=4 --format=json:two.json fine.yaml >out2 2>err2 &
	two=$!
	wait $one || fail "the first: $(cat out err)"
	wait $two || fail "the second: $(cat out2 err2)"
	[ "$(find results -mindepth 1 -maxdepth 1 -type d | wc -l)" = 2 ] || fail "folders: $(ls results)"
	[ "$(find results/*/fine/glibc -name verdict.json -path 'results/2*' | wc -l)" = 8 ] || fail "verdicts are missing"
	[ -e results/latest/fine/glibc/42/verdict.json ] || fail "results/latest leads nowhere"
	[ -z "$(find results -name '.*' -not -name . | head)" ] || fail "left over: $(find results -name '.*')"
}
