/* SPDX-License-Identifier: MIT */
/*
 * Huge blocks of changing sizes while another thread purges.
 *
 * Blocks reuse each other's mappings, and what they have to spare is cut off by whoever purges,
 * at any moment of their lives. Both ends and the middle of what may be used are stamped and
 * checked. At the end the books must be empty. All go on until enough ends were to spare when
 * somebody purged, or there is no hope of it. Seed: first argument.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/moves.h"

#define STRESS_THREADS 3
#define STRESS_SLOTS   3
#define STRESS_STEPS   2000
#define STRESS_MOST    (20 * STRESS_STEPS)
#define STRESS_SPARES  10u
#define STRESS_LEAST   ((size_t)5 << 19)
#define STRESS_SPREAD  ((size_t)6 << 20)

struct stress_slot {
	unsigned char *start;
	size_t bytes;
};

struct stress_worker {
	pthread_t thread;
	uint64_t random;
	uint64_t errors;
	struct stress_slot slots[STRESS_SLOTS];
};

static atomic_bool stress_is_over;
/* Purges that found something to spare. */
static atomic_uint stress_spares;

static uint64_t stress_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void stress_stamp(struct stress_slot *slot, unsigned char stamp)
{
	slot->start[0] = stamp;
	slot->start[slot->bytes / 2] = stamp;
	slot->start[slot->bytes - 1] = stamp;
}

static bool stress_is_stamped(const struct stress_slot *slot, unsigned char stamp)
{
	return slot->start[0] == stamp && slot->start[slot->bytes / 2] == stamp &&
	       slot->start[slot->bytes - 1] == stamp;
}

static void stress_step(struct stress_worker *worker)
{
	size_t index = stress_random(&worker->random) % STRESS_SLOTS;
	size_t bytes = STRESS_LEAST + stress_random(&worker->random) % STRESS_SPREAD;
	struct stress_slot *slot = &worker->slots[index];
	unsigned char stamp = (unsigned char)(index + 1);

	if (slot->start && !stress_is_stamped(slot, stamp))
		worker->errors++;
	if (stress_random(&worker->random) % 3 == 0) {
		unsigned char *moved = bedrock_realloc(slot->start, bytes);

		if (moved && slot->start && moved[0] != stamp)
			worker->errors++;
		slot->start = moved ? moved : slot->start;
	} else {
		bedrock_free(slot->start);
		slot->start = bedrock_malloc(bytes);
	}
	if (!slot->start)
		return;
	slot->bytes = bedrock_malloc_usable_size(slot->start);
	stress_stamp(slot, stamp);
}

static void *stress_work(void *argument)
{
	struct stress_worker *worker = argument;

	for (int i = 0; i < STRESS_STEPS || (i < STRESS_MOST && stress_spares < STRESS_SPARES); i++)
		stress_step(worker);
	for (int i = 0; i < STRESS_SLOTS; i++)
		bedrock_free(worker->slots[i].start);
	return NULL;
}

static void *stress_purge(void *argument)
{
	/* Long enough for some blocks to get something to spare. */
	const struct timespec pause = { .tv_nsec = 200000 };

	while (!atomic_load(&stress_is_over)) {
		if (bedrock_load_relaxed(&bedrock_heap.huge.spare_bytes) > 0)
			atomic_fetch_add(&stress_spares, 1);
		bedrock_purge();
		nanosleep(&pause, NULL);
	}
	return argument;
}

static uint64_t stress_run(uint64_t seed)
{
	static struct stress_worker workers[STRESS_THREADS];
	pthread_t purger;
	uint64_t errors = 0;

	if (pthread_create(&purger, NULL, stress_purge, NULL))
		return 1;
	for (int i = 0; i < STRESS_THREADS; i++) {
		workers[i].random = seed * 977 + (uint64_t)i;
		if (pthread_create(&workers[i].thread, NULL, stress_work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < STRESS_THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		errors += workers[i].errors;
	}
	atomic_store(&stress_is_over, true);
	pthread_join(purger, NULL);
	return errors;
}

int main(int argc, char **argv)
{
	moves_install();
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t errors = stress_run(seed);
	const struct bedrock_huge *huge = &bedrock_heap.huge;

	bedrock_purge();
	uint64_t left_bytes = bedrock_load_relaxed(&huge->live_bytes) +
			      bedrock_load_relaxed(&huge->charged_bytes) +
			      bedrock_huge_unused_bytes(huge);

	printf("stress_huge: seed %" PRIu64 ", %u ends to spare, %" PRIu64 " errors, %" PRIu64
	       " bytes left\n",
	       seed, atomic_load(&stress_spares), errors, left_bytes);
	if (stress_spares < STRESS_SPARES)
		printf("stress_huge: too few ends to spare: nothing is proven\n");
	return errors > 0 || left_bytes > 0 || stress_spares < STRESS_SPARES;
}
