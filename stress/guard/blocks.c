/* SPDX-License-Identifier: MIT */
/*
 * The bits of live blocks. Neighbours share words at their ends, so those are changed by atomic or
 * and and; the words between belong to one block alone and are plainly stored.
 */
#include "stress/guard/blocks.h"

#include <stddef.h>
#include <sys/mman.h>

#include "injectors/syscall/raw.h"

#define UNIT_BITS  3u
#define WORD_BITS  5u /* units in a word */
#define WORDS      (1ull << (HQ_BLOCKS_LEAF_BITS - UNIT_BITS - WORD_BITS))
#define MIDDLE     (1u << HQ_BLOCKS_MIDDLE_BITS)
#define LIMIT      (1ull << HQ_BLOCKS_ADDRESS_BITS)
#define NONE       UINT64_MAX
#define LEAF_UNITS (1ull << (HQ_BLOCKS_LEAF_BITS - UNIT_BITS))
#define LAST_UNITS (HQ_BLOCKS_COVERED >> UNIT_BITS)

/* What a unit is; the bits are such that or puts it there and tells what was there. */
#define UNIT_INSIDE 1ull
#define UNIT_FIRST  2ull
#define UNIT_LAST   3ull
#define ALL_INSIDE  0x5555555555555555ull

struct hq_blocks_leaf {
	struct hq_blocks_leaf *older;
	_Atomic uint64_t words[WORDS];
};

struct hq_blocks_middle {
	_Atomic(struct hq_blocks_leaf *) leaves[MIDDLE];
};

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

static struct hq_blocks_middle *make_middle(struct hq_blocks *blocks, uint64_t index)
{
	struct hq_blocks_middle *const made = map(sizeof(*made));
	struct hq_blocks_middle *present = NULL;

	if (made == NULL)
		return NULL;
	/* Pairs with the acquire in find_leaf. */
	if (hq_cas_acq_rel(&blocks->top[index], &present, made))
		return made;
	unmap(made, sizeof(*made));
	return present;
}

static void link_leaf(struct hq_blocks *blocks, struct hq_blocks_leaf *leaf)
{
	leaf->older = hq_load_relaxed(&blocks->newest);
	/* Pairs with the acquire in hq_blocks_count. */
	while (!hq_cas_acq_rel(&blocks->newest, &leaf->older, leaf))
		continue;
}

static struct hq_blocks_leaf *make_leaf(struct hq_blocks *blocks, struct hq_blocks_middle *middle,
					uint64_t index)
{
	struct hq_blocks_leaf *const made = map(sizeof(*made));
	struct hq_blocks_leaf *present = NULL;

	if (made == NULL)
		return NULL;
	/* Pairs with the acquire in find_leaf. */
	if (!hq_cas_acq_rel(&middle->leaves[index], &present, made)) {
		unmap(made, sizeof(*made));
		return present;
	}
	link_leaf(blocks, made);
	return made;
}

/* The leaf of a unit, made if it is missing and wanted; NULL without. */
static struct hq_blocks_leaf *find_leaf(struct hq_blocks *blocks, uint64_t unit, bool make)
{
	const uint64_t leaf_index = unit >> (HQ_BLOCKS_LEAF_BITS - UNIT_BITS);
	const uint64_t top_index = leaf_index >> HQ_BLOCKS_MIDDLE_BITS;
	/* Pairs with the exchange in make_middle. */
	struct hq_blocks_middle *middle = hq_load_acquire(&blocks->top[top_index]);
	struct hq_blocks_leaf *leaf;

	if (middle == NULL && (!make || !(middle = make_middle(blocks, top_index))))
		return NULL;
	/* Pairs with the exchange in make_leaf. */
	leaf = hq_load_acquire(&middle->leaves[leaf_index % MIDDLE]);
	return leaf == NULL && make ? make_leaf(blocks, middle, leaf_index % MIDDLE) : leaf;
}

static _Atomic uint64_t *word_of(struct hq_blocks_leaf *leaf, uint64_t unit)
{
	return &leaf->words[(unit >> WORD_BITS) % WORDS];
}

static uint32_t shift_of(uint64_t unit)
{
	return (uint32_t)(unit % (1u << WORD_BITS)) * 2;
}

static uint64_t next_word(uint64_t unit)
{
	return (unit | ((1u << WORD_BITS) - 1)) + 1;
}

