/* SPDX-License-Identifier: MIT */
/*
 * The map of live blocks: a tree of three levels over 48 bits of address, whose leaves are the bits
 * of 4 MiB each. Levels are mapped when a block first needs them, and stay.
 */
#include "allocator/bedrock/live.h"

#include <string.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/fast.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/misuse.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/slab.h"

#define BEDROCK_LIVE_GRAIN_SHIFT 4
#define BEDROCK_LIVE_WORD_SHIFT  (BEDROCK_LIVE_GRAIN_SHIFT + 6)
#define BEDROCK_LIVE_LEAF_SHIFT  22
#define BEDROCK_LIVE_SLOT_SHIFT  13
#define BEDROCK_LIVE_SLOTS       ((size_t)1 << BEDROCK_LIVE_SLOT_SHIFT)
#define BEDROCK_LIVE_WORDS       ((size_t)1 << (BEDROCK_LIVE_LEAF_SHIFT - BEDROCK_LIVE_WORD_SHIFT))
/* How far below an address the block is looked for that it may be inside of. */
#define BEDROCK_LIVE_REACH_BYTES ((uintptr_t)1 << 32)

struct bedrock_live_leaf {
	_Atomic(uint64_t) words[BEDROCK_LIVE_WORDS];
};

struct bedrock_live_branch {
	_Atomic(uintptr_t) leaves[BEDROCK_LIVE_SLOTS];
};

static struct {
	_Atomic(uintptr_t) branches[BEDROCK_LIVE_SLOTS];
	/* Some block could not be noted, so what is not on the map may be a block. */
	_Atomic(uint32_t) has_gaps;
} bedrock_live_map;

/* What a slot leads to, mapped now if it is wanted and not there; or NULL. */
static void *bedrock_live_follow(_Atomic(uintptr_t) *slot, size_t bytes, bool is_wanted)
{
	uintptr_t there = bedrock_load_acquire(slot);
	void *fresh;

	if (there || !is_wanted || bedrock_os_map(NULL, bytes, &fresh))
		return (void *)there;
	/* Pairs with the load above. */
	if (bedrock_cas_acq_rel(slot, &there, (uintptr_t)fresh))
		return fresh;
	bedrock_os_unmap(fresh, bytes);
	return (void *)there;
}

static struct bedrock_live_leaf *bedrock_live_leaf_of(uintptr_t address, bool is_wanted)
{
	size_t leaf = address >> BEDROCK_LIVE_LEAF_SHIFT;
	size_t branch = leaf >> BEDROCK_LIVE_SLOT_SHIFT;
	struct bedrock_live_branch *found;

	if (branch >= BEDROCK_LIVE_SLOTS)
		return NULL;
	found = bedrock_live_follow(&bedrock_live_map.branches[branch],
				    sizeof(struct bedrock_live_branch), is_wanted);
	if (!found)
		return NULL;
	return bedrock_live_follow(&found->leaves[leaf & (BEDROCK_LIVE_SLOTS - 1)],
				   sizeof(struct bedrock_live_leaf), is_wanted);
}

static _Atomic(uint64_t) *bedrock_live_word(struct bedrock_live_leaf *leaf, uintptr_t address)
{
	return &leaf->words[address >> BEDROCK_LIVE_WORD_SHIFT & (BEDROCK_LIVE_WORDS - 1)];
}

static uint64_t bedrock_live_bit(uintptr_t address)
{
	return UINT64_C(1) << (address >> BEDROCK_LIVE_GRAIN_SHIFT & 63);
}

bool bedrock_live_add(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	struct bedrock_live_leaf *leaf = bedrock_live_leaf_of(address, true);
	uint64_t bit = bedrock_live_bit(address);

	if (!leaf) {
		bedrock_store_relaxed(&bedrock_live_map.has_gaps, 1);
		return true;
	}
	return !(bedrock_or_relaxed(bedrock_live_word(leaf, address), bit) & bit);
}

static bool bedrock_live_clear(uintptr_t address)
{
	struct bedrock_live_leaf *leaf = bedrock_live_leaf_of(address, false);
	uint64_t bit = bedrock_live_bit(address);

	/* No block begins between two grains. */
	return leaf && !(address & ((1u << BEDROCK_LIVE_GRAIN_SHIFT) - 1)) &&
	       (bedrock_and_relaxed(bedrock_live_word(leaf, address), ~bit) & bit);
}

bool bedrock_live_remove(const void *block)
{
	return bedrock_live_clear((uintptr_t)block) ||
	       bedrock_load_relaxed(&bedrock_live_map.has_gaps);
}

