/* SPDX-License-Identifier: MIT */
/*
 * Blocks aligned to 32 bytes to 4 KiB, replaced at random.
 */
#include "allocator/bench/bench.h"

#define SLOTS 256

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(150000); i++) {
		uint32_t number = bench_random(&state);
		uint32_t slot = number % SLOTS;
		size_t align_bytes = (size_t)32 << (number >> 8) % 8;

		free(blocks[slot]);
		blocks[slot] = aligned_alloc(align_bytes, align_bytes * (1 + (number >> 16) % 3));
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
}
