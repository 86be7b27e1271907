/* SPDX-License-Identifier: MIT */
/*
 * Blocks of 4 to 32 KiB at random, each page written to: between what caches hold and what has a
 * mapping of its own.
 */
#include "allocator/bench/bench.h"

#define SLOTS 500

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];
	static size_t sizes[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(150000); i++) {
		uint32_t slot = bench_random(&state) % SLOTS;

		free(blocks[slot]);
		bench_live_sub(sizes[slot]);
		sizes[slot] = bench_between(&state, 4096, 32768);
		blocks[slot] = bench_malloc(sizes[slot]);
		bench_live_add(sizes[slot]);
		bench_touch(blocks[slot], sizes[slot]);
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
}
