/* SPDX-License-Identifier: MIT */
/*
 * Threads that sleep and wake at random while their caches are taken all the time.
 *
 * Each worker replaces stamped blocks of a few classes for a while and sleeps for some
 * microseconds. One thread takes whatever it can get of their caches, without a pause, and another
 * ends and starts workers. Now and then a file cannot be read in the middle of a taking, so that
 * lists are in doubt. A block that is given twice loses its stamp; at the end nothing may be
 * allocated. Where that can be, something must have been taken, and something in doubt.
 * Seed: first argument. STRESS_SCALE multiplies the work.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/idle.h"
#include "allocator/bedrock/nap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/stress.h"

#define STRESS_WORKERS 6
#define STRESS_SLOTS   64
#define STRESS_LIVES   20
#define STRESS_NAPS    150

struct stress_worker {
	pthread_t thread;
	uint64_t random;
	uint64_t errors;
	double scale;
};

/* What the thief has seen of its deeds; owners are quick to settle them. */
struct stress_deeds {
	uint64_t looks;
	uint64_t robbed;
	uint64_t doubtful;
};

static atomic_bool stress_is_over;

static void stress_replace(struct stress_worker *self, struct stress_block *block)
{
	if (block->start) {
		self->errors += !stress_holds(block, block->bytes);
		bedrock_free(block->start);
	}
	block->bytes = 1 + stress_random(&self->random) % 400;
	block->start = bedrock_malloc(block->bytes);
	if (block->start)
		stress_fill(block, stress_random(&self->random));
}

static void stress_clear(struct stress_worker *self, struct stress_block *blocks)
{
	for (int i = 0; i < STRESS_SLOTS; i++) {
		self->errors += blocks[i].start && !stress_holds(&blocks[i], blocks[i].bytes);
		bedrock_free(blocks[i].start);
	}
}

static void *stress_live(void *argument)
{
	struct stress_worker *self = argument;
	struct stress_block blocks[STRESS_SLOTS] = { { .start = NULL } };

	for (int nap = 0; nap < STRESS_NAPS; nap++) {
		struct timespec time = { .tv_nsec = (long)(stress_random(&self->random) % 200000) };
		uint64_t count = stress_random(&self->random) % 300;

		for (uint64_t i = 0; i < count; i++)
			stress_replace(self, &blocks[stress_random(&self->random) % STRESS_SLOTS]);
		nanosleep(&time, NULL);
	}
	stress_clear(self, blocks);
	return NULL;
}

/* One life after the other. */
static void *stress_main(void *argument)
{
	struct stress_worker *self = argument;

	for (int life = 0; life < (int)(STRESS_LIVES * self->scale); life++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, stress_live, self)) {
			self->errors++;
			break;
		}
		pthread_join(thread, NULL);
	}
	return NULL;
}

BEDROCK_UNWATCHED static void stress_note_deeds(struct stress_deeds *deeds)
{
	struct bedrock_cache *cache = bedrock_load_acquire(&bedrock_heap.known_caches);

	for (; cache; cache = cache->next_known) {
		deeds->robbed += cache->is_robbed;
		for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
			deeds->doubtful += cache->sides[i].doubtful != NULL;
	}
}

static void *stress_thief(void *argument)
{
	struct stress_deeds *deeds = argument;

	for (; !stress_is_over; deeds->looks++) {
		bedrock_store_relaxed(&bedrock_heap.nap_again_ns, 0);
		bedrock_idle_take(&bedrock_heap, bedrock_os_now_ns(), deeds->looks % 4 != 0);
		stress_note_deeds(deeds);
		faults.read.error = deeds->looks % 8 == 7 ? EIO : 0;
		if (deeds->looks % 16 == 0)
			bedrock_purge();
	}
	return NULL;
}

/* Hot magazines are in use, and the kernel tells who sleeps. */
static bool stress_can_rob(void)
{
	return bedrock_heap_caches(&bedrock_heap) && !bedrock_heap.is_closed &&
	       bedrock_nap_is_possible();
}

static int stress_judge(const struct stress_deeds *deeds, uint64_t seed, uint64_t errors)
{
	struct bedrock_stats stats;
	bool is_idle = deeds->robbed == 0 || deeds->doubtful == 0;

	faults.read.error = 0;
	bedrock_purge();
	bedrock_stats_read(&stats);
	printf("stress_idle: seed %" PRIu64 ", %" PRIu64 " errors, %" PRIu64 " looks, %" PRIu64
	       " robbed, %" PRIu64 " in doubt, %u reads refused, %" PRIu64 " bytes left\n",
	       seed, errors, deeds->looks, deeds->robbed, deeds->doubtful, faults.read.hit,
	       stats.allocated_bytes);
	return errors != 0 || stats.allocated_bytes != 0 || faults.read.hit == 0 ||
	       (is_idle && stress_can_rob());
}

int main(int argc, char **argv)
{
	static struct stress_worker workers[STRESS_WORKERS];
	const char *scale = getenv("STRESS_SCALE");
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	struct stress_deeds deeds = { .looks = 0 };
	uint64_t errors = 0;
	pthread_t thief;

	fault_install();
	faults.read.every = 7;
	pthread_create(&thief, NULL, stress_thief, &deeds);
	for (int i = 0; i < STRESS_WORKERS; i++) {
		workers[i].random = (seed + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		workers[i].scale = scale ? strtod(scale, NULL) : 1;
		pthread_create(&workers[i].thread, NULL, stress_main, &workers[i]);
	}
	for (int i = 0; i < STRESS_WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		errors += workers[i].errors;
	}
	stress_is_over = true;
	pthread_join(thief, NULL);
	return stress_judge(&deeds, seed, errors);
}
