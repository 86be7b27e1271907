/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "stress/guard/leaf.h"

#define BASE 0x7f0000001000ull

static struct hq_blocks blocks;
static uint64_t offset;

static enum hq_blocks_answer enter(uint64_t address, uint64_t size)
{
	return hq_blocks_enter(&blocks, address, size, &offset);
}

Test(guard_blocks, neighbours_that_touch_do_not_overlap)
{
	cr_expect_eq(enter(BASE, 24), HQ_BLOCKS_ENTERED);
	cr_expect_eq(enter(BASE + 24, 8), HQ_BLOCKS_ENTERED);
	cr_expect_eq(enter(BASE + 32, 1000), HQ_BLOCKS_ENTERED);
}

Test(guard_blocks, size_is_known_up_to_the_unit)
{
	for (uint64_t size = 1; size < 3000; size += 7) {
		enter(BASE, size);
		cr_expect_eq(hq_blocks_size(&blocks, BASE), (size + 7) / 8 * 8, "size %zu",
			     (size_t)size);
		cr_expect_eq(hq_blocks_leave(&blocks, BASE), (size + 7) / 8 * 8);
	}
}

Test(guard_blocks, size_is_its_own_whatever_the_neighbours_are)
{
	enter(BASE, 100);
	enter(BASE + 104, 16);
	cr_expect_eq(hq_blocks_size(&blocks, BASE), 104);
	hq_blocks_leave(&blocks, BASE + 104);
	cr_expect_eq(hq_blocks_size(&blocks, BASE), 104);
}

Test(guard_blocks, same_block_twice_is_an_overlap_at_its_start)
{
	enter(BASE, 64);
	offset = 99;
	cr_expect_eq(enter(BASE, 64), HQ_BLOCKS_OVERLAP);
	cr_expect_eq(offset, 0);
}

Test(guard_blocks, block_that_runs_into_another_is_an_overlap_where_that_begins)
{
	enter(BASE + 4096, 64);
	cr_expect_eq(enter(BASE, 5000), HQ_BLOCKS_OVERLAP);
	cr_expect_eq(offset, 4096);
}

Test(guard_blocks, block_inside_another_is_an_overlap)
{
	enter(BASE, 100000);
	cr_expect_eq(enter(BASE + 50000, 8), HQ_BLOCKS_OVERLAP);
	cr_expect_eq(offset, 0);
}

Test(guard_blocks, left_block_can_be_entered_again)
{
	enter(BASE, 100000);
	cr_expect_eq(hq_blocks_leave(&blocks, BASE), 100000);
	cr_expect_eq(enter(BASE + 16, 5000), HQ_BLOCKS_ENTERED);
}

Test(guard_blocks, leaving_what_was_never_entered_says_so)
{
	cr_expect_eq(hq_blocks_leave(&blocks, BASE), 0);
	enter(BASE, 64);
	cr_expect_eq(hq_blocks_leave(&blocks, BASE + 8), 0);
	cr_expect_eq(hq_blocks_leave(&blocks, UINT64_MAX - 7), 0);
}

Test(guard_blocks, leaving_twice_says_so)
{
	enter(BASE, 64);
	cr_expect_eq(hq_blocks_leave(&blocks, BASE), 64);
	cr_expect_eq(hq_blocks_leave(&blocks, BASE), 0);
}

Test(guard_blocks, no_bytes_count_as_one)
{
	cr_expect_eq(enter(BASE, 0), HQ_BLOCKS_ENTERED);
	cr_expect_eq(hq_blocks_size(&blocks, BASE), 8);
	cr_expect_eq(enter(BASE, 1), HQ_BLOCKS_OVERLAP);
}

Test(guard_blocks, block_across_leaves_is_entered_whole)
{
	const uint64_t address = BASE + (1ull << HQ_BLOCKS_LEAF_BITS) - 0x1000 - 64;

	cr_expect_eq(enter(address, 4096), HQ_BLOCKS_ENTERED);
	cr_expect_eq(hq_blocks_size(&blocks, address), 4096);
	cr_expect_eq(enter(address + 4088, 8), HQ_BLOCKS_OVERLAP);
}

Test(guard_blocks, of_a_huge_block_the_first_part_is_covered)
{
	cr_expect_eq(enter(BASE, 1ull << 32), HQ_BLOCKS_ENTERED);
	cr_expect_eq(hq_blocks_size(&blocks, BASE), HQ_BLOCKS_COVERED);
	cr_expect_eq(hq_blocks_leave(&blocks, BASE), HQ_BLOCKS_COVERED);
	cr_expect_eq(enter(BASE + 4096, 16), HQ_BLOCKS_ENTERED);
}

Test(guard_blocks, address_beyond_the_table_is_unwatched)
{
	cr_expect_eq(enter(1ull << HQ_BLOCKS_ADDRESS_BITS, 16), HQ_BLOCKS_UNWATCHED);
	cr_expect_eq(enter((1ull << HQ_BLOCKS_ADDRESS_BITS) - 8, 16), HQ_BLOCKS_UNWATCHED);
	cr_expect_eq(hq_blocks_size(&blocks, 1ull << HQ_BLOCKS_ADDRESS_BITS), 0);
}

Test(guard_blocks, touch_tells_of_either_end)
{
	uint64_t at = 7;

	enter(BASE, 64);
	cr_expect(hq_blocks_touch(&blocks, BASE + 32, 128, &at));
	cr_expect_eq(at, 0);
	cr_expect(hq_blocks_touch(&blocks, BASE - 64, 65, &at));
	cr_expect_eq(at, 64);
	cr_expect_not(hq_blocks_touch(&blocks, BASE + 64, 128, &at));
}

