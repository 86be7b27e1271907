/* SPDX-License-Identifier: MIT */
/*
 * One thread allocates and writes, another reads and frees: batches of 512 blocks go from the one
 * to the other through a few slots. Waiting yields the CPU, so that little of it is counted.
 */
#ifndef BENCH_CROSS_H
#define BENCH_CROSS_H

#include <sched.h>
#include <stdatomic.h>

#include "allocator/bench/bench.h"

#define CROSS_SLOTS 4
#define CROSS_BATCH 512

struct cross {
	size_t bytes;
	uint64_t batches;
	/* Written by the producer, read by the consumer, and the other way round. */
	_Atomic(uint64_t) filled __attribute__((aligned(64)));
	_Atomic(uint64_t) emptied __attribute__((aligned(64)));
	char *blocks[CROSS_SLOTS][CROSS_BATCH] __attribute__((aligned(64)));
};

static inline void *cross_consume(void *argument)
{
	struct cross *cross = argument;
	static uint64_t sum;

	for (uint64_t batch = 0; batch < cross->batches; batch++) {
		char **blocks = cross->blocks[batch % CROSS_SLOTS];

		while (atomic_load(&cross->filled) == batch)
			sched_yield();
		for (int i = 0; i < CROSS_BATCH; i++) {
			sum += (uint64_t)blocks[i][0];
			free(blocks[i]);
		}
		atomic_store(&cross->emptied, batch + 1);
	}
	return &sum;
}

static inline void cross_produce(struct cross *cross)
{
	for (uint64_t batch = 0; batch < cross->batches; batch++) {
		char **blocks = cross->blocks[batch % CROSS_SLOTS];

		while (batch - atomic_load(&cross->emptied) == CROSS_SLOTS)
			sched_yield();
		for (int i = 0; i < CROSS_BATCH; i++) {
			blocks[i] = bench_malloc(cross->bytes);
			blocks[i][0] = 1;
		}
		atomic_store(&cross->filled, batch + 1);
	}
}

static inline void cross_run(size_t bytes, uint64_t batches)
{
	static struct cross cross;

	cross.bytes = bytes;
	cross.batches = batches;
	pthread_t consumer = bench_thread(cross_consume, &cross);

	cross_produce(&cross);
	pthread_join(consumer, NULL);
	bench_live_was(CROSS_SLOTS * CROSS_BATCH * bytes);
}

#endif
