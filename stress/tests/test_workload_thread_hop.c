/* SPDX-License-Identifier: MIT */
/* The workload thread-hop: each task makes its hops, and takes its blocks along. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_thread_hop, .init = start);

Test(workload_thread_hop, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "thread-hop",
			 "threads=3 tasks=5 hops=50 blocks=20 replace=5");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_thread_hop, each_hop_of_each_task_replaces_its_blocks)
{
	host_fixture_run(&fixture, &run, "thread-hop",
			 "threads=3 tasks=4 hops=30 blocks=20 replace=7");
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 4 * 30 * 7);
}

Test(workload_thread_hop, threads_do_the_same_share_of_the_work)
{
	host_fixture_run(&fixture, &run, "thread-hop",
			 "threads=4 tasks=4 hops=40 blocks=10 replace=1");
	for (int i = 0; i < 4; i++)
		cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[i].mallocs), 40);
}

Test(workload_thread_hop, a_thread_alone_hops_on_the_spot)
{
	host_fixture_run(&fixture, &run, "thread-hop",
			 "threads=1 tasks=3 hops=20 blocks=10 replace=2");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 120);
}

Test(workload_thread_hop, more_threads_than_tasks_wait_for_their_turn)
{
	host_fixture_run(&fixture, &run, "thread-hop",
			 "threads=6 tasks=1 hops=30 blocks=10 replace=2");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 60);
}

Test(workload_thread_hop, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("thread-hop",
				       "threads=3 tasks=5 hops=50 blocks=20 replace=5");
}

Test(workload_thread_hop, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("thread-hop", "threads=2 tasks=3 hops=20 blocks=10 replace=5",
				     5);
}

Test(workload_thread_hop, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("thread-hop", "threads=2 tasks=3 hops=20 blocks=10 replace=5",
				     1);
}

Test(workload_thread_hop, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("thread-hop", "threads=2 tasks=4 hops=1G");
}
