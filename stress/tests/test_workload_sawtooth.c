/* SPDX-License-Identifier: MIT */
/* The workload sawtooth: it rises to its peak and falls as far as it says. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_sawtooth, .init = start);

Test(workload_sawtooth, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "sawtooth", "threads=2 teeth=3 peak=256KiB");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_sawtooth, it_ends_on_a_peak_and_each_tooth_is_as_high_as_the_first)
{
	host_fixture_run(&fixture, &run, "sawtooth",
			 "threads=1 teeth=4 peak=64KiB keep=25% size=1KiB");
	/* The first rise, and three quarters anew for each tooth. */
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 64 + 4 * 48);
}

Test(workload_sawtooth, without_survivors_every_tooth_begins_with_nothing)
{
	host_fixture_run(&fixture, &run, "sawtooth",
			 "threads=1 teeth=4 peak=64KiB keep=0% size=1KiB");
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 5 * 64);
}

Test(workload_sawtooth, more_blocks_than_it_can_hold_are_refused)
{
	host_fixture_expect_refuses("sawtooth", "peak=1GiB size=16B");
}

Test(workload_sawtooth, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("sawtooth", "threads=2 teeth=3 peak=256KiB");
}

Test(workload_sawtooth, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("sawtooth", "threads=2 teeth=2 peak=32KiB", 5);
}

Test(workload_sawtooth, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("sawtooth", "threads=2 teeth=2 peak=32KiB", 1);
}

Test(workload_sawtooth, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("sawtooth", "threads=2 teeth=1k");
}
