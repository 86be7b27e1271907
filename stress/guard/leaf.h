/* SPDX-License-Identifier: MIT */
/*
 * The bits of live blocks as they lie in memory, and what is asked of them with every call: is
 * this the start of a block, is that memory free, enter and leave a block whose bits are in one
 * leaf. Inline, since a call of the allocator takes no more than some twenty nanoseconds itself.
 * Everything else about them is in blocks.c.
 *
 * Neighbours share words at their ends, so those are changed by atomic or and and; the words
 * between belong to one block alone and are plainly stored.
 */
#ifndef HQ_STRESS_GUARD_LEAF_H
#define HQ_STRESS_GUARD_LEAF_H

#include <stddef.h>

#include "stress/guard/blocks.h"

#define HQ_LEAF_UNIT_BITS  3u
#define HQ_LEAF_WORD_BITS  5u /* units in a word */
#define HQ_LEAF_UNITS      (1ull << (HQ_BLOCKS_LEAF_BITS - HQ_LEAF_UNIT_BITS))
#define HQ_LEAF_WORDS      (HQ_LEAF_UNITS >> HQ_LEAF_WORD_BITS)
#define HQ_LEAF_WORD_UNITS (1u << HQ_LEAF_WORD_BITS)

/* What a unit is; the bits are such that or puts it there and tells what was there. */
#define HQ_UNIT_INSIDE 1ull
#define HQ_UNIT_FIRST  2ull
#define HQ_UNIT_LAST   3ull
#define HQ_ALL_INSIDE  0x5555555555555555ull

struct hq_blocks_leaf {
	_Atomic uint64_t words[HQ_LEAF_WORDS];
	struct hq_blocks_leaf *older;
};

/* The leaf of a unit below HQ_BLOCKS_ADDRESS_BITS; NULL: nothing was ever live there. */
static inline struct hq_blocks_leaf *hq_leaf_of(struct hq_blocks *blocks, uint64_t unit)
{
	/* Pairs with the exchange in make_leaf. */
	return hq_load_acquire(&blocks->leaves[unit / HQ_LEAF_UNITS]);
}

static inline _Atomic uint64_t *hq_leaf_word(struct hq_blocks_leaf *leaf, uint64_t unit)
{
	return &leaf->words[(unit >> HQ_LEAF_WORD_BITS) % HQ_LEAF_WORDS];
}

/* Where the bits of a unit begin in its word. */
static inline uint32_t hq_leaf_shift(uint64_t unit)
{
	return (uint32_t)(unit % HQ_LEAF_WORD_UNITS) * 2;
}

static inline uint64_t hq_leaf_bits(struct hq_blocks_leaf *leaf, uint64_t unit)
{
	return hq_load_relaxed(hq_leaf_word(leaf, unit)) >> hq_leaf_shift(unit);
}

/* Does a block begin there? Also true where nothing can be told. */
static inline bool hq_blocks_may_begin(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t unit = address >> HQ_LEAF_UNIT_BITS;
	struct hq_blocks_leaf *leaf;

	if (address >> HQ_BLOCKS_ADDRESS_BITS)
		return true;
	leaf = hq_leaf_of(blocks, unit);
	return leaf && (hq_leaf_bits(leaf, unit) & HQ_UNIT_FIRST) != 0;
}

/* No live block covers the first or the last byte. False also where nothing can be told. */
static inline bool hq_blocks_are_clear(struct hq_blocks *blocks, uint64_t address, uint64_t size)
{
	const uint64_t unit = address >> HQ_LEAF_UNIT_BITS;
	const uint64_t last = (address + size - (size != 0)) >> HQ_LEAF_UNIT_BITS;
	struct hq_blocks_leaf *leaf;

	if ((address | size | (address + size)) >> HQ_BLOCKS_ADDRESS_BITS)
		return false;
	leaf = hq_leaf_of(blocks, unit);
	/* Blocks rarely reach into another leaf. */
	if (__builtin_expect((last ^ unit) >= HQ_LEAF_UNITS, 0))
		return false;
	return !leaf || ((hq_leaf_bits(leaf, unit) | hq_leaf_bits(leaf, last)) & 3) == 0;
}

/* All bits of the units from..last of one word. */
static inline uint64_t hq_leaf_mask(uint64_t from, uint64_t last)
{
	return ~0ull << hq_leaf_shift(from) & ~0ull >> (62 - hq_leaf_shift(last));
}

/* The last unit whose bits are in the same word. */
static inline uint64_t hq_leaf_word_end(uint64_t unit)
{
	return unit | (HQ_LEAF_WORD_UNITS - 1);
}

/* The lowest unit of which `bits`, cut out of the word that holds `unit`, have something. */
static inline uint64_t hq_leaf_lowest(uint64_t bits, uint64_t unit)
{
	return (unit & ~(uint64_t)(HQ_LEAF_WORD_UNITS - 1)) + (uint64_t)__builtin_ctzll(bits) / 2;
}

#define HQ_LEAF_NONE UINT64_MAX

/*
 * Puts units of a block into a leaf; does the block begin with the first, and end with the last?
 * The first unit that was in use before, or HQ_LEAF_NONE: then the block has been alone.
 */
