/* SPDX-License-Identifier: MIT */
/*
 * Arenas: one page allocator and one bin per size class each, and how a thread chooses one.
 *
 * Threads ask an arena for blocks only when their cache is empty, and then ask the one of the
 * CPU they run on. That answer may be stale, out of range or always the same: any arena can
 * serve any thread, the choice only decides who meets whom at a lock.
 */
#ifndef BEDROCK_ARENA_H
#define BEDROCK_ARENA_H

#include <stdint.h>

#include "allocator/bedrock/classes.h"
#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/pages.h"
#include "allocator/bedrock/slab.h"

/* One stage of decay: when it next looks, and where it stopped when it ran out of budget. */
struct bedrock_decay_stage {
	_Atomic(uint64_t) next_ns;
	struct bedrock_chunk *cursor;
};

/* lock covers the cursors and failures, and makes its holder the only one to unlink chunks. */
struct bedrock_decay {
	struct bedrock_lock lock;
	/* Passes in which madvise, or munmap, was refused, in a row: exponents of the back-off. */
	uint32_t failed_passes;
	uint32_t failed_unmaps;
	/* With failed_unmaps > 0 a free chunk is waiting for another try at this time. */
	uint64_t unmap_again_ns;
	struct bedrock_decay_stage stages[BEDROCK_REST_COUNT];
};

struct bedrock_arena {
	struct bedrock_pages pages;
	struct bedrock_decay decay;
	uint32_t index;
	/* Pages of slabs on pending lists: memory that may turn out to be free. */
	_Atomic(uint64_t) pending_pages;
	/* Pages of large runs in use. */
	_Atomic(uint64_t) large_pages;
	struct bedrock_bin bins[BEDROCK_CLASS_COUNT];
};

/* `arena` is zero. */
void bedrock_arena_init(struct bedrock_arena *arena, uint32_t index, struct bedrock_space *space);

/* Collect every bin that has something pending. */
void bedrock_arena_collect(struct bedrock_arena *arena, bool keep_one);

/* Collect bins that have something pending, until enough more pages rest for such a run to fit. */
void bedrock_arena_collect_pages(struct bedrock_arena *arena, uint32_t page_count);

/* Pages that are in memory and not in use. */
uint64_t bedrock_arena_rest_pages(const struct bedrock_arena *arena);

/* Take and give the locks of all bins, around a fork. */
void bedrock_arena_lock_bins(struct bedrock_arena *arena);
void bedrock_arena_unlock_bins(struct bedrock_arena *arena);

#endif
