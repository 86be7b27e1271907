/* SPDX-License-Identifier: MIT */
/*
 * The page allocator of one arena: runs of pages out of chunks.
 *
 * Free pages are bits in their chunk's maps, whatever state they rest in, so neighbours
 * coalesce by themselves. Chunks are kept in buckets by their longest free run; a request takes
 * the first fit in a chunk of the smallest bucket that can serve it, which keeps full chunks
 * full and lets empty ones become empty. Giving pages back to the kernel is decay's business:
 * this module only lends it pages (isolate) and takes them back (release).
 */
#ifndef BEDROCK_PAGES_H
#define BEDROCK_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/space.h"

#define BEDROCK_BUCKET_COUNT 36u

/*
 * lock covers everything that is not atomic, and the maps of all chunks; the atomics are
 * written under it and read by anybody. Invariant:
 *	bit b of bucket_bits is set exactly if buckets[b] is not empty
 *	a chunk is in the bucket of its longest_free, and on the list of all chunks
 *	rest_pages[k] is the sum of |rest[k]| over all chunks, used_pages that of used_count
 *	charged_pages is the sum of |charged| over all chunks, those that decay has in hand included
 *	charged_pages + credit_pages is what this arena has charged to the limit
 */
struct bedrock_pages {
	struct bedrock_lock lock;
	uint32_t chunk_count;
	struct bedrock_arena *arena;
	struct bedrock_space *space;
	struct bedrock_chunk *all;
	uint64_t bucket_bits;
	struct bedrock_chunk *buckets[BEDROCK_BUCKET_COUNT];
	/* Charged, and not yet spent: at most two batches. */
	uint64_t credit_pages;
	_Atomic(uint64_t) charged_pages;
	_Atomic(uint64_t) used_pages;
	_Atomic(uint64_t) rest_pages[BEDROCK_REST_COUNT];
};

/* What a run is wanted for. */
struct bedrock_pages_request {
	uint32_t page_count;
	/* First page at a multiple of this, a power of two. */
	uint32_t align_pages;
	/* A size class, or BEDROCK_CLASS_LARGE. */
	unsigned class_index;
	/* May a new chunk be mapped? */
	bool may_grow;
	/* Only pages that are charged already: the limit has no room for more. */
	bool is_frugal;
	/* Only where it can double in place; without alignment, not frugal. See bedrock_fit_room.
	 */
	bool is_growing;
};

void bedrock_pages_init(struct bedrock_pages *pages, struct bedrock_arena *arena,
			struct bedrock_space *space);

/*
 * Take a run. -> 0, -ENOMEM, or -EDQUOT for the memory limit. *is_zero tells that its memory is as
 * the kernel first made it; pages that were ever handed out do not count, even when madvise claims
 * to have dropped them.
 */
int bedrock_pages_alloc(struct bedrock_pages *pages, const struct bedrock_pages_request *request,
			struct bedrock_run **out, bool *is_zero);

/* Give a run back; its pages become dirty. */
void bedrock_pages_free(struct bedrock_pages *pages, struct bedrock_run *run);

/* Give back the tail of a large run. */
void bedrock_pages_shrink(struct bedrock_pages *pages, struct bedrock_run *run, uint32_t count);

/* Lengthen a large run where it stands. -> 0, -EDQUOT, or -ENOMEM if what is behind is in use. */
int bedrock_pages_extend(struct bedrock_pages *pages, struct bedrock_run *run, uint32_t count);

/*
 * Lengthen a large run by all free pages before it, and by those behind it that it needs. *run is
 * then the run that begins there, of `count` pages at least, and the old one a part of it. What is
 * too much is for the caller to give back when he has moved the content. -> 0, -EDQUOT or -ENOMEM.
 */
int bedrock_pages_extend_down(struct bedrock_pages *pages, struct bedrock_run **run,
			      uint32_t count);

/*
 * Lend resting pages out: take up to `range_max` ranges of pages that are both in *wanted and
 * resting in `kind`, so that nobody can allocate them. Clears the bits of *wanted it has dealt
 * with. -> the number of ranges, 0 when *wanted is exhausted.
 */
uint32_t bedrock_pages_isolate(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
			       enum bedrock_rest kind, struct bedrock_bitmap *wanted,
			       struct bedrock_range *ranges, uint32_t range_max);

/*
 * Take lent pages back; they rest in `kind`, or nowhere (clean) if kind is REST_COUNT: the
 * kernel has then taken them, and they are charged no more. That goes for whole pages of the
 * kernel; the ends of the range that are parts of larger ones are dirty in any case.
 */
void bedrock_pages_release(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
			   enum bedrock_rest kind, struct bedrock_range range);

/* Add a chunk, or take it away; the caller holds the lock. Only decay takes chunks away. */
void bedrock_pages_link(struct bedrock_pages *pages, struct bedrock_chunk *chunk);
void bedrock_pages_unlink(struct bedrock_pages *pages, struct bedrock_chunk *chunk);

/* A chunk with so many charged pages was unmapped. */
void bedrock_pages_forget(struct bedrock_pages *pages, uint32_t charged_count);

/* Return all credit to the limit. -> how many bytes that was. */
uint64_t bedrock_pages_return_credit(struct bedrock_pages *pages);

/* Does the invariant above the struct hold? The lock is held. */
bool bedrock_pages_is_valid(const struct bedrock_pages *pages);

#endif
