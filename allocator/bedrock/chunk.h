/* SPDX-License-Identifier: MIT */
/*
 * The nouns of the address space, and how a pointer finds them.
 *
 *   page   4 KiB, the unit of everything below; the kernel's own page may be larger
 *   chunk  a 4 MiB aligned mapping: a header, then pages. It belongs to one arena
 *   run    consecutive pages of a chunk with one use: a slab or one large block
 *   slab   a run cut into blocks of one size class
 *   huge   a block with a mapping of its own, whose first page looks like a chunk header
 *
 * An arena contains chunks, a chunk contains runs, a slab contains blocks. From a block the
 * chunk is found by masking, the size class in the chunk's page map, the run by the page's head.
 * The header is a few pages away from the first block, and no list runs through user memory
 * except that of free blocks.
 */
#ifndef BEDROCK_CHUNK_H
#define BEDROCK_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/bitmap.h"
#include "allocator/bedrock/classes.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/space.h"

#define BEDROCK_PAGE_SHIFT  12
#define BEDROCK_PAGE_BYTES  ((size_t)1 << BEDROCK_PAGE_SHIFT)
#define BEDROCK_CHUNK_PAGES ((uint32_t)(BEDROCK_CHUNK_BYTES / BEDROCK_PAGE_BYTES))

struct bedrock_arena;
struct bedrock_chunk;

/* Where an unused but still resident page rests. */
enum bedrock_rest {
	BEDROCK_REST_DIRTY,
	BEDROCK_REST_MUZZY,
	BEDROCK_REST_COUNT,
};

/* Which list of its bin a slab is on. */
enum bedrock_slab_list {
	/* Has returned blocks to give. */
	BEDROCK_SLAB_PARTIAL,
	/* Has none, but blocks that were never handed out. */
	BEDROCK_SLAB_CARVING,
	BEDROCK_SLAB_LIST_COUNT,
	/* Has nothing to give. */
	BEDROCK_SLAB_UNLISTED = BEDROCK_SLAB_LIST_COUNT,
};

/*
 * One per page; valid for the first page of a run in use.
 *
 * For a slab, with c(remote) the count packed into `remote`:
 *	free_count + c(remote) + blocks in use or in thread caches == carved_count
 *	carved_count <= capacity, and free_count is the length of the list `free`
 *	listed == PARTIAL exactly if free_count > 0
 *	listed == CARVING exactly if free_count == 0 and carved_count < capacity
 *	a slab with c(remote) > 0 is, or is about to be, exactly once on its bin's pending list
 *		or backlog
 *
 * `remote` packs the first block into the low 48 bits and the count into the high 16: user
 * addresses fit, since no mapping above 2^47 is ever asked for by hint.
 */
struct bedrock_run {
	_Atomic(uint64_t) remote;
	struct bedrock_run *pending_next;
	void *free;
	struct bedrock_run *next;
	struct bedrock_run *prev;
	uint32_t block_bytes;
	uint16_t free_count;
	uint16_t capacity;
	uint16_t carved_count;
	uint16_t page_count;
	uint8_t class_index;
	uint8_t listed;
	/* Every page was in memory when the run was taken. */
	bool is_resident;
	/* The end of the list in `remote`; written by who made it nonzero. */
	void *remote_last;
} __attribute__((aligned(64)));

/*
 * Only in chunks that are one huge block. charged_bytes is mapped_bytes, less the gap before a
 * block with a large alignment, which nobody touches; of a purged one the header only.
 */
struct bedrock_huge_part {
	size_t mapped_bytes;
	/*
	 * How far the block goes; written by its owner only. What is mapped beyond it is spare, and
	 * decay may cut it off. Less than mapped_bytes exactly on the ring of those.
	 */
	size_t used_bytes;
	/* Where the block begins, or 0 while there is none. */
	size_t offset_bytes;
	uint64_t freed_ns;
	struct bedrock_chunk *next;
	struct bedrock_chunk *prev;
	/* How much of mapped_bytes is charged. */
	size_t charged_bytes;
	/* Its pages were given back while munmap refused the mapping. */
	bool is_purged;
	/* On the ring of those with something to spare. */
	bool has_spare;
	/* Its block is not huge, but guarded: see guarded.h. */
	bool is_guarded;
};

/*
 * The header of a chunk. Invariant, with u the set bits of `used` and r(k) those of rest[k]:
 *	used_count == |u|, the header's own pages not counted but set in `used`
 *	u, r(DIRTY) and r(MUZZY) are disjoint; aged[k] is a subset of rest[k]
 *	u and r(k) are subsets of `charged`, and so is what the kernel holds of the chunk
 *	r(k) is a subset of `touched`; longest_free is the longest run of clear bits in `used`
 * The maps are covered by the lock of the arena's pages. key_of and head_of of a run are
 * written while nobody else knows the run's blocks, and read without a lock.
 */
struct bedrock_chunk {
	/* NULL for a huge block. */
	struct bedrock_arena *arena;
	struct bedrock_chunk *bucket_next;
	struct bedrock_chunk *bucket_prev;
	struct bedrock_chunk *all_next;
	struct bedrock_chunk *all_prev;
	uint32_t longest_free;
	uint32_t used_count;
	uint32_t bucket;
	union {
		struct bedrock_huge_part huge;
		/* Of an arena's chunk: when decay looks next; it alone reads and writes them. */
		uint64_t look_ns[BEDROCK_REST_COUNT];
	};
	/* Keys. One more than there are pages: a block at the very end of the mask range is huge.
	 */
	uint8_t key_of[BEDROCK_CHUNK_PAGES + 1];

