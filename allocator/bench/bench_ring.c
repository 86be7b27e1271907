/* SPDX-License-Identifier: MIT */
/*
 * A ring of blocks of 16 to 1,040 bytes, the oldest of which is replaced at each step; each is
 * written to at both ends.
 */
#include "allocator/bench/bench.h"

#define SLOTS 8192

void bench_run(unsigned scale)
{
	static char *blocks[SLOTS];
	uint32_t state = 42;

	for (uint64_t i = 0; i < scale * UINT64_C(1000000); i++) {
		uint32_t slot = i % SLOTS;
		size_t bytes = bench_between(&state, 16, 1040);

		free(blocks[slot]);
		blocks[slot] = bench_malloc(bytes);
		blocks[slot][0] = 1;
		blocks[slot][bytes - 1] = 1;
	}
	for (int i = 0; i < SLOTS; i++)
		free(blocks[i]);
	bench_live_was(SLOTS * 528);
}
