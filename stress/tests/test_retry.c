/* SPDX-License-Identifier: MIT */
/* Repetitions of a refused call are counted from what the plane wrote of the thread. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stress/host/retry.h"

static struct hq_plane *plane;
static struct hq_retry retry;
static struct hq_retry_seen seen;
static uint32_t mine = 1; /* slot of the thread whose faults are made */

static void start(void)
{
	plane = mmap(NULL, sizeof(*plane), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	cr_assert_neq(plane, MAP_FAILED);
	plane->rule_count = 1;
	hq_store_relaxed(&plane->claimed, 3);
	hq_store_relaxed(&plane->threads[1].tid, (uint32_t)syscall(SYS_gettid));
	hq_retry_init(&retry, plane);
}

TestSuite(retry, .init = start);

/* As the decider would write it. */
static void fault(uint64_t address, uint64_t length, int64_t result)
{
	struct hq_plane_thread *const slot = &plane->threads[mine];
	const int64_t at = hq_ring_reserve(&slot->ring, HQ_PLANE_FAULTS);

	if (at < 0)
		return;
	slot->faults[at] = (struct hq_fault){ .args = { address, length },
					      .result = result,
					      .call = HQ_CALL_MADVISE };
	hq_ring_publish(&slot->ring);
}

static void refuse(uint64_t times, uint64_t address)
{
	for (uint64_t i = 0; i < times; i++)
		fault(address, 4096, -EAGAIN);
}

Test(retry, repetitions_of_one_call_are_counted)
{
	hq_retry_begin(&retry);
	refuse(100, 0x1000);
	cr_assert(hq_retry_end(&retry, 5, &seen));
	cr_assert_eq(seen.repeats, 100);
	cr_assert_eq(seen.call, HQ_CALL_MADVISE);
}

Test(retry, what_came_before_the_call_does_not_count)
{
	refuse(100, 0x1000);
	hq_retry_begin(&retry);
	refuse(9, 0x1000);
	cr_assert(hq_retry_end(&retry, 5, &seen));
	cr_assert_eq(seen.repeats, 9);
}

Test(retry, many_ranges_that_are_each_refused_once_are_no_retry)
{
	hq_retry_begin(&retry);
	for (uint64_t i = 0; i < 300; i++)
		refuse(1, i << 12);
	cr_assert(!hq_retry_end(&retry, 5, &seen));
}

Test(retry, two_calls_in_turn_are_seen_through)
{
	hq_retry_begin(&retry);
	for (uint64_t i = 0; i < 20; i++) {
		refuse(1, 0x1000);
		refuse(1, 0x2000);
	}
	cr_assert(hq_retry_end(&retry, 5, &seen));
	cr_assert_eq(seen.repeats, 20);
}

Test(retry, a_call_that_succeeds_at_last_is_not_counted_among_the_refused)
{
	hq_retry_begin(&retry);
	for (uint64_t i = 0; i < 100; i++)
		fault(0x1000, 4096, 0);
	cr_assert(!hq_retry_end(&retry, 5, &seen));
}

Test(retry, only_what_is_worse_than_before_is_told)
{
	for (uint64_t times = 20; times > 10; times--) {
		hq_retry_begin(&retry);
		refuse(times, 0x1000);
		cr_assert_eq(hq_retry_end(&retry, 5, &seen), times == 20);
	}
	hq_retry_begin(&retry);
	refuse(10, 0x1000);
	cr_assert(hq_retry_end(&retry, HQ_RETRY_LONG_NS + 1, &seen), "it took long");
}

Test(retry, more_than_the_ring_holds_is_at_least_that)
{
	hq_retry_begin(&retry);
	refuse(HQ_PLANE_FAULTS + 100, 0x1000);
	cr_assert(hq_retry_end(&retry, 5, &seen));
	cr_assert_eq(seen.repeats, HQ_PLANE_FAULTS);
}

Test(retry, a_thread_without_a_slot_says_nothing_until_it_has_one)
{
	hq_store_relaxed(&plane->threads[1].tid, 1);
	hq_retry_begin(&retry);
	cr_assert(!hq_retry_end(&retry, 5, &seen));
	hq_store_relaxed(&plane->threads[1].tid, (uint32_t)syscall(SYS_gettid));
	hq_store_relaxed(&plane->claimed, 4);
	hq_retry_begin(&retry);
	refuse(10, 0x1000);
	cr_assert(hq_retry_end(&retry, 5, &seen));
}

Test(retry, faults_of_the_thread_before_are_not_those_of_the_next)
{
	hq_retry_begin(&retry);
	cr_assert_not(hq_retry_end(&retry, 5, &seen));
	hq_store_relaxed(&plane->threads[1].exited, 1);
	hq_store_relaxed(&plane->threads[2].tid, (uint32_t)syscall(SYS_gettid));
	hq_retry_forget(&retry);
	hq_retry_begin(&retry);
	refuse(100, 0x1000);
	cr_assert_not(hq_retry_end(&retry, 5, &seen));
	mine = 2;
	hq_retry_begin(&retry);
	refuse(9, 0x1000);
	cr_assert(hq_retry_end(&retry, 5, &seen));
	cr_assert_eq(seen.repeats, 9);
}

Test(retry, without_rules_nothing_is_looked_at)
{
	plane->rule_count = 0;
	hq_retry_init(&retry, plane);
	hq_retry_begin(&retry);
	refuse(100, 0x1000);
	cr_assert(!hq_retry_end(&retry, 5, &seen));
}
