/* SPDX-License-Identifier: MIT */
/*
 * Slabs: blocks are apart, come back by one push per slab, and empty slabs give their pages.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/arena.h"
#include "allocator/tests/chains.h"
#include "allocator/tests/faults.h"

#define CLASS_64    4u
#define SLAB_BLOCKS 256u

static struct bedrock_space space;
static struct bedrock_arena arena;

static void setup(void)
{
	bedrock_space_init(&space);
	bedrock_arena_init(&arena, 0, &space);
	fault_install();
}

TestSuite(slab, .init = setup, .timeout = 60);

/* Take exactly `count` blocks, as one chain. */
static void *take(uint32_t count)
{
	void *chain = NULL;

	while (count > 0) {
		struct bedrock_list list = { .head = NULL };

		cr_assert_eq(
			bedrock_slab_take(&arena, CLASS_64, count, BEDROCK_EFFORT_CHUNK, &list), 0);
		cr_assert_gt(list.count, 0);
		cr_assert_leq(list.count, count);
		count -= list.count;
		void *last = chain_of(list, CLASS_64);

		while (*(void **)last)
			last = *(void **)last;
		*(void **)last = chain;
		chain = list.head;
	}
	return chain;
}

static uint64_t blocks_out(void)
{
	return bedrock_load_relaxed(&arena.bins[CLASS_64].blocks_out);
}

static uint32_t slab_count(void)
{
	return bedrock_load_relaxed(&arena.bins[CLASS_64].slab_count);
}

/* Neighbours that were never handed out, the first of them at the start of a slab. */
static char *take_fresh(uint32_t count)
{
	struct bedrock_list list;

	cr_assert_eq(bedrock_slab_take(&arena, CLASS_64, count, BEDROCK_EFFORT_CHUNK, &list), 0);
	cr_assert(list.is_fresh);
	cr_assert_eq(list.count, count);
	return list.head;
}

Test(slab, blocks_never_handed_out_come_with_pages_that_nobody_has_touched)
{
	space.thp = BEDROCK_THP_NEVER;
	char *first = take_fresh(SLAB_BLOCKS);

	cr_assert_eq((uintptr_t)first % 4096, 0);
	cr_assert_not(bedrock_os_is_resident(first, (size_t)SLAB_BLOCKS * 64));
}

Test(slab, fresh_blocks_come_back_as_if_they_had_never_been_taken)
{
	char *first = take_fresh(10);

	bedrock_slab_return_fresh(CLASS_64, first + 4 * 64, 6);
	cr_assert_eq(blocks_out(), 4);
	cr_assert_eq(take_fresh(6), first + 4 * 64);
	bedrock_slab_return_fresh(CLASS_64, first, 10);
	cr_assert_eq(blocks_out(), 0);
	cr_assert_eq(slab_count(), 0);
	cr_assert_eq(bedrock_load_relaxed(&arena.pages.used_pages), 0);
}

Test(slab, fresh_blocks_that_others_were_carved_behind_come_back_as_free_ones)
{
	char *first = take_fresh(10);

	cr_assert_eq(take_fresh(5), first + 10 * 64);
	bedrock_slab_return_fresh(CLASS_64, first, 10);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_chunk_slab_of(first)->remote) >> 48, 10);
	cr_assert_eq(take(10), first);
	cr_assert_eq(blocks_out(), 15);
}

Test(slab, class_and_slab_are_found_from_every_block)
{
	void *chain = take(SLAB_BLOCKS);
	struct bedrock_run *run = bedrock_chunk_slab_of(chain);

	for (void *block = chain; block; block = *(void **)block) {
		cr_assert_eq(bedrock_chunk_class_of(block), CLASS_64);
		cr_assert_eq(bedrock_chunk_slab_of(block), run);
	}
	cr_assert_eq(run->capacity, SLAB_BLOCKS);
	cr_assert_eq(run->listed, BEDROCK_SLAB_UNLISTED);
}

Test(slab, returned_chain_waits_on_the_pending_list_and_is_then_taken_whole)
{
	void *chain = take(SLAB_BLOCKS);
	struct bedrock_run *run = bedrock_chunk_slab_of(chain);

	bedrock_slab_return(CLASS_64, chain);
	cr_assert_eq(bedrock_load_relaxed(&run->remote) >> 48, SLAB_BLOCKS);
	cr_assert_eq(bedrock_load_relaxed(&arena.bins[CLASS_64].pending), run);
	cr_assert_eq(bedrock_load_relaxed(&arena.pending_pages), run->page_count);
	struct bedrock_list list;

	cr_assert_eq(bedrock_slab_take(&arena, CLASS_64, 1000, BEDROCK_EFFORT_CHUNK, &list), 0);
	cr_assert_eq(list.count, SLAB_BLOCKS);
	cr_assert_eq(bedrock_load_relaxed(&arena.pending_pages), 0);
	cr_assert_eq(slab_count(), 1);
}

