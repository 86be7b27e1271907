#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server with a limit of its own makes each mistake that its workload knows, and the checker that is meant to see it
# does. Without one they are silent: the scenarios themselves are run with the rest of the catalogue.

# sees SCENARIO MISTAKE CHECKER
sees() {
	expect 1 "$HQ" run --allocator=glibc --set "workload.mistake=$2" "$1"
	says out "^ *$3: "
}

test_server_a_batch_charged_afterwards_passes_the_limit() {
	sees server-credit late limit-held
}

test_server_a_total_that_lasts_too_long_is_old() {
	sees server-cached lasting limit-fresh
}

test_server_totals_taken_at_once_follow_each_other_in_the_wrong_order() {
	sees server-cached unlocked limit-fresh
}

test_server_rows_that_are_forgotten_count_for_ever() {
	local tracker

	for tracker in striped cached credit; do
		sees "server-$tracker" forgetful limit-reopens
	done
}

test_server_a_timid_server_refuses_before_it_has_to() {
	local tracker

	for tracker in striped cached credit; do
		sees "server-$tracker" timid limit-graded
	done
}

test_server_an_unfair_server_starves_threads() {
	sees server-cached unfair limit-fair
}

test_server_a_limit_that_is_never_near_proves_nothing() {
	expect 4 "$HQ" run --allocator=glibc --set workload.hard=1GiB --set workload.soft=1GiB server-striped
	says out 'limit-held.*nothing was refused'
}

test_server_mistakes_need_the_tracker_that_makes_them() {
	expect 2 "$HQ" run --allocator=glibc --set workload.mistake=late server-striped
	says err 'mistake late needs tracker credit'
}
