/* SPDX-License-Identifier: MIT */
/*
 * The bits of live blocks, as far as not every call needs them: leaves that are made, blocks that
 * reach over several, and what is asked for evidence.
 */
#include "stress/guard/leaf.h"

#include <stddef.h>
#include <sys/mman.h>

#include "injectors/syscall/raw.h"

#define LIMIT      (1ull << HQ_BLOCKS_ADDRESS_BITS)
#define LAST_UNITS (HQ_BLOCKS_COVERED >> HQ_LEAF_UNIT_BITS)

static void *map(size_t size)
{
	const long address = hq_raw6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return (unsigned long)address > -4096ul ? NULL : (void *)address;
}

static void unmap(void *address, size_t size)
{
	hq_raw3(SYS_munmap, (long)address, (long)size, 0);
}

static void link_leaf(struct hq_blocks *blocks, struct hq_blocks_leaf *leaf)
{
	leaf->older = hq_load_relaxed(&blocks->newest);
	/* Pairs with the acquire in hq_blocks_count. */
	while (!hq_cas_acq_rel(&blocks->newest, &leaf->older, leaf))
		continue;
}

static struct hq_blocks_leaf *make_leaf(struct hq_blocks *blocks, uint64_t index)
{
	struct hq_blocks_leaf *const made = map(sizeof(*made));
	struct hq_blocks_leaf *present = NULL;

	if (made == NULL)
		return NULL;
	/* Pairs with the acquire in hq_leaf_of. */
	if (!hq_cas_acq_rel(&blocks->leaves[index], &present, made)) {
		unmap(made, sizeof(*made));
		return present;
	}
	link_leaf(blocks, made);
	return made;
}

/* False outside the addresses that a program can have. */
static bool units_of(uint64_t address, uint64_t size, uint64_t *first, uint64_t *last)
{
	const uint64_t bytes = size == 0 ? 1 : size;

	if (address >= LIMIT || bytes > LIMIT - address)
		return false;
	*first = address >> HQ_LEAF_UNIT_BITS;
	*last = (address + bytes - 1) >> HQ_LEAF_UNIT_BITS;
	if (*last - *first >= LAST_UNITS)
		*last = *first + LAST_UNITS - 1;
	return true;
}

/* What a unit is; 0: no block covers it. */
static uint64_t unit_at(struct hq_blocks *blocks, uint64_t unit)
{
	struct hq_blocks_leaf *const leaf =
		unit < LIMIT >> HQ_LEAF_UNIT_BITS ? hq_leaf_of(blocks, unit) : NULL;

	return leaf ? hq_leaf_bits(leaf, unit) & 3 : 0;
}

static bool is_covered(struct hq_blocks *blocks, uint64_t unit)
{
	return unit_at(blocks, unit) != 0;
}

/* All leaves exist before the first bit is set: a block is entered whole or not at all. */
static bool make_leaves(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	for (uint64_t leaf = first / HQ_LEAF_UNITS; leaf <= last / HQ_LEAF_UNITS; leaf++)
		if (!hq_leaf_of(blocks, leaf * HQ_LEAF_UNITS) && !make_leaf(blocks, leaf))
			return false;
	return true;
}

/* The last unit of [from, last] that is in the leaf of `from`: nearly always `last` itself. */
static uint64_t last_in_leaf(uint64_t from, uint64_t last)
{
	const uint64_t last_of_leaf = from | (HQ_LEAF_UNITS - 1);

	return last_of_leaf < last ? last_of_leaf : last;
}

static uint64_t put(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	uint64_t found = HQ_LEAF_NONE, one, end;

	for (uint64_t unit = first; unit <= last; unit = end + 1) {
		end = last_in_leaf(unit, last);
		one = hq_leaf_put(hq_leaf_of(blocks, unit), unit, end, unit == first, end == last);
		found = found == HQ_LEAF_NONE ? one : found;
	}
	return found;
}

/* Takes them out; what the first one was. */
static uint64_t take(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	uint64_t before = 0, one, end;

	for (uint64_t unit = first; unit <= last; unit = end + 1) {
		end = last_in_leaf(unit, last);
		one = hq_leaf_take(hq_leaf_of(blocks, unit), unit, end);
		before = unit == first ? one : before;
	}
	return before;
}

enum hq_blocks_answer hq_blocks_enter(struct hq_blocks *blocks, uint64_t address, uint64_t size,
				      uint64_t *shared_offset)
{
	uint64_t first, last, found;

	if (!units_of(address, size, &first, &last) || !make_leaves(blocks, first, last))
		return HQ_BLOCKS_UNWATCHED;
	found = put(blocks, first, last);
	if (found == HQ_LEAF_NONE)
		return HQ_BLOCKS_ENTERED;
	/* The unit may begin before the block does. */
	found <<= HQ_LEAF_UNIT_BITS;
	*shared_offset = found > address ? found - address : 0;
	return HQ_BLOCKS_OVERLAP;
}