/* All bits of units `from` to `last` in the word that holds `from`. */
static uint64_t mask_of(uint64_t from, uint64_t last)
{
	const uint64_t upper = last < next_word(from) ? ~0ull >> (62 - shift_of(last)) : ~0ull;

	return ~0ull << shift_of(from) & upper;
}

/* False outside the addresses that a program can have. */
static bool units_of(uint64_t address, uint64_t size, uint64_t *first, uint64_t *last)
{
	const uint64_t bytes = size == 0 ? 1 : size;

	if (address >= LIMIT || bytes > LIMIT - address)
		return false;
	*first = address >> UNIT_BITS;
	*last = (address + bytes - 1) >> UNIT_BITS;
	if (*last - *first >= LAST_UNITS)
		*last = *first + LAST_UNITS - 1;
	return true;
}

/* All leaves exist before the first bit is set: a block is entered whole or not at all. */
static bool make_leaves(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	for (uint64_t leaf = first / LEAF_UNITS; leaf <= last / LEAF_UNITS; leaf++)
		if (find_leaf(blocks, leaf * LEAF_UNITS, true) == NULL)
			return false;
	return true;
}

/* The last unit of [from, last] that is in the leaf of `from`: nearly always `last` itself. */
static uint64_t last_in_leaf(uint64_t from, uint64_t last)
{
	const uint64_t last_of_leaf = from | (LEAF_UNITS - 1);

	return last_of_leaf < last ? last_of_leaf : last;
}

/* What the units [from, last] of the block [first, last] are, in the word that holds `from`. */
static uint64_t bits_of(uint64_t from, uint64_t first, uint64_t last)
{
	uint64_t bits = ALL_INSIDE & mask_of(from, last);

	if (from == first)
		bits ^= (UNIT_INSIDE ^ UNIT_FIRST) << shift_of(first);
	if (last < next_word(from))
		bits |= UNIT_LAST << shift_of(last);
	return bits;
}

/*
 * Puts the units from..end of one leaf, a part of the block first..last. The first unit that was
 * in use before, or NONE.
 */
static uint64_t put_in(struct hq_blocks_leaf *leaf, uint64_t from, uint64_t end, uint64_t first,
		       uint64_t last)
{
	_Atomic uint64_t *word = word_of(leaf, from);
	uint64_t found = NONE, before;

	for (uint64_t unit = from; unit <= end; unit = next_word(unit), word++) {
		if (unit == first || last < next_word(unit)) {
			before = hq_fetch_or_relaxed(word, bits_of(unit, first, last)) &
				 mask_of(unit, last);
		} else {
			before = hq_load_relaxed(word);
			hq_store_relaxed(word, ALL_INSIDE);
		}
		if (before != 0 && found == NONE)
			found = next_word(unit) - (1u << WORD_BITS) +
				(uint64_t)__builtin_ctzll(before) / 2;
	}
	return found;
}

static uint64_t put(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	uint64_t found = NONE, one, end;

	for (uint64_t unit = first; unit <= last; unit = end + 1) {
		end = last_in_leaf(unit, last);
		one = put_in(find_leaf(blocks, unit, false), unit, end, first, last);
		found = found == NONE ? one : found;
	}
	return found;
}

/* Takes them out; what the word of the first held before. */
static uint64_t take_in(struct hq_blocks_leaf *leaf, uint64_t from, uint64_t end, uint64_t first,
			uint64_t last)
{
	_Atomic uint64_t *word = word_of(leaf, from);
	uint64_t before = 0;

	for (uint64_t unit = from; unit <= end; unit = next_word(unit), word++) {
		if (unit == first)
			before = hq_fetch_and_relaxed(word, ~mask_of(unit, last));
		else if (last < next_word(unit))
			hq_fetch_and_relaxed(word, ~mask_of(unit, last));
		else
			hq_store_relaxed(word, 0);
	}
	return before;
}

static uint64_t take(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	uint64_t before = 0, end;

	for (uint64_t unit = first; unit <= last; unit = end + 1) {
		struct hq_blocks_leaf *const leaf = find_leaf(blocks, unit, false);
		uint64_t one;

		end = last_in_leaf(unit, last);
		one = leaf ? take_in(leaf, unit, end, first, last) : 0;
		before = unit == first ? one : before;
	}
	return before;
}