static inline uint64_t hq_leaf_put(struct hq_blocks_leaf *leaf, uint64_t first, uint64_t last,
				   bool begins, bool ends)
{
	const uint64_t begin =
		begins ? (HQ_UNIT_INSIDE ^ HQ_UNIT_FIRST) << hq_leaf_shift(first) : 0;
	const uint64_t end = ends ? HQ_UNIT_LAST << hq_leaf_shift(last) : 0;
	_Atomic uint64_t *word = hq_leaf_word(leaf, first);
	uint64_t mask = hq_leaf_mask(first, hq_leaf_word_end(first)), before, found = HQ_LEAF_NONE;

	if (last <= hq_leaf_word_end(first)) {
		mask = hq_leaf_mask(first, last);
		before = hq_fetch_or_relaxed(word, ((HQ_ALL_INSIDE & mask) ^ begin) | end) & mask;
		return before ? hq_leaf_lowest(before, first) : HQ_LEAF_NONE;
	}
	before = hq_fetch_or_relaxed(word, (HQ_ALL_INSIDE & mask) ^ begin) & mask;
	if (before)
		found = hq_leaf_lowest(before, first);
	for (first = hq_leaf_word_end(first) + 1, word++; hq_leaf_word_end(first) < last;
	     first += HQ_LEAF_WORD_UNITS, word++) {
		before = hq_load_relaxed(word);
		hq_store_relaxed(word, HQ_ALL_INSIDE);
		if (before && found == HQ_LEAF_NONE)
			found = hq_leaf_lowest(before, first);
	}
	mask = hq_leaf_mask(first, last);
	before = hq_fetch_or_relaxed(word, (HQ_ALL_INSIDE & mask) | end) & mask;
	return before && found == HQ_LEAF_NONE ? hq_leaf_lowest(before, first) : found;
}

/* The first unit from `first` on with which a block ends; HQ_LEAF_NONE: none does in the leaf. */
static inline uint64_t hq_leaf_end(struct hq_blocks_leaf *leaf, uint64_t first)
{
	const uint64_t limit = (first | (HQ_LEAF_UNITS - 1)) + 1;
	_Atomic uint64_t *word = hq_leaf_word(leaf, first);
	uint64_t bits = hq_load_relaxed(word) & ~0ull << hq_leaf_shift(first);

	for (;;) {
		const uint64_t ends = bits & bits >> 1 & HQ_ALL_INSIDE;

		if (ends)
			return hq_leaf_lowest(ends, first);
		first = hq_leaf_word_end(first) + 1;
		if (first == limit)
			return HQ_LEAF_NONE;
		bits = hq_load_relaxed(++word);
	}
}

/*
 * Takes the units out. What the first was: of two threads that free one block at a time, one is
 * told that a block begins there.
 */
static inline uint64_t hq_leaf_take(struct hq_blocks_leaf *leaf, uint64_t first, uint64_t last)
{
	const uint32_t shift = hq_leaf_shift(first);
	_Atomic uint64_t *word = hq_leaf_word(leaf, first);
	uint64_t before;

	if (last <= hq_leaf_word_end(first))
		return hq_fetch_and_relaxed(word, ~hq_leaf_mask(first, last)) >> shift & 3;
	before = hq_fetch_and_relaxed(word, ~hq_leaf_mask(first, hq_leaf_word_end(first)));
	for (first = hq_leaf_word_end(first) + 1, word++; hq_leaf_word_end(first) < last;
	     first += HQ_LEAF_WORD_UNITS, word++)
		hq_store_relaxed(word, 0);
	hq_fetch_and_relaxed(word, ~hq_leaf_mask(first, last));
	return before >> shift & 3;
}

/*
 * The ways of nearly all blocks: their leaf is there, and they are in it whole. False and 0: this
 * may be no such block, and the functions of blocks.h tell. What shared memory comes out as above.
 */
static inline bool hq_blocks_enter_quickly(struct hq_blocks *blocks, uint64_t address,
					   uint64_t size, uint64_t *shared_unit)
{
	const uint64_t first = address >> HQ_LEAF_UNIT_BITS;
	const uint64_t last = (address + size - (size != 0)) >> HQ_LEAF_UNIT_BITS;
	struct hq_blocks_leaf *leaf;

	if (address >> HQ_BLOCKS_ADDRESS_BITS || (last ^ first) >= HQ_LEAF_UNITS)
		return false;
	leaf = hq_leaf_of(blocks, first);
	if (!leaf)
		return false;
	*shared_unit = hq_leaf_put(leaf, first, last, true, true);
	return true;
}

static inline uint64_t hq_blocks_leave_quickly(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> HQ_LEAF_UNIT_BITS;
	struct hq_blocks_leaf *leaf;
	uint64_t last;

	if (address >> HQ_BLOCKS_ADDRESS_BITS || !(leaf = hq_leaf_of(blocks, first)) ||
	    !(hq_leaf_bits(leaf, first) & HQ_UNIT_FIRST))
		return 0;
	last = hq_leaf_end(leaf, first);
	if (last == HQ_LEAF_NONE || !(hq_leaf_take(leaf, first, last) & HQ_UNIT_FIRST))
		return 0;
	return (last - first + 1) << HQ_LEAF_UNIT_BITS;
}

#endif
