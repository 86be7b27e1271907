/* SPDX-License-Identifier: MIT */
/* The workload fork: children that end well, and children of allocators with bugs of fork. */
#include <signal.h>
#include <unistd.h>

#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;
static pid_t parent;
static volatile unsigned char *to_spoil;

static void start(void)
{
	host_fixture_start(&fixture);
	parent = getpid();
}

TestSuite(workload_fork, .init = start, .timeout = 60);

/* A lock that another thread holds at the fork stays locked in the child. */
static void skip_where_forks_are_not_safe(void)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the sanitizer's own allocator does not look after its locks at a fork");
#endif
}

Test(workload_fork, children_use_the_heap_and_nothing_is_left)
{
	skip_where_forks_are_not_safe();
	host_fixture_run(&fixture, &run, "fork",
			 "threads=2 children=5 live=20 size=16B..64KiB_log");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(fixture.wire->workers[0].children, 5);
	cr_assert_gt(fixture.wire->workers[1].ops, 0);
}

Test(workload_fork, it_lives_when_allocations_are_refused)
{
	skip_where_forks_are_not_safe();
	host_fixture_refuse(&fixture, 3);
	host_fixture_run(&fixture, &run, "fork", "threads=1 children=3 live=20");
	host_fixture_expect_clean(&fixture);
	cr_assert_gt(host_fixture_sum(&fixture).missed, 0);
}

static void *hang_in_child(size_t size)
{
	while (getpid() != parent)
		pause();
	return malloc(size);
}

static void *die_in_child(size_t size)
{
	if (getpid() != parent) {
		/* A sanitizer would make an exit of it. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	return malloc(size);
}

static struct hq_event trouble_of_one_child(void *(*bad_malloc)(size_t size))
{
	struct hq_event event = { .expected = HQ_FORK_FINE };
	struct hq_fork child = { .allocations = 4, .patience_ns = 200000000 };
	struct hq_heap heap;

	fixture.allocator.malloc = bad_malloc;
	host_fixture_heap(&fixture, &heap, 0);
	cr_assert_not(hq_heap_fork(&heap, &child));
	cr_assert_eq(host_fixture_events(&fixture, 0, HQ_EVENT_FORK, &event), 1);
	return event;
}

Test(workload_fork, a_child_that_hangs_is_told_and_killed)
{
	const struct hq_event event = trouble_of_one_child(hang_in_child);

	cr_assert_eq(event.expected, HQ_FORK_HUNG);
	cr_assert_eq(event.got, 1, "it had looked at its parent's blocks");
}

Test(workload_fork, a_child_that_dies_is_told_with_its_signal)
{
	const struct hq_event event = trouble_of_one_child(die_in_child);

	cr_assert_eq(event.expected, HQ_FORK_DIED);
	cr_assert_eq(event.got & 0x7f, SIGSEGV);
}

static void spoil(void)
{
	*to_spoil ^= 1;
}

Test(workload_fork, a_block_that_changed_in_the_child_is_told_with_its_place)
{
	struct hq_event event = { .expected = HQ_FORK_FINE };
	struct hq_block block;
	struct hq_heap heap;

	host_fixture_heap(&fixture, &heap, 0);
	cr_assert(hq_block_alloc(&heap, &block, 100));
	to_spoil = (unsigned char *)block.address + 70;
	cr_assert_eq(pthread_atfork(NULL, NULL, spoil), 0);
	cr_assert_not(hq_heap_fork(&heap, &(struct hq_fork){ .blocks = &block,
							     .block_count = 1,
							     .allocations = 1,
							     .patience_ns = 10000000000 }));
	host_fixture_events(&fixture, 0, HQ_EVENT_FORK, &event);
	cr_assert_eq(event.expected, HQ_FORK_PARENTS_DATA);
	cr_assert_eq(event.offset, 70);
	hq_block_free(&heap, &block);
	cr_assert_eq(host_fixture_events(&fixture, 0, HQ_EVENT_CONTENT, NULL), 0,
		     "the parent's own is whole");
}
