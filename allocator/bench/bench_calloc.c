/* SPDX-License-Identifier: MIT */
/*
 * calloc of 16 bytes to 4 KiB, 64 blocks at a time: memory that is used again has to be cleared.
 */
#include "allocator/bench/bench.h"

#define SLOTS 64

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(500000); i++) {
		uint32_t number = bench_random(&state);
		uint32_t slot = number % SLOTS;

		free(blocks[slot]);
		blocks[slot] = calloc(1, (size_t)16 << (number >> 8) % 9);
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
}
