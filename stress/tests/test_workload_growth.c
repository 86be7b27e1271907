/* SPDX-License-Identifier: MIT */
/* The workload growth: strings grow by pieces, vectors by doubling, and both keep what they hold.
 */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_growth, .init = start);

Test(workload_growth, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "growth", "threads=2 ops=2k live=20");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_growth, a_string_is_resized_for_each_piece)
{
	host_fixture_run(&fixture, &run, "growth",
			 "threads=1 ops=100 live=1 strings=100% piece=10B length=100B");
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 100);
	cr_expect_eq(host_fixture_sum(&fixture).frees, 10);
}

Test(workload_growth, a_vector_doubles_when_it_is_full)
{
	host_fixture_run(&fixture, &run, "growth",
			 "threads=1 ops=16 live=1 strings=0% fit=0% piece=10B length=160B");
	/* Room for 4 pieces, 8 and 16. */
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 3);
}

Test(workload_growth, a_vector_is_cut_to_what_it_holds)
{
	host_fixture_run(&fixture, &run, "growth",
			 "threads=1 ops=9 live=1 strings=0% fit=100% piece=10B length=90B");
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 4);
}

Test(workload_growth, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("growth", "threads=2 ops=2k live=20");
}

Test(workload_growth, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("growth", "threads=2 ops=500 live=10", 5);
}

Test(workload_growth, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("growth", "threads=2 ops=500 live=10", 1);
}

Test(workload_growth, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("growth", "threads=2 ops=1G");
}
