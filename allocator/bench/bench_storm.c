/* SPDX-License-Identifier: MIT */
/*
 * A storm of threads that allocate next to nothing: what a thread's birth and end cost.
 */
#include "allocator/bench/bench.h"

#define THREADS 8

static void *live_briefly(void *argument)
{
	void *blocks[16];

	for (int i = 0; i < 16; i++)
		blocks[i] = bench_malloc((size_t)16 << i % 8);
	for (int i = 0; i < 16; i++)
		free(blocks[i]);
	return argument;
}

void bench_run(unsigned scale)
{
	pthread_t threads[THREADS];

	for (uint64_t round = 0; round < scale * UINT64_C(150); round++) {
		for (int i = 0; i < THREADS; i++)
			threads[i] = bench_thread(live_briefly, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
}
