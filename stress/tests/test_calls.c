/* SPDX-License-Identifier: MIT */
/* Entries and exits of system calls, as they may be told: what is counted, and what it gave back.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "stress/observe/calls.h"

static struct hq_calls *calls;
static struct hq_calls_seen seen;

static void start(void)
{
	calls = calloc(1, sizeof(*calls));
	cr_assert_not_null(calls);
	calls->page_bytes = 4096;
	seen = (struct hq_calls_seen){ .known = true };
}

static void stop(void)
{
	free(calls);
}

TestSuite(calls, .init = start, .fini = stop);

static struct hq_call_end end_of(uint32_t thread, long number, uint64_t time_ns)
{
	return (struct hq_call_end){
		.process = 1, .thread = thread, .number = number, .time_ns = time_ns
	};
}

static void enter(uint32_t thread, long number, uint64_t time_ns)
{
	const struct hq_call_end entry = end_of(thread, number, time_ns);

	hq_calls_enter(calls, &entry, &seen);
}

static void leave(uint32_t thread, long number, uint64_t time_ns)
{
	const struct hq_call_end exit = end_of(thread, number, time_ns);

	hq_calls_exit(calls, &exit, &seen);
}

/* A whole call of 10 ns. */
static void call(long number, const uint64_t args[6], int64_t result)
{
	static uint64_t now_ns;
	struct hq_call_end entry = end_of(7, number, now_ns += 100);
	struct hq_call_end exit = end_of(7, number, now_ns + 10);

	for (int i = 0; i < 6; i++)
		entry.args[i] = args[i];
	exit.result = result;
	hq_calls_enter(calls, &entry, &seen);
	hq_calls_exit(calls, &exit, &seen);
}

#define CALL(number, result, ...) call(number, (const uint64_t[6]){ __VA_ARGS__ }, result)

Test(calls, names_are_sorted)
{
	for (int kind = 1; kind < HQ_TRACED_COUNT; kind++)
		cr_assert_lt(strcmp(hq_traced_name((enum hq_traced)(kind - 1)),
				    hq_traced_name((enum hq_traced)kind)),
			     0);
}

Test(calls, each_kind_has_its_count_time_and_longest)
{
	enter(1, SYS_madvise, 100);
	enter(2, SYS_madvise, 110);
	leave(2, SYS_madvise, 115);
	leave(1, SYS_madvise, 150);
	enter(1, SYS_munmap, 200);
	leave(1, SYS_munmap, 203);
	cr_assert_eq(seen.kinds[HQ_TRACED_MADVISE].count, 2);
	cr_assert_eq(seen.kinds[HQ_TRACED_MADVISE].total_ns, 55);
	cr_assert_eq(seen.kinds[HQ_TRACED_MADVISE].max_ns, 50);
	cr_assert_eq(seen.kinds[HQ_TRACED_MUNMAP].count, 1);
	cr_assert_eq(seen.kinds[HQ_TRACED_MUNMAP].total_ns, 3);
	cr_assert_eq(seen.kinds[HQ_TRACED_MMAP].count, 0);
}

Test(calls, an_exit_that_is_told_before_its_entry_finds_it)
{
	leave(1, SYS_futex, 500);
	enter(1, SYS_futex, 600); /* the next one, told by the same processor */
	leave(1, SYS_futex, 640);
	enter(1, SYS_futex, 100);
	cr_assert_eq(seen.kinds[HQ_TRACED_FUTEX].count, 2);
	cr_assert_eq(seen.kinds[HQ_TRACED_FUTEX].total_ns, 440);
}

Test(calls, an_exit_without_an_entry_counts_nothing)
{
	leave(1, SYS_futex, 500);
	enter(1, SYS_mmap, 600);
	leave(1, SYS_mmap, 601);
	cr_assert_eq(seen.kinds[HQ_TRACED_FUTEX].count, 0);
	cr_assert_eq(seen.kinds[HQ_TRACED_MMAP].count, 1);
}

Test(calls, other_calls_are_left_out)
{
	enter(1, SYS_getpid, 1);
	leave(1, SYS_getpid, 2);
	for (int kind = 0; kind < HQ_TRACED_COUNT; kind++)
		cr_assert_eq(seen.kinds[kind].count, 0);
}

Test(calls, more_threads_than_there_is_room_for_are_told_as_lost)
{
	for (uint32_t thread = 1; thread <= HQ_CALLS_THREADS + 3; thread++)
		enter(thread, SYS_mmap, thread);
	cr_assert_eq(seen.lost, 3);
}

Test(calls, only_a_futex_that_waited_is_a_wait)
{
	CALL(SYS_futex, 0, 0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG);
	CALL(SYS_futex, -ETIMEDOUT, 0, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME);
	CALL(SYS_futex, -EAGAIN, 0, FUTEX_WAIT);
	CALL(SYS_futex, 1, 0, FUTEX_WAKE | FUTEX_PRIVATE_FLAG);
	cr_assert_eq(seen.kinds[HQ_TRACED_FUTEX].count, 4);
	cr_assert_eq(seen.waits.count, 2);
	cr_assert_eq(seen.waits.total_ns, 20);
	cr_assert_eq(seen.waits.max_ns, 10);
}

Test(calls, advice_that_gives_back_counts_whole_pages_unless_it_failed)
{
	CALL(SYS_madvise, 0, 0x10000, 5000, MADV_DONTNEED);
	CALL(SYS_madvise, 0, 0x10000, 4096, MADV_FREE);
	CALL(SYS_madvise, -EAGAIN, 0x10000, 4096, MADV_FREE);
	CALL(SYS_madvise, 0, 0x10000, 4096, MADV_HUGEPAGE);
	CALL(SYS_process_madvise, 8192, 3, 0, 1, MADV_DONTNEED);
	cr_assert_eq(seen.advised_bytes, 8192 + 4096 + 8192);
	cr_assert_eq(seen.unmapped_bytes, 0);
}

Test(calls, what_is_unmapped_shrunk_or_covered_is_given_back)
{
	CALL(SYS_munmap, 0, 0x10000, 4097);
	cr_expect_eq(seen.unmapped_bytes, 8192);
	CALL(SYS_munmap, -EINVAL, 0x10000, 4096);
	CALL(SYS_mremap, 0x10000, 0x10000, 16384, 4096);
	cr_expect_eq(seen.unmapped_bytes, 8192 + 12288);
	CALL(SYS_mremap, 0x10000, 0x10000, 4096, 16384);
	CALL(SYS_mmap, 0x10000, 0x10000, 4096, PROT_NONE, MAP_FIXED);
	CALL(SYS_mmap, 0x10000, 0x10000, 4096, PROT_READ, MAP_FIXED);
	CALL(SYS_mmap, 0x10000, 0, 4096, PROT_NONE, 0);
	cr_expect_eq(seen.unmapped_bytes, 8192 + 12288 + 4096);
}

Test(calls, a_break_that_falls_gives_back)
{
	CALL(SYS_brk, 0x100000, 0);
	CALL(SYS_brk, 0x108000, 0x108000);
	CALL(SYS_brk, 0x102000, 0x102000);
	CALL(SYS_brk, 0x102000, 0);
	cr_assert_eq(seen.unmapped_bytes, 0x6000);
}
