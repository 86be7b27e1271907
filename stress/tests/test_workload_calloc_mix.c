/* SPDX-License-Identifier: MIT */
/* The workload calloc-mix: zeroed blocks are zeroed, whatever lay there before. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

/* As one that believes its memory to be new. */
static void *lazy_calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

static void *half_calloc(size_t count, size_t size)
{
	unsigned char *const bytes = malloc(count * size);

	if (bytes != NULL) {
		memset(bytes, 0, count * size / 2);
		memset(bytes + count * size / 2, 1, count * size - count * size / 2);
	}
	return bytes;
}

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_calloc_mix, .init = start);

Test(workload_calloc_mix, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "calloc-mix", "threads=2 ops=1k live=50");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_calloc_mix, blocks_are_zeroed_as_often_as_it_says)
{
	fixture.allocator.calloc = NULL;
	host_fixture_run(&fixture, &run, "calloc-mix", "threads=1 ops=500 live=20 calloc=0%");
	fixture.allocator.calloc = calloc;
	fixture.allocator.malloc = NULL;
	host_fixture_run(&fixture, &run, "calloc-mix", "threads=1 ops=500 live=20 calloc=100%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 1000);
}

Test(workload_calloc_mix, a_block_that_is_not_zeroed_is_found)
{
	fixture.allocator.calloc = lazy_calloc;
	host_fixture_run(&fixture, &run, "calloc-mix", "threads=1 ops=500 live=20 size=64B..256B");
	cr_expect_gt(host_fixture_events(&fixture, 0, HQ_EVENT_NONZERO, NULL), 0);
}

Test(workload_calloc_mix, what_is_not_used_is_not_looked_at)
{
	fixture.allocator.calloc = half_calloc;
	host_fixture_run(&fixture, &run, "calloc-mix",
			 "threads=1 ops=500 live=20 size=256B calloc=100% touch=128B");
	host_fixture_expect_clean(&fixture);
}

Test(workload_calloc_mix, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("calloc-mix", "threads=2 ops=1k live=50");
}

Test(workload_calloc_mix, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("calloc-mix", "threads=2 ops=500 live=20", 5);
}

Test(workload_calloc_mix, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("calloc-mix", "threads=2 ops=500 live=20", 1);
}

Test(workload_calloc_mix, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("calloc-mix", "threads=2 ops=1G");
}
