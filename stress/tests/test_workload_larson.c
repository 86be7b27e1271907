/* SPDX-License-Identifier: MIT */
/* The workload larson: requests are answered by threads that inherit from each other. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_larson, .init = start);

Test(workload_larson, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "larson", "threads=2 lives=5 requests=500 live=200");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_larson, a_life_answers_its_requests_with_the_blocks_that_it_inherits)
{
	host_fixture_run(&fixture, &run, "larson", "threads=2 lives=5 requests=300 live=100");
	cr_expect_eq(host_fixture_ops(&fixture), 2 * 5 * 300);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 2 * 5 * 300);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[1].lives), 5);
}

Test(workload_larson, requests_arrive_at_a_rate)
{
	host_fixture_run(&fixture, &run, "larson",
			 "threads=2 lives=2 requests=100 live=50 arrivals=poisson rate=10k/s");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_ops(&fixture), 400);
}

Test(workload_larson, arrivals_without_a_rate_are_refused)
{
	host_fixture_expect_refuses("larson", "arrivals=constant rate=0/s");
}

/* Lives have no hash of their own; what one asks for, another frees. */
static uint64_t freed_bytes(uint64_t seed)
{
	start();
	fixture.wire->config.seed = seed;
	host_fixture_run(&fixture, &run, "larson", "threads=1 lives=5 requests=500 live=200");
	return hq_load_relaxed(&fixture.wire->workers[0].freed_bytes);
}

Test(workload_larson, requests_depend_on_the_seed_alone)
{
	const uint64_t bytes = freed_bytes(42);

	cr_expect_eq(freed_bytes(42), bytes);
	cr_expect_neq(freed_bytes(43), bytes);
}

Test(workload_larson, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("larson", "threads=2 lives=3 requests=200 live=50", 5);
}

Test(workload_larson, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("larson", "threads=2 lives=3 requests=200 live=50", 1);
}

Test(workload_larson, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("larson", "threads=2 lives=1k");
}
