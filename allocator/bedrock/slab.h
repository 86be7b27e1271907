/* SPDX-License-Identifier: MIT */
/*
 * Slabs of one size class in one arena: the bin they hang in, taking blocks and returning them.
 *
 * Blocks are taken under the bin's lock, many at a time. They are returned without any lock: a
 * list of blocks of one slab is pushed onto the slab by one CAS, whoever frees it, and the first
 * push onto a slab also pushes the slab onto its bin's pending list. The next taker, or decay,
 * collects pending slabs; a slab whose blocks are all back then gives its pages back.
 */
#ifndef BEDROCK_SLAB_H
#define BEDROCK_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/lock.h"

/*
 * Free blocks: a chain, linked through their first words, the last to NULL. Fresh ones, which were
 * never handed out, are not linked but neighbours, `head` the first: nobody touches their pages
 * before they are needed.
 */
struct bedrock_list {
	void *head;
	uint32_t count;
	bool is_fresh;
	/* Of fresh ones: their pages are in memory, so that touching them costs nothing. */
	bool is_resident;
};

/*
 * lock covers all but the atomics. Invariant:
 *	lists[l] is a ring of the slabs with listed == l, entered at its first slab
 *	blocks_out is the number of carved blocks that are in no slab's free list; blocks on a
 *	slab's remote list still count as out; blocks_idle is the number of those in free lists
 */
struct bedrock_bin {
	struct bedrock_lock lock;
	/* Written under the lock, read by anybody. */
	_Atomic(uint32_t) slab_count;
	struct bedrock_run *lists[BEDROCK_SLAB_LIST_COUNT];
	_Atomic(uint64_t) blocks_out;
	/* In the free lists of slabs: blocks that were in use before and can be used again. */
	_Atomic(uint64_t) blocks_idle;
	/* The part of the pending list that was taken from it, and not collected yet. */
	_Atomic(struct bedrock_run *) backlog;
	/* On its own line: this one is written by every thread that frees. */
	_Atomic(struct bedrock_run *) pending __attribute__((aligned(64)));
} __attribute__((aligned(64)));

void bedrock_bin_init(struct bedrock_bin *bin);

/* How far taking may go when no slab has anything to give. */
enum bedrock_effort {
	/* No further: be content with what slabs have. */
	BEDROCK_EFFORT_REUSE,
	/* Make a slab of pages that rest. */
	BEDROCK_EFFORT_REST,
	/* Make a slab if a chunk at hand has room. */
	BEDROCK_EFFORT_SLAB,
	/* Map a chunk if none has. */
	BEDROCK_EFFORT_CHUNK,
};

/* Take up to `want` blocks, at least one. -> 0, or -ENOMEM: none without more effort. */
int bedrock_slab_take(struct bedrock_arena *arena, unsigned class_index, uint32_t want,
		      enum bedrock_effort effort, struct bedrock_list *out);

/* Are there slabs to collect? Without the bin's lock a hint. */
static inline bool bedrock_bin_has_waiting(const struct bedrock_bin *bin)
{
	return bedrock_load_relaxed(&bin->backlog) != NULL ||
	       bedrock_load_relaxed(&bin->pending) != NULL;
}

/* Does a bin look as if it could give without making a slab? A hint, taken without its lock. */
static inline bool bedrock_bin_has_some(const struct bedrock_bin *bin)
{
	return bedrock_load_relaxed(&bin->blocks_idle) > 0 || bedrock_bin_has_waiting(bin);
}

/*
 * Return a chain of blocks of one size class; they may come from many slabs and arenas. What is no
 * block, and a link that leads to none, ends the process.
 */
void bedrock_slab_return(unsigned class_index, void *head);

/*
 * Return the blocks that a chain begins with and that are of one slab, at most `most`: one push.
 * *count tells how many. -> the rest of the chain.
 */
void *bedrock_slab_return_first(unsigned class_index, void *head, uint32_t most, uint32_t *count);

/* Return fresh blocks. */
void bedrock_slab_return_fresh(unsigned class_index, void *first, uint32_t count);

/* Does a block of that size class begin here, one that was ever handed out? */
bool bedrock_slab_holds(unsigned class_index, const void *block);

/* The small block, in use or not, that an address in a chunk lies in, and its size; or NULL. */
const void *bedrock_slab_block_around(const void *address, size_t *bytes);

/* End the process: what was freed is no block of a slab, or a free block's link is broken. */
_Noreturn void bedrock_slab_refuse(const void *address);
_Noreturn void bedrock_slab_accuse(const void *block);

/*
 * Collect what was returned to this bin; give empty slabs' pages back, with `keep_one` all but
 * one that would leave the bin with nothing to give.
 */
void bedrock_slab_collect(struct bedrock_arena *arena, unsigned class_index, bool keep_one);

#endif
