/* SPDX-License-Identifier: MIT */
/*
 * Filling and verifying stamps. Both walk the block in lines of eight words, held in vectors of two
 * (what every machine of ours has); only when a line differs is it looked at byte by byte.
 * Nothing here asks whether a block is aligned: a misaligned one must be checked too.
 */
#include "stress/host/stamp.h"

#include <string.h>

#define STEP        0x9e3779b97f4a7c15ull /* odd, so that no two words of a block are equal */
#define WORD_BYTES  8u
#define LINE_BYTES  64u
#define GROUP_BYTES (16u * LINE_BYTES) /* compared without a branch in between */

/* Two words, anywhere in memory. */
typedef uint64_t pair __attribute__((vector_size(2 * WORD_BYTES), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));

uint64_t hq_stamp_key(uint64_t seed, uint64_t id)
{
	uint64_t key = seed ^ (id * 0xd6e8feb86659fd93ull);

	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
	return key ^ (key >> 31);
}

static uint64_t word_at(uint64_t offset, uint64_t key, uint64_t step)
{
	return key + offset / WORD_BYTES * step;
}

static uint8_t byte_at(uint64_t offset, uint64_t key, uint64_t step)
{
	const uint64_t value = word_at(offset, key, step);
	uint8_t bytes[WORD_BYTES];

	memcpy(bytes, &value, sizeof(bytes));
	return bytes[offset % WORD_BYTES];
}

/* Writes whole lines from the start, and returns where they end. */
static uint64_t fill_lines(uint8_t *bytes, uint64_t size, uint64_t key)
{
	pair a = { key, key + STEP };
	pair b = a + 2 * STEP;
	pair c = b + 2 * STEP;
	pair d = c + 2 * STEP;
	uint64_t offset = 0;

	for (; size - offset >= LINE_BYTES; offset += LINE_BYTES) {
		pair *const line = (pair *)(bytes + offset);

		line[0] = a;
		line[1] = b;
		line[2] = c;
		line[3] = d;
		a += 8 * STEP;
		b += 8 * STEP;
		c += 8 * STEP;
		d += 8 * STEP;
	}
	return offset;
}

void hq_stamp_fill(void *address, uint64_t size, uint64_t key)
{
	uint8_t *const bytes = address;
	uint64_t offset = fill_lines(bytes, size, key);

	for (; size - offset >= WORD_BYTES; offset += WORD_BYTES)
		*(word *)(bytes + offset) = word_at(offset, key, STEP);
	for (; offset < size; offset++)
		bytes[offset] = byte_at(offset, key, STEP);
}

/* Compares whole lines. */
static bool lines_are_right(const uint8_t *bytes, uint64_t offset, uint64_t end, uint64_t key,
			    uint64_t step)
{
	const uint64_t first = word_at(offset, key, step);
	pair a = { first, first + step };
	pair b = a + 2 * step;
	pair c = b + 2 * step;
	pair d = c + 2 * step;
	pair difference = { 0, 0 };

	for (; offset < end; offset += LINE_BYTES) {
		const pair *const line = (const pair *)(bytes + offset);

		difference |= (line[0] ^ a) | (line[1] ^ b) | (line[2] ^ c) | (line[3] ^ d);
		a += 8 * step;
		b += 8 * step;
		c += 8 * step;
		d += 8 * step;
	}
	return (difference[0] | difference[1]) == 0;
}

static bool words_are_right(const uint8_t *bytes, uint64_t offset, uint64_t end, uint64_t key,
			    uint64_t step)
{
	uint64_t difference = 0;

	for (; end - offset >= WORD_BYTES; offset += WORD_BYTES)
		difference |= *(const word *)(bytes + offset) ^ word_at(offset, key, step);
	for (; offset < end; offset++)
		difference |= bytes[offset] ^ byte_at(offset, key, step);
	return difference == 0;
}

/* Something between `offset` and `end` is wrong: finds the first such byte. */
static void find_damage(const uint8_t *bytes, uint64_t offset, uint64_t end, uint64_t key,
			uint64_t step, struct hq_damage *damage)
{
	for (; offset < end; offset++) {
		const uint8_t expected = byte_at(offset, key, step);

		if (bytes[offset] == expected)
			continue;
		*damage = (struct hq_damage){ .offset = offset,
					      .expected = expected,
					      .got = bytes[offset] };
		return;
	}
	/* Whoever writes into the block has put the byte back since it was compared. */
	*damage = (struct hq_damage){ .offset = end };
}

/* All zero is the stamp with key 0 and step 0. */
static bool is_right(const uint8_t *bytes, uint64_t size, uint64_t key, uint64_t step,
		     struct hq_damage *damage)
{
	const uint64_t lines_end = size - size % LINE_BYTES;
	uint64_t offset = 0;

	while (offset < lines_end) {
		const uint64_t rest = lines_end - offset;
		const uint64_t end = offset + (rest < GROUP_BYTES ? rest : GROUP_BYTES);

		if (!lines_are_right(bytes, offset, end, key, step)) {
			find_damage(bytes, offset, end, key, step, damage);
			return false;
		}
		offset = end;
	}
	if (words_are_right(bytes, offset, size, key, step))
		return true;
	find_damage(bytes, offset, size, key, step, damage);
	return false;
}

bool hq_stamp_verify(const void *address, uint64_t size, uint64_t key, struct hq_damage *damage)
{
	return is_right(address, size, key, STEP, damage);
}

bool hq_stamp_is_zero(const void *address, uint64_t size, struct hq_damage *damage)
{
	return is_right(address, size, 0, 0, damage);
}
