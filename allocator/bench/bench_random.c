/* SPDX-License-Identifier: MIT */
/*
 * Random slots of a table are replaced by blocks of random small sizes.
 */
#include "allocator/bench/bench.h"

#define SLOTS 1024

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(1500000); i++) {
		uint32_t number = bench_random(&state);
		uint32_t slot = number % SLOTS;

		free(blocks[slot]);
		blocks[slot] = malloc(8 + (number >> 12) % 1001);
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
}
