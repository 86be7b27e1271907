/* SPDX-License-Identifier: MIT */
/* Arrivals: operations are due at their rate, whatever happened before; who waited has waited. */
#include "stress/tests/host_fixture.h"
#include "stress/workload/arrivals.h"

#define MS 1000000ull

static struct host_fixture fixture;
static struct hq_heap heap;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
	host_fixture_heap(&fixture, &heap, 0);
}

TestSuite(arrivals, .init = start);

static struct hq_arrivals arrive(const struct hq_arrivals_options *options, uint32_t thread)
{
	struct hq_arrivals arrivals;

	hq_arrivals_start(&arrivals, options, 42, thread);
	return arrivals;
}

/* When the last of `count` operations is due after the first. */
static uint64_t span_ns(struct hq_arrivals *arrivals, uint32_t count)
{
	const uint64_t first_ns = hq_arrivals_await(arrivals, &heap);
	uint64_t last_ns = first_ns;

	for (uint32_t i = 1; i < count; i++)
		last_ns = hq_arrivals_await(arrivals, &heap);
	return last_ns - first_ns;
}

Test(arrivals, at_a_constant_rate_the_gaps_are_all_the_same)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_CONSTANT, .rate = 5000 };
	struct hq_arrivals arrivals = arrive(&options, 0);

	cr_expect_eq(span_ns(&arrivals, 101), 100 * 200000ull);
}

Test(arrivals, poisson_arrivals_keep_the_rate_on_average_and_no_two_gaps_are_alike)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_POISSON, .rate = 1e6 };
	struct hq_arrivals arrivals = arrive(&options, 0);
	const uint64_t span = span_ns(&arrivals, 20001);
	const uint64_t one = span_ns(&arrivals, 2), other = span_ns(&arrivals, 2);

	cr_expect_geq(span, 19 * MS);
	cr_expect_leq(span, 21 * MS);
	cr_expect_neq(one, other);
}

Test(arrivals, threads_do_not_arrive_together)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_POISSON, .rate = 1e5 };
	struct hq_arrivals one = arrive(&options, 0), other = arrive(&options, 1);

	cr_expect_neq(span_ns(&one, 3), span_ns(&other, 3));
}

Test(arrivals, nothing_begins_before_it_is_due)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_CONSTANT, .rate = 1000 };
	struct hq_arrivals arrivals = arrive(&options, 0);

	for (int i = 0; i < 20; i++)
		cr_expect_leq(hq_arrivals_await(&arrivals, &heap), hq_host_now_ns());
}

Test(arrivals, in_a_closed_loop_an_operation_is_due_at_once)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_CLOSED };
	struct hq_arrivals arrivals = arrive(&options, 0);
	const uint64_t before_ns = hq_host_now_ns();

	cr_expect_geq(hq_arrivals_await(&arrivals, &heap), before_ns);
	hq_arrivals_begin(&arrivals, &heap);
	hq_heap_op_end(&heap);
	cr_expect_eq(host_fixture_sum(&fixture).ops, 1);
}

Test(arrivals, who_comes_late_does_not_put_off_those_behind)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_CONSTANT, .rate = 1000 };
	struct hq_arrivals arrivals = arrive(&options, 0);
	const uint64_t first_ns = hq_arrivals_await(&arrivals, &heap);

	hq_host_sleep_ns(30 * MS);
	for (uint64_t i = 1; i <= 20; i++)
		cr_expect_eq(hq_arrivals_await(&arrivals, &heap), first_ns + i * MS);
}

Test(arrivals, a_rate_of_nothing_is_refused_and_needed_only_in_an_open_loop)
{
	struct hq_error error;

	cr_expect_neq(hq_arrivals_validate(
			      &(struct hq_arrivals_options){ .kind = HQ_ARRIVALS_POISSON }, &error),
		      0);
	cr_expect_eq(hq_arrivals_validate(
			     &(struct hq_arrivals_options){ .kind = HQ_ARRIVALS_CLOSED }, &error),
		     0);
}

Test(arrivals, an_end_of_the_run_ends_the_wait)
{
	const struct hq_arrivals_options options = { .kind = HQ_ARRIVALS_CONSTANT, .rate = 1e-6 };
	struct hq_arrivals arrivals = arrive(&options, 0);

	hq_store_relaxed(&fixture.wire->finish, 1);
	cr_expect_gt(hq_arrivals_await(&arrivals, &heap), hq_host_now_ns());
}

/* ---- a stall that was planted ---- */

#define STALL_AT 100u
#define STALL_MS 120u

static _Atomic uint32_t stalled_calls;

/* One call of all takes long. */
static void *stalling_malloc(size_t size)
{
	if (hq_fetch_add_relaxed(&stalled_calls, 1) == STALL_AT)
		hq_host_sleep_ns(STALL_MS * MS);
	return malloc(size);
}

/* Operations of all threads that took half of the stall or more. */
static uint64_t waited(const char *workload, const char *options)
{
	uint64_t count = 0;

	hq_store_relaxed(&stalled_calls, 0);
	fixture.allocator.malloc = stalling_malloc;
	host_fixture_run(&fixture, &run, workload, options);
	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++) {
		const struct hq_hist *const hist = &fixture.wire->workers[i].hist[HQ_LATENCY_OP];

		for (uint32_t k = hq_hist_index(STALL_MS / 2 * MS); k < HQ_HIST_BUCKETS; k++)
			count += hq_load_relaxed(&hist->buckets[k]);
	}
	return count;
}

struct stall_row {
	const char *workload, *options;
	uint64_t rate; /* of the thread that the stall hits */
};

/* clang-format off */
static const struct stall_row stalls[] = {
	{ "churn", "threads=1 ops=400 live=10 realloc=0% calloc=0% aligned=0% "
		   "arrivals=constant rate=1k/s", 1000 },
	{ "rpc", "clients=1 workers=1 requests=400 sessions=10 reconnect=1k "
		 "arrivals=constant rate=1k/s", 1000 },
	{ "larson", "threads=1 lives=4 requests=100 live=10 arrivals=constant rate=1k/s", 1000 },
	{ "limited-server", "threads=1 rounds=1 requests=400 rows=1 checks=0 "
			    "arrivals=constant rate=1k/s", 1000 },
	{ "producer-consumer", "items=400 arrivals=constant rate=1k/s", 1000 },
	{ "query-mix", "threads=1 rows=1k rounds=60 group=math arrivals=constant rate=500/s", 500 },
};
/* clang-format on */

Test(arrivals, a_stall_is_seen_by_all_who_had_to_wait_for_its_end)
{
	for (size_t i = 0; i < sizeof(stalls) / sizeof(stalls[0]); i++) {
		const uint64_t due = stalls[i].rate * STALL_MS / 1000;

		start();
		/* Half of those that were due meanwhile waited for half of it or longer. */
		cr_expect_geq(waited(stalls[i].workload, stalls[i].options), due / 2 - due / 20,
			      "%s", stalls[i].workload);
	}
}

Test(arrivals, in_a_closed_loop_a_stall_is_seen_by_one)
{
	const uint64_t seen =
		waited("churn", "threads=1 ops=400 live=10 realloc=0% calloc=0% aligned=0%");

	cr_expect_geq(seen, 1);
	cr_expect_leq(seen, 5);
}
