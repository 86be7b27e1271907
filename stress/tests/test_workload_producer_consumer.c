/* SPDX-License-Identifier: MIT */
/* The workload producer-consumer: what some threads make, others free, in order and within the
 * queue. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_producer_consumer, .init = start);

Test(workload_producer_consumer, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "producer-consumer", "producers=2 consumers=2 items=1k");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_producer_consumer, producers_free_nothing_and_consumers_ask_for_nothing)
{
	host_fixture_run(&fixture, &run, "producer-consumer", "producers=2 consumers=1 items=500");
	const struct hq_wire_worker *const workers = fixture.wire->workers;

	for (int i = 0; i < 2; i++) {
		cr_expect_eq(hq_load_relaxed(&workers[i].mallocs), 500);
		cr_expect_eq(hq_load_relaxed(&workers[i].frees), 0);
	}
	cr_expect_eq(hq_load_relaxed(&workers[2].mallocs), 0);
	cr_expect_eq(hq_load_relaxed(&workers[2].frees), 1000);
	cr_expect_eq(host_fixture_ops(&fixture), 1000);
}

Test(workload_producer_consumer, a_queue_of_one_is_enough)
{
	host_fixture_run(&fixture, &run, "producer-consumer",
			 "producers=1 consumers=3 items=200 queue=1");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_ops(&fixture), 200);
}

static _Atomic int64_t live, most_live;

static void *counting_malloc(size_t size)
{
	const int64_t now = hq_fetch_add_relaxed(&live, 1) + 1;

	/* One producer alone writes it. */
	if (now > hq_load_relaxed(&most_live))
		hq_store_relaxed(&most_live, now);
	return malloc(size);
}

static void counting_free(void *address)
{
	hq_fetch_add_relaxed(&live, -1);
	free(address);
}

Test(workload_producer_consumer, no_more_is_live_than_lies_in_the_queue_and_in_two_hands)
{
	fixture.allocator.malloc = counting_malloc;
	fixture.allocator.free = counting_free;
	host_fixture_run(&fixture, &run, "producer-consumer",
			 "producers=1 consumers=1 items=2k queue=3");
	host_fixture_expect_clean(&fixture);
	cr_expect_leq(hq_load_relaxed(&most_live), 3 + 2);
	cr_expect_geq(hq_load_relaxed(&most_live), 1);
}

Test(workload_producer_consumer, items_arrive_at_a_rate)
{
	host_fixture_run(&fixture, &run, "producer-consumer",
			 "producers=1 consumers=1 items=100 arrivals=constant rate=10k/s");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_ops(&fixture), 100);
}

Test(workload_producer_consumer, arrivals_without_a_rate_are_refused)
{
	host_fixture_expect_refuses("producer-consumer", "arrivals=poisson rate=0/s");
}

Test(workload_producer_consumer, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("producer-consumer", "producers=2 consumers=2 items=1k");
}

Test(workload_producer_consumer, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("producer-consumer", "producers=1 consumers=2 items=300", 5);
}

Test(workload_producer_consumer, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("producer-consumer", "producers=1 consumers=2 items=300", 1);
}

Test(workload_producer_consumer, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("producer-consumer", "producers=2 items=1G");
}
