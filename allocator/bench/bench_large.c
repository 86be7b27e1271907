/* SPDX-License-Identifier: MIT */
/*
 * Blocks of 5 to 25 MiB, twenty at a time, each page written to: the buffers of sorts and joins.
 */
#include "allocator/bench/bench.h"

#define SLOTS 20

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];
	static size_t sizes[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(50); i++) {
		uint32_t slot = bench_random(&state) % SLOTS;

		free(blocks[slot]);
		bench_live_sub(sizes[slot]);
		sizes[slot] = bench_between(&state, (size_t)5 << 20, (size_t)25 << 20);
		blocks[slot] = bench_malloc(sizes[slot]);
		bench_live_add(sizes[slot]);
		bench_touch(blocks[slot], sizes[slot]);
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
}
