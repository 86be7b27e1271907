/* SPDX-License-Identifier: MIT */
/*
 * What the stress programs share: a random stream per thread, sizes as programs ask for them, and
 * blocks whose content can be checked.
 */
#ifndef BEDROCK_TESTS_STRESS_H
#define BEDROCK_TESTS_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Blocks are stamped in full up to here, beyond it at every STRESS_STRIDE-th byte. */
#define STRESS_FULL_BYTES 2048
#define STRESS_STRIDE     61

/* A block and what must be in it. */
struct stress_block {
	unsigned char *start;
	size_t bytes;
	uint64_t stamp;
};

static inline uint64_t stress_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline unsigned char stress_byte(uint64_t stamp, size_t at)
{
	return (unsigned char)(stamp + at * 7 + (at >> 9));
}

/* The next byte after `at` that is stamped; the last byte of the block always is. */
static inline size_t stress_next(size_t at, size_t bytes)
{
	if (at < STRESS_FULL_BYTES || at + 1 == bytes)
		return at + 1;
	return at + STRESS_STRIDE < bytes ? at + STRESS_STRIDE : bytes - 1;
}

static inline void stress_fill(struct stress_block *block, uint64_t stamp)
{
	block->stamp = stamp;
	for (size_t at = 0; at < block->bytes; at = stress_next(at, block->bytes))
		block->start[at] = stress_byte(stamp, at);
}

/* Are the first `bytes` of the block as they were stamped? */
static inline bool stress_holds(const struct stress_block *block, size_t bytes)
{
	/* After a shrink the last byte that is left may not be one that was stamped. */
	for (size_t at = 0; at < bytes; at = stress_next(at, block->bytes)) {
		if (block->start[at] != stress_byte(block->stamp, at)) {
			fprintf(stderr, "block %p of %zu: byte %zu is %u, not %u\n",
				(void *)block->start, block->bytes, at, block->start[at],
				stress_byte(block->stamp, at));
			return false;
		}
	}
	return true;
}

/* Mostly small, seldom large, hardly ever huge. */
static inline size_t stress_size(uint64_t *state)
{
	uint64_t draw = stress_random(state) % 1000;
	uint64_t more = stress_random(state);

	if (draw < 850)
		return more % 600;
	if (draw < 970)
		return more % 20000;
	if (draw < 995)
		return more % 200000;
	return draw < 999 ? more % 2500000 : more % 6000000;
}

#endif
