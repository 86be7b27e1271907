/* SPDX-License-Identifier: MIT */
/* The workload idle-decay: rounds as many as asked for, the last one held, pulses while idle. */
#include "stress/tests/host_fixture.h"

#define QUICK "hold=0 pause=0 "

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_idle_decay, .init = start);

Test(workload_idle_decay, a_round_fills_the_burst_and_release_empties_it)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=1 burst=1MiB rounds=1 size=1KiB");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 1024);
}

Test(workload_idle_decay, every_round_is_made)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=2 burst=1MiB rounds=5 size=1KiB");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 5 * 1024);
}

Test(workload_idle_decay, a_block_larger_than_the_burst_is_made_once)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=1 burst=4KiB rounds=1 size=1MiB");
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 1);
	host_fixture_expect_clean(&fixture);
}

Test(workload_idle_decay, rounds_go_on_for_as_long_as_asked)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 "threads=1 burst=64KiB rounds=1 for=100ms hold=1ms pause=1ms");
	/* Time counts from the gate on, which the fixture opened some while ago. */
	cr_assert_geq(hq_host_since_gate_ns(), 100000000);
	host_fixture_expect_clean(&fixture);
}

Test(workload_idle_decay, a_wait_shows_as_progress)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 "threads=1 burst=4KiB rounds=1 size=4KiB hold=450ms");
	/* One allocation, one free, and a sign of life for each begun fifth of a second. */
	cr_assert_eq(host_fixture_sum(&fixture).ops, 2 + 3);
}

Test(workload_idle_decay, requests_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("idle-decay", QUICK "threads=3 burst=2MiB rounds=3");
}

Test(workload_idle_decay, it_survives_refusals_and_ends)
{
	host_fixture_expect_survives("idle-decay", QUICK "threads=2 burst=1MiB rounds=3", 7);
	host_fixture_expect_survives("idle-decay", QUICK "threads=2 burst=1MiB rounds=3", 1);
}

Test(workload_idle_decay, silence_means_no_idle_calls)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const workload = hq_workload_find("idle-decay");
	struct hq_error error;

	hq_options_default(workload->options, options, &error);
	cr_assert_eq(workload->idle_period_ns(options), 0);
	hq_options_set(workload->options, options, "pulse", "500/s", &error);
	cr_assert_eq(workload->idle_period_ns(options), 2000000);
}

Test(workload_idle_decay, fast_pulses_come_several_at_a_time)
{
	struct hq_heap heap;

	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=1 burst=4KiB rounds=1 size=4KiB pulse=10k/s");
	host_fixture_heap(&fixture, &heap, 0);
	cr_assert_eq(run.workload->idle_period_ns(run.options), 1000000);
	run.workload->idle(&run.work, &heap);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 1 + 10);
	host_fixture_expect_clean(&fixture);
}

Test(workload_idle_decay, more_blocks_than_can_be_kept_are_refused)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const workload = hq_workload_find("idle-decay");
	struct hq_error error;

	hq_options_default(workload->options, options, &error);
	hq_options_parse(workload->options, options, "burst=16GiB size=16B", &error);
	cr_assert_neq(workload->validate(options, &error), 0);
}

Test(workload_idle_decay, in_turns_one_thread_at_a_time_has_the_whole_burst)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=3 burst=64KiB rounds=2 size=4KiB turns=yes");
	/* Six turns of sixteen blocks. */
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 6 * 16);
	cr_expect_eq(host_fixture_sum(&fixture).frees, 6 * 16);
	host_fixture_expect_clean(&fixture);
}

Test(workload_idle_decay, in_turns_the_same_seed_makes_the_same_calls)
{
	host_fixture_expect_repeatable("idle-decay",
				       QUICK "threads=3 burst=256KiB rounds=2 turns=yes");
}

Test(workload_idle_decay, a_burst_that_is_handed_on_is_freed_by_the_thread_of_the_next_turn)
{
	host_fixture_run(&fixture, &run, "idle-decay",
			 QUICK "threads=3 burst=64KiB rounds=1 size=4KiB turns=yes hand-on=yes");
	/* The first has nothing to free, and the last one's own stay until release. */
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[0].frees), 0);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[1].frees), 16);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[2].frees), 16 + 16);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[0].mallocs), 16);
	host_fixture_expect_clean(&fixture);
}

Test(workload_idle_decay, handed_on_the_same_seed_makes_the_same_calls)
{
	host_fixture_expect_repeatable("idle-decay", QUICK
				       "threads=3 burst=256KiB rounds=2 turns=yes hand-on=yes");
}

Test(workload_idle_decay, refusals_of_a_burst_that_is_handed_on_are_survived)
{
	host_fixture_expect_survives(
		"idle-decay", QUICK "threads=2 burst=1MiB rounds=3 turns=yes hand-on=yes", 7);
}

Test(workload_idle_decay, nothing_is_handed_on_without_turns_or_to_nobody)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const workload = hq_workload_find("idle-decay");
	struct hq_error error;

	hq_options_default(workload->options, options, &error);
	hq_options_parse(workload->options, options, "hand-on=yes", &error);
	cr_expect_neq(workload->validate(options, &error), 0);
	hq_options_parse(workload->options, options, "turns=yes", &error);
	cr_expect_eq(workload->validate(options, &error), 0);
	hq_options_parse(workload->options, options, "threads=1", &error);
	cr_expect_neq(workload->validate(options, &error), 0);
}

Test(workload_idle_decay, turns_and_a_time_to_fill_are_refused_together)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const workload = hq_workload_find("idle-decay");
	struct hq_error error;

	hq_options_default(workload->options, options, &error);
	hq_options_parse(workload->options, options, "turns=yes for=1s", &error);
	cr_assert_neq(workload->validate(options, &error), 0);
}
