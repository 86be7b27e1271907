/* SPDX-License-Identifier: MIT */
/*
 * Two threads that write to small objects of their own. Where the objects of both share cache
 * lines, they slow each other down.
 */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include "allocator/bench/bench.h"

#define LINES_THREADS 2
#define LINES_BYTES   8
#define LINES_WRITES  20000

/* Write to an object again and again. */
static inline void lines_write(char *object)
{
	for (int i = 0; i < LINES_WRITES; i++)
		((volatile char *)object)[i % LINES_BYTES]++;
}

#endif
