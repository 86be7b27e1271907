/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks: one in so many, each in a mapping of its own between pages that nobody may touch.
 *
 *	header | no access | the block's pages, the block at their end | no access
 *
 * What runs beyond such a block, or below its pages, faults at once. A freed one loses its pages
 * and all access, and waits in quarantine, so that late uses fault as well and a second free finds
 * the header that tells. The header is that of a huge block, so that free comes to large.c without
 * knowing anything; the mapping is made, charged and purged by huge_map.c.
 *
 * Which blocks are guarded is left to chance, a draw for each thread: with a fixed distance a
 * program that repeats itself would have the same ones guarded again and again.
 */
#ifndef BEDROCK_GUARDED_H
#define BEDROCK_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/huge.h"

/* A block of a greater length or alignment is never guarded. */
#define BEDROCK_GUARDED_MAX_BYTES   ((size_t)1 << 20)
#define BEDROCK_GUARDED_ALIGN_BYTES ((size_t)16)
/* So many are in use at most: each is four mappings to the kernel, which allows some 65,000. */
#define BEDROCK_GUARDED_LIVE_MAX 4096u
/* So many freed ones are in quarantine. */
#define BEDROCK_GUARDED_HELD_MAX 64u

/*
 * The lock of `huge` covers the ring. Invariant:
 *	a mapping on the ring has no block, and its pages are neither there nor charged, but for
 *	those that madvise has refused
 *	held.count <= BEDROCK_GUARDED_HELD_MAX after each free, unless munmap refuses; and none is
 *	guarded any more while it is beyond that
 */
struct bedrock_guarded {
	struct bedrock_huge *huge;
	/* The quarantine, and what munmap has refused. */
	struct bedrock_huge_ring held;
	_Atomic(uint32_t) live_count;
	/* munmap was refused: until when no request tries it again. */
	_Atomic(uint64_t) again_ns;
};

/* Is the calling thread's next block to be guarded, if one of `every` is? */
bool bedrock_guarded_is_due(uint64_t every);

/* A guarded block, zero; or NULL, as it is too long, or not to be had now. */
void *bedrock_guarded_alloc(struct bedrock_guarded *guarded, size_t bytes);

/* Free one: it goes into quarantine, and the oldest there are unmapped. */
void bedrock_guarded_free(struct bedrock_guarded *guarded, void *block);

/* Unmap the oldest in quarantine until only so many are left, or munmap refuses. */
void bedrock_guarded_release(struct bedrock_guarded *guarded, uint32_t keep_count);

/* All of them, on behalf of a request that was refused: no more often than munmap may like. */
void bedrock_guarded_relieve(struct bedrock_guarded *guarded);

/* Is the block, which has a huge block's header, a guarded one? */
static inline bool bedrock_guarded_holds(const void *block)
{
	return bedrock_chunk_of(block)->huge.is_guarded;
}

/* Would a guarded block of that length lie where this one does? */
bool bedrock_guarded_fits(const void *block, size_t bytes);

#endif
