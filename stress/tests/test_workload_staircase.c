/* SPDX-License-Identifier: MIT */
/* The workload staircase: each step has one size, and of each row so many survive. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_staircase, .init = start);

Test(workload_staircase, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "staircase", "threads=2 steps=5 bytes=64KiB");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_staircase, each_step_frees_all_but_a_few_of_each_row)
{
	host_fixture_run(&fixture, &run, "staircase",
			 "threads=1 steps=3 first=16B factor=4 bytes=16KiB keep=1 row=4");
	/* 1024 blocks, 256 and 64; one operation for each of them, and for each that is not kept.
	 */
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 1344);
	cr_expect_eq(host_fixture_ops(&fixture), 1344 + 1344 / 4 * 3);
}

Test(workload_staircase, nothing_is_freed_where_all_of_a_row_are_kept)
{
	host_fixture_run(&fixture, &run, "staircase",
			 "threads=1 steps=2 first=64B bytes=16KiB keep=4 row=4");
	cr_expect_eq(host_fixture_ops(&fixture), 256 + 128);
}

Test(workload_staircase, steps_that_lead_too_far_are_refused)
{
	host_fixture_expect_refuses("staircase", "steps=32 factor=1000");
	host_fixture_expect_refuses("staircase", "keep=9 row=8");
	host_fixture_expect_refuses("staircase", "bytes=1GiB first=16B");
}

Test(workload_staircase, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("staircase", "threads=2 steps=5 bytes=64KiB");
}

Test(workload_staircase, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("staircase", "threads=2 steps=4 bytes=8KiB", 5);
}

Test(workload_staircase, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("staircase", "threads=2 steps=4 bytes=8KiB", 1);
}

Test(workload_staircase, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("staircase", "threads=2 bytes=1GiB first=1KiB");
}
