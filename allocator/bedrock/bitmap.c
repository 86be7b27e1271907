/* SPDX-License-Identifier: MIT */
/*
 * Walks over page bit maps, a word at a time.
 */
#include "allocator/bedrock/bitmap.h"

#include "allocator/bedrock/debug.h"

/* The part of a range that falls into one word. */
struct bedrock_slice {
	uint32_t word;
	uint64_t mask;
};

/* Cut the next word's part off the front of the range. */
static struct bedrock_slice bedrock_slice_take(struct bedrock_range *range)
{
	uint32_t bit = range->first % 64;
	uint32_t count = 64 - bit < range->count ? 64 - bit : range->count;
	struct bedrock_slice slice = {
		.word = range->first / 64,
		.mask = bedrock_bitmap_mask(bit, count),
	};

	range->first += count;
	range->count -= count;
	return slice;
}

uint32_t bedrock_bitmap_set(struct bedrock_bitmap *map, struct bedrock_range range)
{
	uint32_t changed = 0;

	bedrock_assert(range.first + range.count <= BEDROCK_BITMAP_BITS);
	while (range.count > 0) {
		struct bedrock_slice slice = bedrock_slice_take(&range);
		uint64_t *word = &map->words[slice.word];

		changed += (uint32_t)__builtin_popcountll(slice.mask & ~*word);
		*word |= slice.mask;
	}
	return changed;
}

uint32_t bedrock_bitmap_clear(struct bedrock_bitmap *map, struct bedrock_range range)
{
	uint32_t changed = 0;

	bedrock_assert(range.first + range.count <= BEDROCK_BITMAP_BITS);
	while (range.count > 0) {
		struct bedrock_slice slice = bedrock_slice_take(&range);
		uint64_t *word = &map->words[slice.word];

		changed += (uint32_t)__builtin_popcountll(slice.mask & *word);
		*word &= ~slice.mask;
	}
	return changed;
}

uint32_t bedrock_bitmap_count(const struct bedrock_bitmap *map, struct bedrock_range range)
{
	uint32_t count = 0;

	while (range.count > 0) {
		struct bedrock_slice slice = bedrock_slice_take(&range);

		count += (uint32_t)__builtin_popcountll(slice.mask & map->words[slice.word]);
	}
	return count;
}

/* First bit at or after `from` that differs from the bits of `flip` (all zero or all one). */
static uint32_t bedrock_bitmap_next(const struct bedrock_bitmap *map, uint32_t from, uint64_t flip)
{
	if (from >= BEDROCK_BITMAP_BITS)
		return BEDROCK_BITMAP_BITS;
	uint32_t index = from / 64;
	uint64_t word = (map->words[index] ^ flip) & (~UINT64_C(0) << (from % 64));

	while (word == 0) {
		if (++index == BEDROCK_BITMAP_WORDS)
			return BEDROCK_BITMAP_BITS;
		word = map->words[index] ^ flip;
	}
	return index * 64 + (uint32_t)__builtin_ctzll(word);
}

uint32_t bedrock_bitmap_next_set(const struct bedrock_bitmap *map, uint32_t from)
{
	return bedrock_bitmap_next(map, from, 0);
}

uint32_t bedrock_bitmap_next_clear(const struct bedrock_bitmap *map, uint32_t from)
{
	return bedrock_bitmap_next(map, from, ~UINT64_C(0));
}

struct bedrock_range bedrock_bitmap_clear_run(const struct bedrock_bitmap *map, uint32_t bit)
{
	uint32_t index = bit / 64;
	uint64_t word = map->words[index] & bedrock_bitmap_mask(0, bit % 64);

	while (word == 0 && index > 0)
		word = map->words[--index];
	uint32_t first = word ? index * 64 + 64 - (uint32_t)__builtin_clzll(word) : 0;

	return (struct bedrock_range){
		.first = first,
		.count = bedrock_bitmap_next_set(map, bit) - first,
	};
}

struct bedrock_range bedrock_bitmap_longest_clear(const struct bedrock_bitmap *map)
{
	struct bedrock_range longest = { .first = 0, .count = 0 };
	uint32_t first = bedrock_bitmap_next_clear(map, 0);

	while (first < BEDROCK_BITMAP_BITS) {
		uint32_t end = bedrock_bitmap_next_set(map, first);

		if (end - first > longest.count)
			longest = (struct bedrock_range){ .first = first, .count = end - first };
		first = bedrock_bitmap_next_clear(map, end);
	}
	return longest;
}

uint32_t bedrock_bitmap_find_clear(const struct bedrock_bitmap *map, uint32_t count, uint32_t align)
{
	uint32_t first = bedrock_bitmap_next_clear(map, 0);

	while (first < BEDROCK_BITMAP_BITS) {
		uint32_t end = bedrock_bitmap_next_set(map, first);
		uint32_t aligned = (first + align - 1) & ~(align - 1);

		if (aligned + count <= end)
			return aligned;
		first = bedrock_bitmap_next_clear(map, end);
	}
	return BEDROCK_BITMAP_BITS;
}