Test(slab, blocks_of_many_slabs_in_one_list_find_their_slabs)
{
	uint32_t slabs = 40;
	void *blocks[40 * 3];
	void *chain = NULL;

	for (uint32_t i = 0; i < slabs; i++) {
		void *block = take(SLAB_BLOCKS);

		for (int j = 0; j < 3; j++) {
			blocks[j * slabs + i] = block;
			block = *(void **)block;
		}
	}
	/* Neighbours in the chain are never of one slab. */
	for (uint32_t i = 0; i < slabs * 3; i++) {
		*(void **)blocks[i] = chain;
		chain = blocks[i];
	}
	bedrock_slab_return(CLASS_64, chain);
	bedrock_slab_collect(&arena, CLASS_64, true);
	cr_assert_eq(blocks_out(), slabs * (SLAB_BLOCKS - 3));
	take(slabs * 3);
	cr_assert_eq(slab_count(), slabs);
}

Test(slab, first_blocks_of_a_chain_go_to_one_slab_and_the_rest_stays)
{
	void *other = take(SLAB_BLOCKS);
	char *first = take(6);
	uint32_t count = 0;

	*(void **)(first + (ptrdiff_t)5 * 64) = other;
	cr_assert_eq(bedrock_slab_return_first(CLASS_64, first, 4, &count), first + 4 * 64);
	cr_assert_eq(count, 4);
	cr_assert_eq(bedrock_slab_return_first(CLASS_64, first + 4 * 64, 4, &count), other);
	cr_assert_eq(count, 2);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_chunk_slab_of(first)->remote) >> 48, 6);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_chunk_slab_of(other)->remote), 0);
}

Test(slab, what_comes_back_in_pieces_joins_what_is_free)
{
	char *first = take(SLAB_BLOCKS);

	for (ptrdiff_t i = 0; i < 6; i++) {
		*(void **)(first + i * 64) = NULL;
		bedrock_slab_return(CLASS_64, first + i * 64);
		if (i % 3 == 2)
			bedrock_slab_collect(&arena, CLASS_64, true);
	}
	cr_assert_eq(blocks_out(), SLAB_BLOCKS - 6);
	void *chain = take(6);

	cr_assert_eq(blocks_out(), SLAB_BLOCKS);
	for (int i = 0; i < 6; i++) {
		cr_assert_lt((uintptr_t)chain - (uintptr_t)first, 6 * 64);
		chain = *(void **)chain;
	}
	cr_assert_null(chain);
}

Test(slab, taker_collects_no_more_slabs_than_it_needs)
{
	void *chain = take(5 * SLAB_BLOCKS);
	struct bedrock_list list;

	bedrock_slab_return(CLASS_64, chain);
	cr_assert_eq(bedrock_slab_take(&arena, CLASS_64, 10, BEDROCK_EFFORT_REUSE, &list), 0);
	cr_assert_eq(list.count, 10);
	cr_assert_eq(blocks_out(), 4 * SLAB_BLOCKS + 10);
	cr_assert(bedrock_bin_has_waiting(&arena.bins[CLASS_64]));
	bedrock_slab_return(CLASS_64, list.head);
	/* Those that were left are found by the next ones, and by who collects all. */
	take(2 * SLAB_BLOCKS);
	cr_assert_eq(slab_count(), 5);
	bedrock_slab_collect(&arena, CLASS_64, false);
	cr_assert_not(bedrock_bin_has_waiting(&arena.bins[CLASS_64]));
	cr_assert_eq(blocks_out(), 2 * SLAB_BLOCKS);
	cr_assert_eq(bedrock_load_relaxed(&arena.pending_pages), 0);
}

Test(slab, empty_slabs_give_their_pages_back_but_one_may_be_kept)
{
	void *chain = take(10 * SLAB_BLOCKS);

	bedrock_slab_return(CLASS_64, chain);
	bedrock_slab_collect(&arena, CLASS_64, true);
	cr_assert_eq(slab_count(), 1);
	bedrock_slab_collect(&arena, CLASS_64, false);
	cr_assert_eq(slab_count(), 0);
	cr_assert_eq(bedrock_load_relaxed(&arena.pages.used_pages), 0);
	cr_assert_eq(blocks_out(), 0);
}

Test(slab, partly_carved_slab_with_all_blocks_back_is_empty)
{
	bedrock_slab_return(CLASS_64, take(5));
	bedrock_slab_collect(&arena, CLASS_64, false);
	cr_assert_eq(slab_count(), 0);
}

Test(slab, returned_blocks_are_preferred_to_new_ones)
{
	void *chain = take(SLAB_BLOCKS + 10);
	void *block = chain;

	while (bedrock_chunk_slab_of(block) == bedrock_chunk_slab_of(chain))
		block = *(void **)block;
	*(void **)block = NULL;
	bedrock_slab_return(CLASS_64, block);
	cr_assert_eq(take(1), block);
}

