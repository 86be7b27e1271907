/* SPDX-License-Identifier: MIT */
/* The workload huge-blocks: few large blocks come and go, and little of them is touched. */
#include "stress/tests/host_fixture.h"

#include <sys/resource.h>

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_huge_blocks, .init = start);

Test(workload_huge_blocks, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "huge-blocks", "threads=2 ops=50 live=4");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_huge_blocks, blocks_are_replaced_or_resized)
{
	host_fixture_run(&fixture, &run, "huge-blocks", "threads=1 ops=40 live=2 realloc=0%");
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 40);
	host_fixture_run(&fixture, &run, "huge-blocks", "threads=1 ops=40 live=2 realloc=100%");
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 40);
	host_fixture_expect_clean(&fixture);
}

Test(workload_huge_blocks, only_the_beginning_is_written)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	host_fixture_run(&fixture, &run, "huge-blocks",
			 "threads=1 ops=8 live=8 size=32MiB touch=4KiB realloc=0%");
	getrusage(RUSAGE_SELF, &after);
	/* 65,536 pages were asked for. */
	cr_expect_lt(after.ru_minflt - before.ru_minflt, 20000);
}

Test(workload_huge_blocks, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("huge-blocks", "threads=2 ops=50 live=4");
}

Test(workload_huge_blocks, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("huge-blocks", "threads=2 ops=50 live=4", 5);
}

Test(workload_huge_blocks, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("huge-blocks", "threads=2 ops=50 live=4", 1);
}

Test(workload_huge_blocks, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("huge-blocks", "threads=2 ops=1G");
}
