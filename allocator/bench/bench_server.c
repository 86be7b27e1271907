/* SPDX-License-Identifier: MIT */
/*
 * A server whose sessions go from thread to thread: each thread replaces random objects of its
 * table for a while, then a new thread takes the table over and the old one ends.
 */
#include "allocator/bench/bench.h"

#define TABLES      2
#define OBJECTS     5000
#define ROUND_STEPS 50000

struct table {
	char *objects[OBJECTS];
	size_t sizes[OBJECTS];
	uint32_t state;
};

static void *serve(void *argument)
{
	struct table *table = argument;

	for (int i = 0; i < ROUND_STEPS; i++) {
		uint32_t slot = bench_random(&table->state) % OBJECTS;

		free(table->objects[slot]);
		bench_live_sub(table->sizes[slot]);
		table->sizes[slot] = bench_between(&table->state, 8, 1000);
		table->objects[slot] = bench_malloc(table->sizes[slot]);
		bench_live_add(table->sizes[slot]);
		table->objects[slot][0] = 1;
	}
	return NULL;
}

void bench_run(unsigned scale)
{
	static struct table tables[TABLES] = { { .state = 42 }, { .state = 43 } };
	pthread_t threads[TABLES];

	for (uint64_t round = 0; round < scale * UINT64_C(6); round++) {
		for (int i = 0; i < TABLES; i++)
			threads[i] = bench_thread(serve, &tables[i]);
		for (int i = 0; i < TABLES; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < TABLES; i++) {
		for (int slot = 0; slot < OBJECTS; slot++)
			free(tables[i].objects[slot]);
	}
}
