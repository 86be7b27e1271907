/* SPDX-License-Identifier: MIT */
/* The workload aligned: every block lies where it was asked to lie, whatever its size. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

/* Refuses what is not a multiple of its alignment. */
static int only_whole(void **address, size_t alignment, size_t size)
{
	return size % alignment ? ENOMEM : posix_memalign(address, alignment, size);
}

static int careless(void **address, size_t alignment, size_t size)
{
	(void)alignment;
	*address = malloc(size);
	return *address == NULL ? ENOMEM : 0;
}

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_aligned, .init = start);

Test(workload_aligned, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "aligned", "threads=2 ops=1k live=50");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_aligned, sizes_are_whole_multiples_as_often_as_it_says)
{
	host_fixture_record(&fixture);
	fixture.allocator.posix_memalign = only_whole;
	host_fixture_run(&fixture, &run, "aligned",
			 "threads=1 ops=500 live=20 whole=100% realloc=0%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_aligned, resizing_alone_asks_for_no_alignment)
{
	host_fixture_run(&fixture, &run, "aligned", "threads=1 ops=500 live=20 realloc=100%");
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 500);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 0);
}

Test(workload_aligned, a_block_that_lies_wrong_is_found)
{
	fixture.allocator.posix_memalign = careless;
	fixture.allocator.aligned_alloc = NULL;
	host_fixture_run(&fixture, &run, "aligned",
			 "threads=1 ops=200 live=20 alignment=8KiB size=64B..128B");
	cr_expect_gt(host_fixture_events(&fixture, 0, HQ_EVENT_ALIGNMENT, NULL), 0);
}

Test(workload_aligned, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("aligned", "threads=2 ops=1k live=50");
}

Test(workload_aligned, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("aligned", "threads=2 ops=500 live=20", 5);
}

Test(workload_aligned, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("aligned", "threads=2 ops=500 live=20", 1);
}

Test(workload_aligned, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("aligned", "threads=2 ops=1G");
}
