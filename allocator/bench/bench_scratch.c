/* SPDX-License-Identifier: MIT */
/*
 * Passive false sharing: the main thread hands each thread an object, they free it and get new
 * ones, which must not come from a line that the other thread has as well.
 */
#include "allocator/bench/bench_lines.h"

struct work {
	char *object;
	uint64_t rounds;
};

static void *scratch(void *argument)
{
	struct work *work = argument;

	free(work->object);
	for (uint64_t round = 0; round < work->rounds; round++) {
		char *object = bench_malloc(LINES_BYTES);

		lines_write(object);
		free(object);
	}
	return NULL;
}

void bench_run(unsigned scale)
{
	static struct work work[LINES_THREADS];
	pthread_t threads[LINES_THREADS];

	for (int i = 0; i < LINES_THREADS; i++) {
		work[i].object = bench_malloc(LINES_BYTES);
		work[i].rounds = scale * UINT64_C(400);
	}
	for (int i = 0; i < LINES_THREADS; i++)
		threads[i] = bench_thread(scratch, &work[i]);
	for (int i = 0; i < LINES_THREADS; i++)
		pthread_join(threads[i], NULL);
}