enum hq_blocks_answer hq_blocks_enter(struct hq_blocks *blocks, uint64_t address, uint64_t size,
				      uint64_t *shared_offset)
{
	struct hq_blocks_leaf *leaf;
	uint64_t first, last, found;

	if (!units_of(address, size, &first, &last))
		return HQ_BLOCKS_UNWATCHED;
	leaf = find_leaf(blocks, first, true);
	if (leaf == NULL)
		return HQ_BLOCKS_UNWATCHED;
	if (last_in_leaf(first, last) == last)
		found = put_in(leaf, first, last, first, last);
	else if (make_leaves(blocks, first, last))
		found = put(blocks, first, last);
	else
		return HQ_BLOCKS_UNWATCHED;
	if (found == NONE)
		return HQ_BLOCKS_ENTERED;
	/* The unit may begin before the block does. */
	*shared_offset = found << UNIT_BITS > address ? (found << UNIT_BITS) - address : 0;
	return HQ_BLOCKS_OVERLAP;
}

/* The unit of the first end from `first` on; NONE: there is none as near as one must be. */
static uint64_t find_end(struct hq_blocks *blocks, struct hq_blocks_leaf *leaf, uint64_t first)
{
	const uint64_t limit = first + LAST_UNITS;

	for (uint64_t unit = first; unit < limit; unit = next_word(unit)) {
		uint64_t word, ends;

		if (unit % LEAF_UNITS == 0 && unit != first)
			leaf = find_leaf(blocks, unit, false);
		if (leaf == NULL)
			return NONE;
		word = hq_load_relaxed(word_of(leaf, unit));
		ends = word & word >> 1 & ALL_INSIDE & mask_of(unit, UINT64_MAX);
		if (ends != 0)
			return next_word(unit) - (1u << WORD_BITS) +
			       (uint64_t)__builtin_ctzll(ends) / 2;
	}
	return NONE;
}

/* Does a block begin in the unit, by the word that holds it? */
static bool is_start(uint64_t word, uint64_t unit)
{
	return (word >> shift_of(unit) & UNIT_FIRST) != 0;
}

/* The leaf in which a block begins at `address`; NULL: no block does. */
static struct hq_blocks_leaf *find_start(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> UNIT_BITS;
	struct hq_blocks_leaf *leaf;

	if (address >= LIMIT)
		return NULL;
	leaf = find_leaf(blocks, first, false);
	return leaf && is_start(hq_load_relaxed(word_of(leaf, first)), first) ? leaf : NULL;
}

uint64_t hq_blocks_size(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> UNIT_BITS;
	struct hq_blocks_leaf *const leaf = find_start(blocks, address);
	const uint64_t last = leaf ? find_end(blocks, leaf, first) : NONE;

	return last == NONE ? 0 : (last - first + 1) << UNIT_BITS;
}

uint64_t hq_blocks_leave(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> UNIT_BITS;
	struct hq_blocks_leaf *const head = find_start(blocks, address);
	const uint64_t last = head ? find_end(blocks, head, first) : NONE;
	uint64_t before;

	if (last == NONE)
		return 0;
	before = last_in_leaf(first, last) == last ? take_in(head, first, last, first, last)
						   : take(blocks, first, last);
	/* Of two threads that free one block at a time, one is told. */
	return is_start(before, first) ? (last - first + 1) << UNIT_BITS : 0;
}

static bool is_covered(struct hq_blocks *blocks, uint64_t unit)
{
	struct hq_blocks_leaf *const leaf = find_leaf(blocks, unit, false);

	return leaf && (hq_load_relaxed(word_of(leaf, unit)) >> shift_of(unit) & 3) != 0;
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
	*offset = (last << UNIT_BITS) - address;
	return true;
}

void hq_blocks_count(struct hq_blocks *blocks, uint64_t *count, uint64_t *bytes)
{
	uint64_t ends = 0, covered = 0;

	/* Pairs with the exchange in link_leaf. */
	for (struct hq_blocks_leaf *leaf = hq_load_acquire(&blocks->newest); leaf;
	     leaf = leaf->older) {
		for (uint64_t i = 0; i < WORDS; i++) {
			const uint64_t word = hq_load_relaxed(&leaf->words[i]);

			ends += (uint64_t)__builtin_popcountll(word & word >> 1 & ALL_INSIDE);
			covered += (uint64_t)__builtin_popcountll((word | word >> 1) & ALL_INSIDE);
		}
	}
	*count = ends;
	*bytes = covered << UNIT_BITS;
}
