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
#define WORD_BITS  6u
#define LINES      (1ull << (HQ_BLOCKS_LEAF_BITS - UNIT_BITS - WORD_BITS))
#define MIDDLE     (1u << HQ_BLOCKS_MIDDLE_BITS)
#define LIMIT      (1ull << HQ_BLOCKS_ADDRESS_BITS)
#define NONE       UINT64_MAX
#define LAST_UNITS (HQ_BLOCKS_COVERED >> UNIT_BITS)

/* The bits of 64 units, 512 bytes. */
struct line {
	_Atomic uint64_t start, cover, end;
};

struct hq_blocks_leaf {
	struct hq_blocks_leaf *older;
	struct line lines[LINES];
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

static struct line *find_line(struct hq_blocks *blocks, uint64_t unit, bool make)
{
	struct hq_blocks_leaf *const leaf = find_leaf(blocks, unit, make);

	return leaf ? &leaf->lines[(unit >> WORD_BITS) % LINES] : NULL;
}

static uint64_t bit_of(uint64_t unit)
{
	return 1ull << (unit % 64);
}

/* The bits of units `from` to `last` in the word that holds `from`. */
static uint64_t mask_of(uint64_t from, uint64_t last)
{
	const uint64_t upper =
		last >> WORD_BITS == from >> WORD_BITS ? ~0ull >> (63 - last % 64) : ~0ull;

	return ~0ull << (from % 64) & upper;
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
static bool make_lines(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	const uint64_t shift = HQ_BLOCKS_LEAF_BITS - UNIT_BITS;

	for (uint64_t leaf = first >> shift; leaf <= last >> shift; leaf++)
		if (find_leaf(blocks, leaf << shift, true) == NULL)
			return false;
	return true;
}

/* Covers units; the first that was covered before, or NONE. */
static uint64_t cover(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	uint64_t found = NONE;

	for (uint64_t unit = first; unit <= last; unit = (unit | 63) + 1) {
		const uint64_t mask = mask_of(unit, last);
		struct line *const line = find_line(blocks, unit, false);
		uint64_t before;

		if (mask != ~0ull) {
			before = hq_fetch_or_relaxed(&line->cover, mask) & mask;
		} else {
			before = hq_load_relaxed(&line->cover);
			hq_store_relaxed(&line->cover, ~0ull);
		}
		if (before != 0 && found == NONE)
			found = (unit & ~63ull) + (uint64_t)__builtin_ctzll(before);
	}
	return found;
}

static void uncover(struct hq_blocks *blocks, uint64_t first, uint64_t last)
{
	for (uint64_t unit = first; unit <= last; unit = (unit | 63) + 1) {
		const uint64_t mask = mask_of(unit, last);
		struct line *const line = find_line(blocks, unit, false);

		if (line == NULL)
			continue;
		if (mask != ~0ull)
			hq_fetch_and_relaxed(&line->cover, ~mask);
		else
			hq_store_relaxed(&line->cover, 0);
	}
}

enum hq_blocks_answer hq_blocks_enter(struct hq_blocks *blocks, uint64_t address, uint64_t size,
				      uint64_t *shared_offset)
{
	uint64_t first, last, found;

	if (!units_of(address, size, &first, &last) || !make_lines(blocks, first, last))
		return HQ_BLOCKS_UNWATCHED;
	struct line *const head = find_line(blocks, first, false);
	struct line *const tail = find_line(blocks, last, false);

	found = cover(blocks, first, last);
	hq_fetch_or_relaxed(&tail->end, bit_of(last));
	if (hq_fetch_or_relaxed(&head->start, bit_of(first)) & bit_of(first))
		found = first;
	if (found == NONE)
		return HQ_BLOCKS_ENTERED;
	/* The unit may begin before the block does. */
	*shared_offset = found << UNIT_BITS > address ? (found << UNIT_BITS) - address : 0;
	return HQ_BLOCKS_OVERLAP;
}

/* The unit in which the block that begins at `first` ends; NONE: there is no such block. */
static uint64_t find_end(struct hq_blocks *blocks, uint64_t first)
{
	for (uint64_t unit = first; unit < first + LAST_UNITS; unit = (unit | 63) + 1) {
		struct line *const line = find_line(blocks, unit, false);

		if (line == NULL ||
		    (unit == first && !(hq_load_relaxed(&line->start) & bit_of(first))))
			return NONE;
		const uint64_t ends = hq_load_relaxed(&line->end) & (~0ull << (unit % 64));

		if (ends != 0)
			return (unit & ~63ull) + (uint64_t)__builtin_ctzll(ends);
	}
	return NONE;
}

uint64_t hq_blocks_size(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> UNIT_BITS;
	const uint64_t last = address < LIMIT ? find_end(blocks, first) : NONE;

	return last == NONE ? 0 : (last - first + 1) << UNIT_BITS;
}

uint64_t hq_blocks_leave(struct hq_blocks *blocks, uint64_t address)
{
	const uint64_t first = address >> UNIT_BITS;
	const uint64_t last = address < LIMIT ? find_end(blocks, first) : NONE;

	if (last == NONE)
		return 0;
	struct line *const head = find_line(blocks, first, false);

	uncover(blocks, first, last);
	hq_fetch_and_relaxed(&find_line(blocks, last, false)->end, ~bit_of(last));
	/* Of two threads that free one block at a time, one is told. */
	if (!(hq_fetch_and_relaxed(&head->start, ~bit_of(first)) & bit_of(first)))
		return 0;
	return (last - first + 1) << UNIT_BITS;
}

static bool is_covered(struct hq_blocks *blocks, uint64_t unit)
{
	struct line *const line = find_line(blocks, unit, false);

	return line != NULL && (hq_load_relaxed(&line->cover) & bit_of(unit));
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
	uint64_t starts = 0, covered = 0;

	/* Pairs with the exchange in link_leaf. */
	for (struct hq_blocks_leaf *leaf = hq_load_acquire(&blocks->newest); leaf;
	     leaf = leaf->older) {
		for (uint64_t i = 0; i < LINES; i++) {
			const uint64_t start = hq_load_relaxed(&leaf->lines[i].start);
			const uint64_t cover_word = hq_load_relaxed(&leaf->lines[i].cover);

			starts += (uint64_t)__builtin_popcountll(start);
			covered += (uint64_t)__builtin_popcountll(cover_word);
		}
	}
	*count = starts;
	*bytes = covered << UNIT_BITS;
}