Test(slab, without_growth_there_is_enomem_and_no_call)
{
	struct bedrock_list list;

	cr_assert_eq(bedrock_slab_take(&arena, CLASS_64, 1, BEDROCK_EFFORT_SLAB, &list), -ENOMEM);
	cr_assert_eq(faults.mmap.seen, 0);
}

/* Each thread takes blocks, stamps them, checks them, and returns them, over and over. */
static void *take_and_return(void *argument)
{
	uintptr_t stamp = (uintptr_t)argument;

	for (int i = 0; i < 3000; i++) {
		void *chain = take((uint32_t)(i % 90) + 1);

		for (void *block = chain; block; block = *(void **)block)
			((uintptr_t *)block)[1] = stamp;
		for (void *block = chain; block; block = *(void **)block) {
			if (((uintptr_t *)block)[1] != stamp)
				return (void *)1;
		}
		bedrock_slab_return(CLASS_64, chain);
		if (i % 50 == 0)
			bedrock_slab_collect(&arena, CLASS_64, false);
	}
	return NULL;
}

Test(slab, threads_that_push_and_collect_at_once_lose_no_block)
{
	pthread_t threads[4];
	void *result = NULL;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, take_and_return, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		cr_assert_null(result);
	}
	bedrock_slab_collect(&arena, CLASS_64, false);
	cr_assert_eq(slab_count(), 0);
	cr_assert_eq(blocks_out(), 0);
	cr_assert_eq(bedrock_load_relaxed(&arena.pages.used_pages), 0);
}

Test(slab, what_is_no_block_of_the_class_is_not_held)
{
	char *block = take(1);

	cr_assert(bedrock_slab_holds(CLASS_64, block));
	cr_assert(bedrock_slab_holds(CLASS_64, block + 64));
	cr_assert_not(bedrock_slab_holds(CLASS_64, block + 16));
	cr_assert_not(bedrock_slab_holds(CLASS_64 + 1, block));
	cr_assert_not(bedrock_slab_holds(CLASS_64, (void *)0x4141414141414141));
	cr_assert_not(bedrock_slab_holds(CLASS_64, NULL));
}

Test(slab, every_block_of_every_class_is_held_and_nothing_between_them)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_list list;

		cr_assert_eq(bedrock_slab_take(&arena, i, 1, BEDROCK_EFFORT_CHUNK, &list), 0);
		const struct bedrock_run *run = bedrock_chunk_slab_of(list.head);
		const char *start = bedrock_run_start(run);
		size_t held = 0;

		for (size_t at = 0; at < run->page_count * BEDROCK_PAGE_BYTES; at += 16)
			held += bedrock_slab_holds(i, start + at);
		cr_assert_eq(held, run->capacity);
	}
}

/* Two blocks of one slab, the first linked to the second. */
static uintptr_t *two_returned(void)
{
	uintptr_t *first = take(2);

	bedrock_slab_return(CLASS_64, first);
	return first;
}

Test(slab, a_link_out_of_the_slab_is_found_when_the_list_is_cut, .signal = SIGABRT)
{
	uintptr_t *block = two_returned();

	block[0] = (uintptr_t)&block;
	take(1);
}

Test(slab, a_link_between_two_blocks_is_found_when_the_list_is_cut, .signal = SIGABRT)
{
	uintptr_t *block = two_returned();

	block[0] += 16;
	take(1);
}

Test(slab, a_link_of_zeros_is_found_when_the_list_is_cut, .signal = SIGABRT)
{
	uintptr_t *block = two_returned();

	block[0] = 0;
	take(1);
}

Test(slab, a_link_to_anywhere_is_found_when_the_list_is_returned, .signal = SIGABRT)
{
	uintptr_t *block = take(2);

	block[0] = 0x4141414141414141;
	bedrock_slab_return(CLASS_64, block);
}

Test(slab, a_link_to_anywhere_is_found_when_the_list_is_returned_in_pieces, .signal = SIGABRT)
{
	uintptr_t *block = take(2);
	uint32_t count;

	block[0] = 0x4141414141414141;
	block = bedrock_slab_return_first(CLASS_64, block, 2, &count);
	bedrock_slab_return_first(CLASS_64, block, 2, &count);
}

Test(slab, a_link_between_two_blocks_is_found_when_the_list_is_returned_in_pieces,
     .signal = SIGABRT)
{
	uintptr_t *block = take(2);
	uint32_t count;

	block[0] += 16;
	block = bedrock_slab_return_first(CLASS_64, block, 2, &count);
	bedrock_slab_return_first(CLASS_64, block, 2, &count);
}

Test(slab, a_list_in_a_circle_is_found_when_it_is_returned, .signal = SIGABRT)
{
	uintptr_t *block = take(2);

	block[0] = (uintptr_t)block;
	bedrock_slab_return(CLASS_64, block);
}

Test(slab, more_blocks_than_were_carved_are_found_when_they_are_collected, .signal = SIGABRT)
{
	void *block = take(1);

	bedrock_slab_return(CLASS_64, block);
	bedrock_slab_return(CLASS_64, block);
	bedrock_slab_collect(&arena, CLASS_64, false);
}
