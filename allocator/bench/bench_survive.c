/* SPDX-License-Identifier: MIT */
/*
 * Threads that live shortly, and objects that outlive them: a tenth of what each thread allocates
 * is left to the next threads, who free it.
 */
#include <stdatomic.h>

#include "allocator/bench/bench.h"

#define THREADS 2
#define SHELF   2000
#define OBJECTS 2000

static _Atomic(char *) shelf[SHELF];

static void put_on_shelf(uint32_t *state, char *object)
{
	free(atomic_exchange(&shelf[bench_random(state) % SHELF], object));
}

static void *live_shortly(void *argument)
{
	uint32_t state = (uint32_t)(uintptr_t)argument;
	char *own[16] = { NULL };

	for (int i = 0; i < OBJECTS; i++) {
		/* Mostly small, now and then larger, up to 16 KiB. */
		size_t bytes = bench_between(&state, 8, (size_t)32 << bench_random(&state) % 10);
		char *object = bench_malloc(bytes);

		object[0] = 1;
		object[bytes - 1] = 1;
		if (i % 10 == 0) {
			put_on_shelf(&state, object);
			continue;
		}
		free(own[i % 16]);
		own[i % 16] = object;
	}
	for (int i = 0; i < 16; i++)
		free(own[i]);
	return NULL;
}

void bench_run(unsigned scale)
{
	pthread_t threads[THREADS];

	for (uintptr_t round = 1; round <= scale * UINT64_C(60); round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			threads[i] = bench_thread(live_shortly, (void *)(2 * round + i));
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < SHELF; i++)
		free(atomic_exchange(&shelf[i], NULL));
	bench_live_was(SHELF * (size_t)1650);
}