Test(guard_blocks, holder_of_a_byte_is_the_block_around_it)
{
	enter(BASE, 1000);
	enter(BASE + 1000, 8);
	cr_expect_eq(hq_blocks_holder(&blocks, BASE), BASE);
	cr_expect_eq(hq_blocks_holder(&blocks, BASE + 999), BASE);
	cr_expect_eq(hq_blocks_holder(&blocks, BASE + 1000), BASE + 1000);
	cr_expect_eq(hq_blocks_holder(&blocks, BASE + 1008), 0);
}

Test(guard_blocks, holder_of_shared_memory_is_the_block_that_was_there)
{
	enter(BASE, 4096);
	cr_expect_eq(enter(BASE + 2048, 64), HQ_BLOCKS_OVERLAP);
	cr_expect_eq(hq_blocks_holder(&blocks, BASE + 2048), BASE);
}

Test(guard_blocks, neighbours_are_found_within_reach)
{
	enter(BASE, 64);
	enter(BASE + 1024, 64);
	enter(BASE + 4096, 8);
	cr_expect_eq(hq_blocks_before(&blocks, BASE + 1024, 4096), BASE);
	cr_expect_eq(hq_blocks_behind(&blocks, BASE + 1088, 4096), BASE + 4096);
	cr_expect_eq(hq_blocks_before(&blocks, BASE + 1024, 512), 0);
	cr_expect_eq(hq_blocks_behind(&blocks, BASE + 1088, 512), 0);
	cr_expect_eq(hq_blocks_before(&blocks, 8, 4096), 0);
	cr_expect_eq(hq_blocks_behind(&blocks, (1ull << HQ_BLOCKS_ADDRESS_BITS) - 8, 4096), 0);
}

Test(guard_blocks, count_is_of_what_is_live)
{
	uint64_t count, bytes;

	enter(BASE, 100);
	enter(BASE + (1ull << 30), 8);
	enter(BASE + 4096, 8);
	hq_blocks_leave(&blocks, BASE + 4096);
	hq_blocks_count(&blocks, &count, &bytes);
	cr_expect_eq(count, 2);
	cr_expect_eq(bytes, 112);
}

/* The inlined ways say the same as the others. */
Test(guard_blocks, quick_ways_enter_and_leave_as_the_long_ones_do)
{
	uint64_t shared;

	enter(BASE, 8);
	for (uint64_t size = 0; size < 2000; size += 3) {
		const uint64_t start = BASE + 16 + size % 7 * 8;
		const uint64_t units = size ? (size + 7) / 8 * 8 : 8;

		cr_assert(hq_blocks_enter_quickly(&blocks, start, size, &shared));
		cr_expect_eq(shared, HQ_LEAF_NONE);
		cr_expect_eq(hq_blocks_size(&blocks, start), units, "size %zu", (size_t)size);
		cr_expect(hq_blocks_may_begin(&blocks, start));
		cr_expect_not(hq_blocks_are_clear(&blocks, start, 1));
		cr_expect(hq_blocks_are_clear(&blocks, start + units, 8));
		cr_expect_eq(hq_blocks_leave_quickly(&blocks, start), units);
		cr_expect_eq(hq_blocks_size(&blocks, start), 0);
	}
	cr_expect_eq(hq_blocks_size(&blocks, BASE), 8);
}

Test(guard_blocks, quick_way_finds_what_is_shared)
{
	uint64_t shared;

	enter(BASE + 4096, 64);
	cr_assert(hq_blocks_enter_quickly(&blocks, BASE, 5000, &shared));
	cr_expect_eq(shared, (BASE + 4096) / 8);
}

Test(guard_blocks, quick_ways_leave_to_the_others_what_is_not_in_one_leaf)
{
	const uint64_t edge = (BASE | ((1ull << HQ_BLOCKS_LEAF_BITS) - 1)) + 1;
	uint64_t shared;

	cr_expect_not(hq_blocks_enter_quickly(&blocks, BASE, 64, &shared), "there is no leaf yet");
	enter(edge - 64, 128);
	cr_expect_eq(hq_blocks_leave_quickly(&blocks, edge - 64), 0);
	cr_expect_eq(hq_blocks_leave(&blocks, edge - 64), 128);
	cr_expect_not(hq_blocks_enter_quickly(&blocks, edge - 64, 128, &shared));
	cr_expect_not(hq_blocks_enter_quickly(&blocks, 1ull << HQ_BLOCKS_ADDRESS_BITS, 8, &shared));
	cr_expect_eq(hq_blocks_leave_quickly(&blocks, UINT64_MAX - 7), 0);
	cr_expect(hq_blocks_may_begin(&blocks, UINT64_MAX - 7));
	cr_expect_not(hq_blocks_are_clear(&blocks, BASE, UINT64_MAX / 2));
}

/* Threads whose blocks share every word. */
static void *churn(void *argument)
{
	const uint64_t lane = (uintptr_t)argument;
	uint64_t *wrong = calloc(1, sizeof(*wrong)), shared;

	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t address = BASE + (i % 64) * 128 + lane * 32;

		*wrong += hq_blocks_enter(&blocks, address, 32, &shared) != HQ_BLOCKS_ENTERED;
		*wrong += hq_blocks_leave_quickly(&blocks, address) != 32;
	}
	return wrong;
}

Test(guard_blocks, threads_whose_blocks_share_words_do_not_disturb_each_other)
{
	pthread_t threads[4];
	void *wrong;

	for (uintptr_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		cr_expect_eq(*(uint64_t *)wrong, 0);
		free(wrong);
	}
}
