/* SPDX-License-Identifier: MIT */
/* The workload thread-lives: as many lives as asked for, and nothing left of them. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

static uint64_t lives(uint32_t worker)
{
	return hq_load_relaxed(&fixture.wire->workers[worker].lives);
}

TestSuite(workload_thread_lives, .init = start, .timeout = 60);

Test(workload_thread_lives, every_life_is_lived_and_makes_its_blocks)
{
	host_fixture_run(&fixture, &run, "thread-lives", "threads=2 lives=5 blocks=10");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(lives(0), 5);
	cr_expect_eq(lives(1), 5);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 2 * 5 * 10);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_thread_lives, all_blocks_may_be_left_to_the_next_or_none)
{
	host_fixture_run(&fixture, &run, "thread-lives", "threads=1 lives=3 blocks=10 leave=100%");
	host_fixture_expect_clean(&fixture);
	host_fixture_run(&fixture, &run, "thread-lives", "threads=1 lives=3 blocks=10 leave=0%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 2 * 3 * 10);
}

Test(workload_thread_lives, lives_go_on_for_as_long_as_asked)
{
	host_fixture_run(&fixture, &run, "thread-lives", "threads=1 lives=1 blocks=1 for=500ms");
	cr_expect_geq(hq_host_since_gate_ns(), 500000000);
	cr_expect_gt(lives(0), 1);
	host_fixture_expect_clean(&fixture);
}

Test(workload_thread_lives, refused_blocks_are_survived)
{
	host_fixture_expect_survives("thread-lives", "threads=2 lives=20 blocks=20", 7);
}

static _Thread_local int stamp;

/* Of its own thread: thread-local data are fresh, and the stack is another one. */
static void look_around(void *argument)
{
	*(int *)argument = stamp++;
}

static void look_at_slot(void *argument)
{
	struct hq_heap *const heap = argument;

	cr_expect_null(heap->retry.slot);
	heap->retry.slot = &fixture.wire->plane.threads[5];
}

Test(workload_thread_lives, slot_of_a_thread_is_left_to_nobody_else)
{
	struct hq_heap heap;

	host_fixture_heap(&fixture, &heap, 0);
	heap.retry.slot = &fixture.wire->plane.threads[4];
	heap.retry.slots_seen = 6;
	cr_assert(hq_heap_live(&heap, look_at_slot, &heap));
	cr_expect_null(heap.retry.slot);
	cr_expect_eq(heap.retry.slots_seen, 0);
}

Test(workload_thread_lives, life_has_a_thread_of_its_own)
{
	struct hq_heap heap;
	int seen = -1;

	host_fixture_heap(&fixture, &heap, 3);
	stamp = 7;
	cr_assert(hq_heap_live(&heap, look_around, &seen));
	cr_expect_eq(seen, 0);
	cr_expect_eq(stamp, 7);
	cr_expect_eq(lives(3), 1);
}
