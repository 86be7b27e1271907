/* SPDX-License-Identifier: MIT */
/*
 * Producer and consumer, blocks of 512 bytes.
 */
#include "allocator/bench/bench_cross.h"

void bench_run(unsigned scale)
{
	cross_run(512, scale * UINT64_C(1500));
}
