/* SPDX-License-Identifier: MIT */
/* The workload churn: its options do what they say, its requests repeat, it lives with refusals. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_churn, .init = start);

Test(workload_churn, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "churn", "threads=4 ops=20k live=300 cross=50%");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_churn, blocks_are_freed_by_the_thread_after)
{
	host_fixture_run(&fixture, &run, "churn",
			 "threads=2 ops=5k live=100 cross=100% realloc=0%");
	const struct hq_wire_worker *const workers = fixture.wire->workers;

	/* What a thread got and did not free, the other one did: its live bytes alone are off. */
	cr_assert_neq(hq_load_relaxed(&workers[0].requested_bytes), 0);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_churn, a_single_thread_keeps_its_blocks)
{
	host_fixture_run(&fixture, &run, "churn", "threads=1 ops=5k live=100 cross=100%");
	host_fixture_expect_clean(&fixture);
}

Test(workload_churn, shares_of_nothing_make_only_plain_calls)
{
	host_fixture_run(&fixture, &run, "churn",
			 "threads=1 ops=2k live=10 calloc=0% realloc=0% aligned=0%");
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	cr_assert_eq(sums.reallocs, 0);
	cr_assert_eq(sums.mallocs, 2000);
}

Test(workload_churn, resizing_alone_makes_no_other_call)
{
	host_fixture_run(&fixture, &run, "churn", "threads=1 ops=2k live=10 realloc=100%");
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	cr_assert_eq(sums.reallocs, 2000);
	cr_assert_eq(sums.mallocs, 0);
	cr_assert_eq(sums.frees, 10);
}

Test(workload_churn, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("churn", "threads=4 ops=10k live=100 cross=30%");
}

Test(workload_churn, another_seed_makes_other_requests)
{
	static struct host_fixture_run other;

	host_fixture_record(&fixture);
	host_fixture_run(&fixture, &run, "churn", "threads=2 ops=1k");
	fixture.wire->config.seed = 43;
	host_fixture_run(&fixture, &other, "churn", "threads=2 ops=1k");
	cr_assert_neq(run.hashes[0], other.hashes[0]);
	cr_assert_neq(run.hashes[0], run.hashes[1]);
}

Test(workload_churn, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("churn", "threads=3 ops=10k live=100 cross=30%", 5);
}

Test(workload_churn, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("churn", "threads=2 ops=1k live=10", 1);
}

Test(workload_churn, it_stops_early_when_told_and_frees_what_it_has)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "churn", "threads=2 ops=1G");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 0);
}

Test(workload_churn, shares_above_the_whole_are_refused)
{
	host_fixture_expect_refuses("churn", "calloc=60% aligned=50%");
	host_fixture_expect_refuses("churn", "arrivals=poisson rate=0/s");
}

Test(workload_churn, what_is_asked_for_does_not_depend_on_when)
{
	static struct host_fixture_run open;

	host_fixture_record(&fixture);
	host_fixture_run(&fixture, &run, "churn", "threads=1 ops=500");
	host_fixture_run(&fixture, &open, "churn", "threads=1 ops=500 arrivals=poisson rate=50k/s");
	cr_assert_eq(run.hashes[0], open.hashes[0]);
}
