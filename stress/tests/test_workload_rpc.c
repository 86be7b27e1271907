/* SPDX-License-Identifier: MIT */
/* The workload rpc: every request has its reply, connections come and go, refusals are answered. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_rpc, .init = start);

Test(workload_rpc, every_request_has_its_reply_and_everything_is_freed)
{
	host_fixture_run(&fixture, &run, "rpc",
			 "clients=3 reactors=2 workers=2 requests=400 reconnect=50 sessions=100");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
	cr_expect_eq(host_fixture_ops(&fixture), 1200);
}

Test(workload_rpc, a_connection_for_each_request)
{
	host_fixture_run(&fixture, &run, "rpc",
			 "clients=2 workers=1 requests=300 reconnect=1 connections=1 sessions=10");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_ops(&fixture), 600);
}

Test(workload_rpc, requests_arrive_at_a_rate)
{
	host_fixture_run(&fixture, &run, "rpc",
			 "clients=1 workers=1 requests=100 arrivals=poisson rate=5k/s sessions=10");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_ops(&fixture), 100);
}

Test(workload_rpc, an_operation_that_begins_late_was_late_all_the_time)
{
	struct hq_heap heap;

	host_fixture_heap(&fixture, &heap, 0);
	hq_heap_op_begin_late(&heap, 50 * 1000 * 1000);
	hq_heap_op_end(&heap);
	cr_expect_geq(hq_hist_quantile(&fixture.wire->workers[0].hist[HQ_LATENCY_OP], 0.5),
		      49 * 1000 * 1000);
}

Test(workload_rpc, it_survives_refusals_at_random)
{
	host_fixture_expect_survives(
		"rpc", "clients=2 reactors=1 workers=2 requests=300 reconnect=20 sessions=50", 7);
}

Test(workload_rpc, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("rpc", "clients=1 workers=1 requests=20 sessions=5", 1);
}

Test(workload_rpc, it_stops_early_when_told_and_frees_what_it_has)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "rpc", "clients=2 requests=1G");
	host_fixture_expect_clean(&fixture);
}