	struct bedrock_bitmap used;
	/* Pages that were ever handed out: all others are zero as the kernel made them. */
	struct bedrock_bitmap touched;
	/* Pages that may be resident: see limit.h. */
	struct bedrock_bitmap charged;
	struct bedrock_bitmap rest[BEDROCK_REST_COUNT];
	/* Resting pages that already rested when the chunk was last visited by decay. */
	struct bedrock_bitmap aged[BEDROCK_REST_COUNT];
	/* For each page of a slab, the index of the slab's first page. */
	uint16_t head_of[BEDROCK_CHUNK_PAGES];
	struct bedrock_run runs[BEDROCK_CHUNK_PAGES];
};

#define BEDROCK_CHUNK_HEADER_PAGES                                                                 \
	((uint32_t)((sizeof(struct bedrock_chunk) + BEDROCK_PAGE_BYTES - 1) >> BEDROCK_PAGE_SHIFT))
#define BEDROCK_RUN_PAGES_MAX (BEDROCK_CHUNK_PAGES - BEDROCK_CHUNK_HEADER_PAGES)

_Static_assert(offsetof(struct bedrock_chunk, used) <= BEDROCK_PAGE_BYTES,
	       "a huge block has only the first page of a chunk header");
_Static_assert(BEDROCK_CLASS_LARGE << BEDROCK_KEY_SHIFT <= UINT8_MAX,
	       "a key fits into the page map");
_Static_assert(BEDROCK_BITMAP_BITS == BEDROCK_CHUNK_PAGES, "one bit per page");
_Static_assert(sizeof(struct bedrock_run) == 64, "one cache line per run");

/*
 * The chunk of a block. One less than the address, since a huge block with a large
 * alignment may begin where the mask range of its header ends.
 */
static inline struct bedrock_chunk *bedrock_chunk_of(const void *block)
{
	return (struct bedrock_chunk *)(((uintptr_t)block - 1) & ~(BEDROCK_CHUNK_BYTES - 1));
}

static inline size_t bedrock_chunk_page_index(const struct bedrock_chunk *chunk, const void *block)
{
	return (size_t)((uintptr_t)block - (uintptr_t)chunk) >> BEDROCK_PAGE_SHIFT;
}

/* The page map's answer, as a key. */
static inline size_t bedrock_chunk_key_of(const void *block)
{
	const struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	return chunk->key_of[bedrock_chunk_page_index(chunk, block)];
}

/* The same as a size class, BEDROCK_CLASS_LARGE, or BEDROCK_CLASS_NONE for huge. */
static inline unsigned bedrock_chunk_class_of(const void *block)
{
	return (unsigned)(bedrock_chunk_key_of(block) >> BEDROCK_KEY_SHIFT);
}

/* The slab that contains a small block. */
static inline struct bedrock_run *bedrock_chunk_slab_of(const void *block)
{
	struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	return &chunk->runs[chunk->head_of[bedrock_chunk_page_index(chunk, block)]];
}

/* The run that begins at a large block. */
static inline struct bedrock_run *bedrock_chunk_run_at(const void *block)
{
	struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	return &chunk->runs[bedrock_chunk_page_index(chunk, block)];
}

static inline struct bedrock_chunk *bedrock_run_chunk(const struct bedrock_run *run)
{
	return (struct bedrock_chunk *)((uintptr_t)run & ~(BEDROCK_CHUNK_BYTES - 1));
}

static inline uint32_t bedrock_run_first(const struct bedrock_run *run)
{
	return (uint32_t)(run - bedrock_run_chunk(run)->runs);
}

static inline char *bedrock_run_start(const struct bedrock_run *run)
{
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);

	return (char *)chunk + ((size_t)bedrock_run_first(run) << BEDROCK_PAGE_SHIFT);
}

/* Set up the header of a freshly mapped chunk; the mapping is zero. */
void bedrock_chunk_init(struct bedrock_chunk *chunk, struct bedrock_arena *arena);

/* The range made larger, or smaller, until it consists of whole pages of the kernel. */
static inline struct bedrock_range bedrock_chunk_whole_os_pages(struct bedrock_range range)
{
	uint32_t mask = (uint32_t)(bedrock_os_page_bytes() >> BEDROCK_PAGE_SHIFT) - 1;
	uint32_t end = (range.first + range.count + mask) & ~mask;

	range.first &= ~mask;
	range.count = end - range.first;
	return range;
}

static inline struct bedrock_range bedrock_chunk_inner_os_pages(struct bedrock_range range)
{
	uint32_t mask = (uint32_t)(bedrock_os_page_bytes() >> BEDROCK_PAGE_SHIFT) - 1;
	uint32_t end = (range.first + range.count) & ~mask;

	range.first = (range.first + mask) & ~mask;
	range.count = end > range.first ? end - range.first : 0;
	return range;
}

/* Does the invariant above the struct hold? The arena's pages lock is held. */
bool bedrock_chunk_is_valid(const struct bedrock_chunk *chunk);

/* Does a slab fulfil its invariant? The bin's lock is held. */
bool bedrock_slab_is_valid(const struct bedrock_run *run);

#endif
