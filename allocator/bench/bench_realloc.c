/* SPDX-License-Identifier: MIT */
/*
 * Sixteen vectors grow side by side, by a half each time, from 16 bytes to a mebibyte, as those of
 * a program do that reads its input.
 */
#include "allocator/bench/bench.h"

#define VECTORS 16

static void grow_all(void)
{
	char *vectors[VECTORS] = { NULL };
	size_t bytes = 16;

	while (bytes <= (size_t)1 << 20) {
		for (int i = 0; i < VECTORS; i++) {
			vectors[i] = realloc(vectors[i], bytes);
			if (!vectors[i])
				exit(3);
			vectors[i][bytes - 1] = 1;
		}
		bytes += bytes / 2;
	}
	for (int i = 0; i < VECTORS; i++)
		free(vectors[i]);
}

void bench_run(unsigned scale)
{
	for (uint64_t round = 0; round < scale * UINT64_C(5); round++)
		grow_all();
	bench_live_was((size_t)VECTORS << 20);
}
