/* SPDX-License-Identifier: MIT */
/*
 * A thousand small blocks, then all of them freed in the order of their birth.
 */
#include "allocator/bench/bench.h"

#define SLOTS 1000

void bench_run(unsigned scale)
{
	static void *blocks[SLOTS];

	for (uint64_t round = 0; round < scale * UINT64_C(2500); round++) {
		for (int i = 0; i < SLOTS; i++)
			blocks[i] = malloc(48);
		for (int i = 0; i < SLOTS; i++)
			free(blocks[i]);
	}
}
