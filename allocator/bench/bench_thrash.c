/* SPDX-License-Identifier: MIT */
/*
 * Active false sharing: two threads allocate small objects at the same time, which must not be
 * cut from one line.
 */
#include "allocator/bench/bench_lines.h"

static void *thrash(void *argument)
{
	uint64_t rounds = *(uint64_t *)argument;

	for (uint64_t round = 0; round < rounds; round++) {
		char *object = bench_malloc(LINES_BYTES);

		lines_write(object);
		free(object);
	}
	return NULL;
}

void bench_run(unsigned scale)
{
	uint64_t rounds = scale * UINT64_C(400);
	pthread_t threads[LINES_THREADS];

	for (int i = 0; i < LINES_THREADS; i++)
		threads[i] = bench_thread(thrash, &rounds);
	for (int i = 0; i < LINES_THREADS; i++)
		pthread_join(threads[i], NULL);
}