/* The unit of the first end from `first` on; HQ_LEAF_NONE: none is as near as one must be. */
static uint64_t find_end(struct hq_blocks *blocks, uint64_t first)
{
	uint64_t unit = first, end;

	while (unit - first < LAST_UNITS && unit < LIMIT >> HQ_LEAF_UNIT_BITS) {
		struct hq_blocks_leaf *const leaf = hq_leaf_of(blocks, unit);

		if (leaf == NULL)
			return HQ_LEAF_NONE;
		end = hq_leaf_end(leaf, unit);
		if (end != HQ_LEAF_NONE)
			return end - first < LAST_UNITS ? end : HQ_LEAF_NONE;
		unit = (unit | (HQ_LEAF_UNITS - 1)) + 1;
	}
	return HQ_LEAF_NONE;
}

/* The last unit of the block that begins at the address; HQ_LEAF_NONE: no block does. */
static uint64_t find_block(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> HQ_LEAF_UNIT_BITS;

	return address < LIMIT && unit_at(blocks, first) & HQ_UNIT_FIRST ? find_end(blocks, first)
									 : HQ_LEAF_NONE;
}

uint64_t hq_blocks_size(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> HQ_LEAF_UNIT_BITS;
	const uint64_t last = find_block(blocks, address);

	return last == HQ_LEAF_NONE ? 0 : (last - first + 1) << HQ_LEAF_UNIT_BITS;
}

uint64_t hq_blocks_leave(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> HQ_LEAF_UNIT_BITS;
	const uint64_t last = find_block(blocks, address);

	if (last == HQ_LEAF_NONE || !(take(blocks, first, last) & HQ_UNIT_FIRST))
		return 0;
	return (last - first + 1) << HQ_LEAF_UNIT_BITS;
}

bool hq_blocks_touch(struct hq_blocks *blocks, uint64_t address, uint64_t size, uint64_t *offset)
{
	uint64_t first, last;

	if (!units_of(address, size, &first, &last))
		return false;
	*offset = 0;
	if (is_covered(blocks, first))
		return true;
	if (last == first || !is_covered(blocks, last))
		return false;
	*offset = (last << HQ_LEAF_UNIT_BITS) - address;
	return true;
}

uint64_t hq_blocks_holder(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t covering = address >> HQ_LEAF_UNIT_BITS;
	uint64_t unit = covering, below;

	if (!is_covered(blocks, unit))
		return 0;
	while (unit && covering - unit < LAST_UNITS) {
		below = unit_at(blocks, unit - 1);
		if (below != HQ_UNIT_INSIDE && below != HQ_UNIT_FIRST)
			return unit << HQ_LEAF_UNIT_BITS;
		unit--;
		if (below == HQ_UNIT_FIRST)
			return unit << HQ_LEAF_UNIT_BITS;
	}
	return 0;
}

uint64_t hq_blocks_before(struct hq_blocks *blocks, uint64_t address, uint64_t reach)
{
	const uint64_t unit = address >> HQ_LEAF_UNIT_BITS;

	for (uint64_t away = 1; away <= reach >> HQ_LEAF_UNIT_BITS && away <= unit; away++)
		if (is_covered(blocks, unit - away))
			return hq_blocks_holder(blocks, (unit - away) << HQ_LEAF_UNIT_BITS);
	return 0;
}

uint64_t hq_blocks_behind(struct hq_blocks *blocks, uint64_t address, uint64_t reach)
{
	const uint64_t unit = (address + HQ_BLOCKS_UNIT - 1) >> HQ_LEAF_UNIT_BITS;

	for (uint64_t away = 0; away <= reach >> HQ_LEAF_UNIT_BITS; away++)
		/* The rest of a block that shares this memory is no neighbour. */
		if (is_covered(blocks, unit + away))
			return unit_at(blocks, unit + away) & HQ_UNIT_FIRST
				       ? (unit + away) << HQ_LEAF_UNIT_BITS
				       : 0;
	return 0;
}

void hq_blocks_count(struct hq_blocks *blocks, uint64_t *count, uint64_t *bytes)
{
	uint64_t ends = 0, covered = 0;

	/* Pairs with the exchange in link_leaf. */
	for (struct hq_blocks_leaf *leaf = hq_load_acquire(&blocks->newest); leaf;
	     leaf = leaf->older) {
		for (uint64_t i = 0; i < HQ_LEAF_WORDS; i++) {
			const uint64_t word = hq_load_relaxed(&leaf->words[i]);

			if (word == 0)
				continue;
			ends += (uint64_t)__builtin_popcountll(word & word >> 1 & HQ_ALL_INSIDE);
			covered +=
				(uint64_t)__builtin_popcountll((word | word >> 1) & HQ_ALL_INSIDE);
		}
	}
	*count = ends;
	*bytes = covered << HQ_LEAF_UNIT_BITS;
}
