/* SPDX-License-Identifier: MIT */
/*
 * Does nothing but malloc and free, so that what stands between can be measured: pairs COUNT
 * THREADS. Prints the CPU time of the process for one call, in picoseconds.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS 64u

static void *work(void *argument)
{
	const uint64_t rounds = *(const uint64_t *)argument / SLOTS;
	void *slots[SLOTS];

	for (uint64_t round = 0; round < rounds; round++) {
		for (uint32_t i = 0; i < SLOTS; i++)
			slots[i] = malloc(16 + 8 * i);
		for (uint32_t i = 0; i < SLOTS; i++)
			free(slots[i]);
	}
	return NULL;
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint32_t threads = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
	pthread_t ids[64];
	uint64_t start_ns;

	threads = threads > 64 ? 64 : threads;
	start_ns = cpu_ns();
	for (uint32_t i = 1; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, &count))
			return 1;
	work(&count);
	for (uint32_t i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%" PRIu64 "\n", (cpu_ns() - start_ns) * 1000 / (2 * count * threads));
	return 0;
}
