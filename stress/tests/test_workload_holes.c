/* SPDX-License-Identifier: MIT */
/* The workload holes: it measures each step, frees everything, lives with refusals. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_holes, .init = start);

Test(workload_holes, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "holes", "threads=2 steps=3");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_holes, each_step_has_its_number_of_holes_and_a_cost)
{
	host_fixture_run(&fixture, &run, "holes", "threads=1 first=10 factor=3 steps=4 batches=2");
	const struct hq_wire_cost *const costs = fixture.wire->workers[0].costs;
	const uint64_t holes[] = { 10, 30, 90, 270, 0 };

	for (size_t i = 0; i < 5; i++) {
		cr_assert_eq(hq_load_relaxed(&costs[i].scale), holes[i]);
		cr_assert_eq(hq_load_relaxed(&costs[i].cpu_ns) > 0, holes[i] > 0);
	}
}

Test(workload_holes, calls_are_the_blocks_of_the_ladder_and_more_batches_beside_fewer_holes)
{
	host_fixture_run(&fixture, &run, "holes", "threads=1 first=10 factor=3 steps=2 batches=2");

	/* 10 and 30 holes, 30 that stay; two batches of 64, three times as often at the first step.
	 */
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 10 + 30 + 30 + (3 + 1) * 2 * 64);
	cr_assert_eq(host_fixture_sum(&fixture).frees, 10 + 30 + 30 + (3 + 1) * 2 * 64);
}

Test(workload_holes, batches_beside_few_holes_are_bounded_where_there_will_be_many)
{
	host_fixture_run(&fixture, &run, "holes", "threads=1 first=1 factor=100 steps=2 batches=1");
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 1 + 100 + 100 + (64 + 1) * 64);
}

Test(workload_holes, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("holes", "threads=3 steps=3 batches=4");
}

Test(workload_holes, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("holes", "threads=2 steps=3", 5);
}

Test(workload_holes, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("holes", "threads=2 steps=3", 1);
}

Test(workload_holes, it_stops_early_when_told_and_has_measured_nothing)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "holes", "threads=1");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(hq_load_relaxed(&fixture.wire->workers[0].costs[0].scale), 0);
}

Test(workload_holes, ladder_that_leads_too_high_is_refused)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const holes = hq_workload_find("holes");
	struct hq_error error;

	hq_options_default(holes->options, options, &error);
	cr_assert_eq(holes->validate(options, &error), 0);
	hq_options_parse(holes->options, options, "first=100k factor=100 steps=8", &error);
	cr_assert_neq(holes->validate(options, &error), 0);
}
