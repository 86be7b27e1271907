/* SPDX-License-Identifier: MIT */
/*
 * What concerns all bins of an arena at once.
 */
#include "allocator/bedrock/arena.h"

#include "allocator/bedrock/debug.h"

/* What comes back is scattered: so many times the pages, for as many to lie together. */
#define BEDROCK_COLLECT_TIMES 4u

void bedrock_arena_init(struct bedrock_arena *arena, uint32_t index, struct bedrock_space *space)
{
	arena->index = index;
	bedrock_pages_init(&arena->pages, arena, space);
	bedrock_lock_init(&arena->decay.lock, BEDROCK_RANK_DECAY);
	for (unsigned i = 0; i < BEDROCK_CLASS_COUNT; i++)
		bedrock_bin_init(&arena->bins[i]);
}

void bedrock_arena_collect(struct bedrock_arena *arena, bool keep_one)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_bin *bin = &arena->bins[i];

		/* Without anything pending there may still be an empty slab that was kept. */
		if (bedrock_bin_has_waiting(bin) ||
		    (!keep_one && bedrock_load_relaxed(&bin->slab_count) > 0))
			bedrock_slab_collect(arena, i, keep_one);
	}
}

uint64_t bedrock_arena_rest_pages(const struct bedrock_arena *arena)
{
	return bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_DIRTY]) +
	       bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_MUZZY]);
}

void bedrock_arena_collect_pages(struct bedrock_arena *arena, uint32_t page_count)
{
	uint64_t enough_pages =
		bedrock_arena_rest_pages(arena) + BEDROCK_COLLECT_TIMES * page_count;

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		if (!bedrock_bin_has_waiting(&arena->bins[i]))
			continue;
		bedrock_slab_collect(arena, i, false);
		if (bedrock_arena_rest_pages(arena) >= enough_pages)
			return;
	}
}

void bedrock_arena_lock_bins(struct bedrock_arena *arena)
{
	for (unsigned i = 0; i < BEDROCK_CLASS_COUNT; i++)
		bedrock_lock_take(&arena->bins[i].lock);
}

void bedrock_arena_unlock_bins(struct bedrock_arena *arena)
{
	for (unsigned i = BEDROCK_CLASS_COUNT; i-- > 0;)
		bedrock_lock_give(&arena->bins[i].lock);
}
