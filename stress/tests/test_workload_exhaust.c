/* SPDX-License-Identifier: MIT */
/* The workload exhaust: it takes until there is a NULL, and tells how far it came. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_exhaust, .init = start);

static uint64_t most(void)
{
	return hq_load_relaxed(&fixture.wire->workers[0].had_most_bytes);
}

static uint64_t last(void)
{
	return hq_load_relaxed(&fixture.wire->workers[0].had_last_bytes);
}

Test(workload_exhaust, without_a_limit_every_round_ends_at_the_most)
{
	host_fixture_run(&fixture, &run, "exhaust", "rounds=2 most=4MiB pause=0");
	host_fixture_expect_clean(&fixture);
	cr_assert_geq(most(), 4u << 20);
	cr_assert_eq(most(), last());
}

Test(workload_exhaust, requests_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("exhaust", "rounds=2 most=1MiB pause=0");
}

static uint64_t held, held_most;

static void *limited_malloc(size_t size)
{
	void *address = held + size <= held_most ? malloc(size) : NULL;

	errno = ENOMEM;
	if (address != NULL)
		held += malloc_usable_size(address);
	return address;
}

static void limited_free(void *address)
{
	held -= malloc_usable_size(address);
	free(address);
}

/* Gives back half of it only. */
static void leaking_free(void *address)
{
	held -= malloc_usable_size(address) / 2;
	free(address);
}

Test(workload_exhaust, under_a_limit_every_round_comes_as_far)
{
	held_most = 2u << 20;
	fixture.allocator.malloc = limited_malloc;
	fixture.allocator.free = limited_free;
	host_fixture_run(&fixture, &run, "exhaust", "rounds=3 most=64MiB pause=0");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(most(), last());
	cr_assert_eq(host_fixture_sum(&fixture).nulls, 3);
}

Test(workload_exhaust, a_leak_shows_as_less_in_the_last_round)
{
	held_most = 2u << 20;
	fixture.allocator.malloc = limited_malloc;
	fixture.allocator.free = leaking_free;
	host_fixture_run(&fixture, &run, "exhaust", "rounds=3 most=64MiB pause=0");
	cr_assert_lt(last(), most() / 2);
}

Test(workload_exhaust, it_survives_when_everything_is_refused)
{
	host_fixture_refuse(&fixture, 1);
	host_fixture_run(&fixture, &run, "exhaust", "rounds=3 most=1MiB pause=0");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(most(), 0);
}

Test(workload_exhaust, it_stops_early_when_told)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "exhaust", "rounds=1M most=64MiB");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 0);
}
