/* SPDX-License-Identifier: MIT */
/*
 * What all benchmark programs share: each is one idea in one file, the function bench_run, linked
 * with measure.c, which measures. They call malloc by its common name, so that any allocator can be
 * preloaded, and free everything before they return.
 */
#ifndef BENCH_H
#define BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The work itself: `scale` times a fixed amount, about 30 ms. */
void bench_run(unsigned scale);

/* Bytes requested and live at a time; each thread may keep an account of its own. */
void bench_live_add(size_t bytes);
void bench_live_sub(size_t bytes);
/* The same told afterwards, where it is known without counting. */
void bench_live_was(size_t peak_bytes);

/* malloc or exit: a benchmark that runs out of memory has no result. */
void *bench_malloc(size_t bytes);

/* Start a thread, or exit. */
pthread_t bench_thread(void *(*run)(void *), void *argument);

/* A cheap stream of numbers; `state` is any number but 0. */
static inline uint32_t bench_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

static inline size_t bench_between(uint32_t *state, size_t least, size_t most)
{
	return least + bench_random(state) % (most - least + 1);
}

/* Keep the compiler from reasoning about a block. */
static inline void *bench_opaque(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* Write to each page of a block. */
static inline void bench_touch(void *block, size_t bytes)
{
	volatile char *at = block;

	for (size_t i = 0; i < bytes; i += 4096)
		at[i] = 1;
}

#endif
