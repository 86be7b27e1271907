/* SPDX-License-Identifier: MIT */
/*
 * Producer and consumer, blocks of 64 bytes.
 */
#include "allocator/bench/bench_cross.h"

void bench_run(unsigned scale)
{
	cross_run(64, scale * UINT64_C(2000));
}
