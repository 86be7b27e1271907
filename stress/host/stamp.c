/* SPDX-License-Identifier: MIT */
/*
 * Filling and verifying stamps. Both walk the block in lanes of four words that the compiler turns
 * into vector instructions; only when a group of lanes differs is it looked at byte by byte.
 * Nothing here asks whether a block is aligned: a misaligned one must be checked too.
 */
#include "stress/host/stamp.h"

#include <string.h>

#define STEP 0x9e3779b97f4a7c15ull /* odd, so that no two words of a block are equal */
#define LANE_BYTES 32u
#define GROUP_BYTES (16u * LANE_BYTES)

typedef uint64_t lanes __attribute__((vector_size(LANE_BYTES), aligned(1), may_alias));

uint64_t hq_stamp_key(uint64_t seed, uint64_t id)
{
	uint64_t key = seed ^ (id * 0xd6e8feb86659fd93ull);

	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
	return key ^ (key >> 31);
}

static uint64_t word_at(uint64_t offset, uint64_t key, uint64_t step)
{
	return key + offset / sizeof(uint64_t) * step;
}

static uint8_t byte_at(uint64_t offset, uint64_t key, uint64_t step)
{
	const uint64_t word = word_at(offset & ~7ull, key, step);
	uint8_t bytes[sizeof(word)];

	memcpy(bytes, &word, sizeof(word));
	return bytes[offset & 7];
}

void hq_stamp_fill(void *address, uint64_t size, uint64_t key)
{
	uint8_t *const bytes = address;
	lanes value = { key, key + STEP, key + 2 * STEP, key + 3 * STEP };
	uint64_t offset = 0;

	for (; size - offset >= LANE_BYTES; offset += LANE_BYTES) {
		*(lanes *)(bytes + offset) = value;
		value += 4 * STEP;
	}
	while (offset < size) {
		const uint64_t word = word_at(offset, key, STEP);
		const uint64_t rest = size - offset;
		const uint64_t length = rest < sizeof(word) ? rest : sizeof(word);

		memcpy(bytes + offset, &word, length);
		offset += length;
	}
}

/* Compares whole lanes from `offset`, without a branch for each. */
static bool group_is_right(const uint8_t *bytes, uint64_t offset, uint64_t length, uint64_t key,
			   uint64_t step)
{
	const uint64_t first = word_at(offset, key, step);
	lanes value = { first, first + step, first + 2 * step, first + 3 * step };
	lanes difference = { 0 };

	for (uint64_t done = 0; done < length; done += LANE_BYTES) {
		difference |= *(const lanes *)(bytes + offset + done) ^ value;
		value += 4 * step;
	}
	return (difference[0] | difference[1] | difference[2] | difference[3]) == 0;
}

static bool bytes_are_right(const uint8_t *bytes, uint64_t offset, uint64_t end, uint64_t key,
			    uint64_t step, struct hq_damage *damage)
{
	for (; offset < end; offset++) {
		const uint8_t expected = byte_at(offset, key, step);

		if (bytes[offset] == expected)
			continue;
		*damage = (struct hq_damage){ .offset = offset,
					      .expected = expected,
					      .got = bytes[offset] };
		return false;
	}
	return true;
}

/* All zero is the stamp with key 0 and step 0. */
static bool is_right(const uint8_t *bytes, uint64_t size, uint64_t key, uint64_t step,
		     struct hq_damage *damage)
{
	const uint64_t lanes_end = size & ~(uint64_t)(LANE_BYTES - 1);

	for (uint64_t offset = 0; offset < lanes_end; offset += GROUP_BYTES) {
		const uint64_t rest = lanes_end - offset;
		const uint64_t length = rest < GROUP_BYTES ? rest : GROUP_BYTES;

		if (!group_is_right(bytes, offset, length, key, step))
			return bytes_are_right(bytes, offset, offset + length, key, step, damage);
	}
	return bytes_are_right(bytes, lanes_end, size, key, step, damage);
}

bool hq_stamp_verify(const void *address, uint64_t size, uint64_t key, struct hq_damage *damage)
{
	return is_right(address, size, key, STEP, damage);
}

bool hq_stamp_is_zero(const void *address, uint64_t size, struct hq_damage *damage)
{
	return is_right(address, size, 0, 0, damage);
}
