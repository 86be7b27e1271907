/* SPDX-License-Identifier: MIT */
/*
 * The same small block again and again: nothing but the fast paths.
 */
#include "allocator/bench/bench.h"

void bench_run(unsigned scale)
{
	for (uint64_t i = 0; i < scale * UINT64_C(3000000); i++)
		free(bench_opaque(malloc(64)));
}
