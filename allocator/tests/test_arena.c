/* SPDX-License-Identifier: MIT */
/*
 * Arenas as a whole: collecting over all classes, and the locks that fork takes.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "allocator/bedrock/arena.h"
#include "allocator/tests/chains.h"

static struct bedrock_space space;
static struct bedrock_arena arena;

static void setup(void)
{
	bedrock_space_init(&space);
	bedrock_arena_init(&arena, 3, &space);
}

TestSuite(arena, .init = setup);

/* One slab's worth of each class, taken and returned. */
static void pass_through_every_class(void)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_list list;

		cr_assert_eq(bedrock_slab_take(&arena, i, 1000, BEDROCK_EFFORT_CHUNK, &list), 0);
		bedrock_slab_return(i, chain_of(list, i));
	}
}

Test(arena, collect_empties_every_class)
{
	pass_through_every_class();
	cr_assert_gt(bedrock_load_relaxed(&arena.pending_pages), 0);
	bedrock_arena_collect(&arena, false);
	cr_assert_eq(bedrock_load_relaxed(&arena.pending_pages), 0);
	cr_assert_eq(bedrock_load_relaxed(&arena.pages.used_pages), 0);
	cr_assert(bedrock_pages_is_valid(&arena.pages));
}

Test(arena, collecting_for_a_few_pages_stops_when_they_rest)
{
	pass_through_every_class();
	bedrock_arena_collect_pages(&arena, 4);
	uint64_t rest_pages = bedrock_arena_rest_pages(&arena);

	cr_assert_geq(rest_pages, 4);
	cr_assert_lt(rest_pages, 64);
	cr_assert_gt(bedrock_load_relaxed(&arena.pending_pages), 100);
	bedrock_arena_collect_pages(&arena, BEDROCK_CHUNK_PAGES);
	cr_assert_eq(bedrock_load_relaxed(&arena.pending_pages), 0);
}

Test(arena, collect_may_keep_one_slab_a_class_and_take_it_later)
{
	pass_through_every_class();
	bedrock_arena_collect(&arena, true);
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		cr_assert_eq(bedrock_load_relaxed(&arena.bins[i].slab_count), 1);
		cr_assert(bedrock_bin_has_some(&arena.bins[i]));
	}
	bedrock_arena_collect(&arena, false);
	cr_assert_eq(bedrock_load_relaxed(&arena.pages.used_pages), 0);
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		cr_assert_not(bedrock_bin_has_some(&arena.bins[i]));
}

Test(arena, locks_of_all_bins_are_taken_and_given)
{
	bedrock_lock_allow_many(true);
	bedrock_arena_lock_bins(&arena);
	for (unsigned i = 0; i < BEDROCK_CLASS_COUNT; i++)
		cr_assert_not(bedrock_lock_try(&arena.bins[i].lock));
	bedrock_arena_unlock_bins(&arena);
	for (unsigned i = 0; i < BEDROCK_CLASS_COUNT; i++)
		cr_assert_eq(bedrock_load_relaxed(&arena.bins[i].lock.word), 0);
	bedrock_lock_allow_many(false);
}