bool bedrock_live_knows(const void *block)
{
	return bedrock_live_leaf_of((uintptr_t)block, false) != NULL;
}

/* The last live block that begins in the word of an address, and not behind it; or 0. */
static uintptr_t bedrock_live_last_in_word(struct bedrock_live_leaf *leaf, uintptr_t address)
{
	uint64_t bit = bedrock_live_bit(address);
	uint64_t bits = bedrock_load_relaxed(bedrock_live_word(leaf, address)) & (bit | (bit - 1));
	uintptr_t first = address >> BEDROCK_LIVE_WORD_SHIFT << BEDROCK_LIVE_WORD_SHIFT;

	if (bits == 0)
		return 0;
	return first + ((uintptr_t)(63 - __builtin_clzll(bits)) << BEDROCK_LIVE_GRAIN_SHIFT);
}

/* The last live block that begins at or below an address, within reach; or 0. */
static uintptr_t bedrock_live_last(uintptr_t address)
{
	uintptr_t least =
		address > BEDROCK_LIVE_REACH_BYTES ? address - BEDROCK_LIVE_REACH_BYTES : 0;

	while (address > least) {
		struct bedrock_live_leaf *leaf = bedrock_live_leaf_of(address, false);
		unsigned shift = leaf ? BEDROCK_LIVE_WORD_SHIFT : BEDROCK_LIVE_LEAF_SHIFT;
		uintptr_t start = leaf ? bedrock_live_last_in_word(leaf, address) : 0;

		if (start)
			return start;
		if (address >> shift == 0)
			return 0;
		address = (address >> shift << shift) - 1;
	}
	return 0;
}

enum bedrock_live bedrock_live_find(const void *address, void **start)
{
	uintptr_t block = bedrock_live_last((uintptr_t)address);

	*start = (void *)block;
	if (block && block == (uintptr_t)address)
		return BEDROCK_LIVE_BLOCK;
	if (block && (uintptr_t)address - block < bedrock_fast_bytes(*start))
		return BEDROCK_LIVE_INSIDE;
	return bedrock_live_leaf_of((uintptr_t)address, false) ? BEDROCK_LIVE_FREE
							       : BEDROCK_LIVE_FOREIGN;
}

bool bedrock_live_is_block(const void *block)
{
	void *start;

	return bedrock_load_relaxed(&bedrock_live_map.has_gaps) ||
	       bedrock_live_find(block, &start) == BEDROCK_LIVE_BLOCK;
}

static _Noreturn void bedrock_live_accuse(const char *call, const void *address)
{
	void *start;
	enum bedrock_live kind = bedrock_live_find(address, &start);
	const void *chunk = bedrock_chunk_of(address);
	size_t bytes;

	if (kind == BEDROCK_LIVE_INSIDE)
		bedrock_misuse_inside(call, address, start, bedrock_fast_bytes(start));
	if (kind == BEDROCK_LIVE_FOREIGN)
		bedrock_misuse_foreign(call, address);
	/* The chunk may be gone with its last block. */
	const void *block = bedrock_os_is_mapped((void *)(uintptr_t)chunk)
				    ? bedrock_slab_block_around(address, &bytes)
				    : NULL;

	if (block)
		bedrock_misuse_free_block(call, address, block, bytes);
	bedrock_misuse_no_block(call, address);
}

void *bedrock_live_give(void *block)
{
	if (block && !bedrock_heap.space.is_watched && !bedrock_live_add(block))
		bedrock_misuse_given_twice(block);
	return block;
}

void bedrock_live_take(const char *call, const void *block)
{
	if (!bedrock_heap.space.is_watched && !bedrock_live_remove(block))
		bedrock_live_accuse(call, block);
}

void bedrock_live_ask(const char *call, const void *block)
{
	if (!bedrock_heap.space.is_watched && !bedrock_live_is_block(block))
		bedrock_live_accuse(call, block);
}

#if BEDROCK_DEBUG >= 3

static void bedrock_live_fill(void *block, int byte)
{
	size_t bytes = bedrock_fast_bytes(block);

	if (bytes <= BEDROCK_SMALL_MAX_BYTES)
		memset(block, byte, bytes);
}

void *bedrock_live_filled(void *block)
{
	if (block && !bedrock_heap.space.is_watched)
		bedrock_live_fill(block, BEDROCK_FRESH_BYTE);
	return bedrock_live_give(block);
}

void bedrock_live_freed(void *block)
{
	bedrock_live_take("free", block);
	if (!bedrock_heap.space.is_watched)
		bedrock_live_fill(block, BEDROCK_FREED_BYTE);
}

#endif
