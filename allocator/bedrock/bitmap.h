/* SPDX-License-Identifier: MIT */
/*
 * Bit maps over the pages of one chunk.
 *
 * A map has one bit per page. Free space is found by walking runs of equal bits a word at a
 * time; there are 16 words, so even a walk of the whole map touches two cache lines. Nothing
 * here is atomic: the lock of the owning page allocator covers every map.
 */
#ifndef BEDROCK_BITMAP_H
#define BEDROCK_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

#define BEDROCK_BITMAP_BITS  1024u
#define BEDROCK_BITMAP_WORDS (BEDROCK_BITMAP_BITS / 64)

struct bedrock_bitmap {
	uint64_t words[BEDROCK_BITMAP_WORDS];
};

/* A half-open range of pages of one chunk. */
struct bedrock_range {
	uint32_t first;
	uint32_t count;
};

/* The bits [first, first + count) of one word, both relative to that word. */
static inline uint64_t bedrock_bitmap_mask(uint32_t first, uint32_t count)
{
	return (count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << first;
}

static inline bool bedrock_bitmap_test(const struct bedrock_bitmap *map, uint32_t bit)
{
	return map->words[bit / 64] >> (bit % 64) & 1;
}

/* Set or clear a range. -> how many of its bits changed. */
uint32_t bedrock_bitmap_set(struct bedrock_bitmap *map, struct bedrock_range range);
uint32_t bedrock_bitmap_clear(struct bedrock_bitmap *map, struct bedrock_range range);

/* How many bits of the range are set. */
uint32_t bedrock_bitmap_count(const struct bedrock_bitmap *map, struct bedrock_range range);

/* First bit at or after `from` that is set (or clear), or BEDROCK_BITMAP_BITS. */
uint32_t bedrock_bitmap_next_set(const struct bedrock_bitmap *map, uint32_t from);
uint32_t bedrock_bitmap_next_clear(const struct bedrock_bitmap *map, uint32_t from);

/* The run of clear bits around `bit`, which is clear. */
struct bedrock_range bedrock_bitmap_clear_run(const struct bedrock_bitmap *map, uint32_t bit);

/* The longest run of clear bits, the first of them if there are several. */
struct bedrock_range bedrock_bitmap_longest_clear(const struct bedrock_bitmap *map);

/*
 * First run of `count` clear bits that begins at a multiple of `align`, a power of two.
 * -> its first bit, or BEDROCK_BITMAP_BITS.
 */
uint32_t bedrock_bitmap_find_clear(const struct bedrock_bitmap *map, uint32_t count,
				   uint32_t align);

#endif
