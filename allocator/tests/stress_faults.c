/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate while the kernel refuses now this and now that.
 *
 * A conductor changes every few milliseconds which calls fail, how often, and with what: mmap,
 * munmap, mremap, madvise (refusing, or lying), pthread_create. The threads accept NULL, and
 * nothing else: content must hold, calloc must be zero, a refused realloc must keep its block.
 * When the faults end, everything must be served again, everything must come back, and resident
 * memory must be small. Each of the first four must have been refused, and madvise have lied as
 * well; of pthread_create so few calls are made that it need not. Seed: first argument.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/moves.h"
#include "allocator/tests/stress.h"

#define STRESS_THREADS      3
#define STRESS_SLOTS        400
#define STRESS_SCENES       300
#define STRESS_SCENES_MOST  15000
#define STRESS_SCENE_NS     4000000
#define STRESS_RESIDENT_MAX ((size_t)64 << 20)

struct stress_thread {
	pthread_t thread;
	uint64_t random;
	uint64_t errors;
	uint64_t served;
	uint64_t refused;
	struct stress_block slots[STRESS_SLOTS];
};

static _Atomic bool stress_is_over;

static void stress_note(struct stress_thread *self, bool is_good, const char *what)
{
	if (is_good)
		return;
	self->errors++;
	fprintf(stderr, "stress_faults: %s\n", what);
}

static bool stress_is_zero(const unsigned char *start, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++) {
		if (start[at] != 0)
			return false;
	}
	return true;
}

static void stress_allocate(struct stress_thread *self, struct stress_block *block)
{
	uint64_t draw = stress_random(&self->random) % 8;

	block->bytes = stress_size(&self->random) + 1;
	if (draw == 0) {
		block->start = bedrock_aligned_alloc(4096, block->bytes);
	} else if (draw < 4) {
		block->start = bedrock_calloc(1, block->bytes);
		stress_note(self, !block->start || stress_is_zero(block->start, block->bytes),
			    "calloc is not zero");
	} else {
		block->start = bedrock_malloc(block->bytes);
	}
	if (!block->start) {
		self->refused++;
		return;
	}
	self->served++;
	stress_fill(block, self->random);
}

static void stress_release(struct stress_thread *self, struct stress_block *block)
{
	stress_note(self, stress_holds(block, block->bytes), "content is broken at free");
	bedrock_free(block->start);
	block->start = NULL;
}

static void stress_resize(struct stress_thread *self, struct stress_block *block)
{
	size_t bytes = stress_size(&self->random) + 1;
	size_t common_bytes = bytes < block->bytes ? bytes : block->bytes;
	unsigned char *start = bedrock_realloc(block->start, bytes);

	if (!start) {
		self->refused++;
		stress_note(self, stress_holds(block, block->bytes), "refused realloc broke it");
		return;
	}
	block->start = start;
	stress_note(self, stress_holds(block, common_bytes), "realloc has lost content");
	block->bytes = bytes;
	stress_fill(block, block->stamp + 1);
}

static void *stress_main(void *argument)
{
	struct stress_thread *self = argument;

	while (!stress_is_over) {
		struct stress_block *block =
			&self->slots[stress_random(&self->random) % STRESS_SLOTS];

		if (!block->start)
			stress_allocate(self, block);
		else if (stress_random(&self->random) % 3)
			stress_release(self, block);
		else
			stress_resize(self, block);
		if (stress_random(&self->random) % 4096 == 0)
			bedrock_purge();
	}
	return NULL;
}

/* One fault: off for most scenes, else always or every n-th time. */
static void stress_set(struct fault *fault, uint64_t *random, int error)
{
	fault->every = (unsigned)(stress_random(random) % 4);
	fault->error = stress_random(random) % 3 == 0 ? error : 0;
}

static bool stress_all_fired(void)
{
	return faults.mmap.hit && faults.munmap.hit && faults.mremap.hit &&
	       faults.madvise.hit > faults.madvise.lied && faults.madvise.lied;
}

/* Refuse every call of the kinds that have not been refused yet, and only those; then lie. */
static void stress_set_unfired(void)
{
	struct fault *all[] = { &faults.mmap, &faults.munmap, &faults.mremap, &faults.madvise };

	for (int i = 0; i < 4; i++) {
		all[i]->every = 1;
		all[i]->error = all[i]->hit > all[i]->lied ? 0 : ENOMEM;
	}
	faults.madvise.lies = !faults.madvise.error && !faults.madvise.lied;
}

/* A slow build sees few calls in a scene: go on until each has been refused, within reason. */
static void stress_conduct(uint64_t random)
{
	static const int errors[] = { EAGAIN, ENOMEM, EINVAL, ENOSYS, EPERM };
	struct timespec scene = { .tv_nsec = STRESS_SCENE_NS };

	for (int i = 0; i < STRESS_SCENES || (i < STRESS_SCENES_MOST && !stress_all_fired()); i++) {
		stress_set(&faults.mmap, &random, ENOMEM);
		stress_set(&faults.munmap, &random, ENOMEM);
		stress_set(&faults.mremap, &random, ENOMEM);
		stress_set(&faults.madvise, &random, errors[stress_random(&random) % 5]);
		stress_set(&faults.thread, &random, EAGAIN);
		faults.madvise.lies = stress_random(&random) % 3 == 0;
		if (i >= STRESS_SCENES)
			stress_set_unfired();
		nanosleep(&scene, NULL);
	}
}

static void stress_end_faults(void)
{
	struct fault *all[] = { &faults.mmap, &faults.munmap, &faults.mremap, &faults.madvise,
				&faults.thread };

	for (int i = 0; i < 5; i++) {
		all[i]->error = 0;
		all[i]->lies = false;
	}
}

static uint64_t stress_check_fired(void)
{
	if (stress_all_fired())
		return 0;
	fprintf(stderr, "stress_faults: fired: mmap %u munmap %u mremap %u madvise %u, %u lies\n",
		faults.mmap.hit, faults.munmap.hit, faults.mremap.hit, faults.madvise.hit,
		faults.madvise.lied);
	return 1;
}

/* All is served again, and then all is given back. */
static uint64_t stress_check_after(struct stress_thread *self)
{
	struct bedrock_stats stats;

	stress_end_faults();
	for (int i = 0; i < STRESS_SLOTS; i++) {
		if (!self->slots[i].start)
			stress_allocate(self, &self->slots[i]);
		stress_note(self, self->slots[i].start != NULL, "not served after the faults");
	}
	for (int t = 0; t < STRESS_THREADS; t++) {
		for (int i = 0; i < STRESS_SLOTS; i++) {
			if (self[t].slots[i].start)
				stress_release(self, &self[t].slots[i]);
		}
	}
	/* Lies about madvise cannot be seen: only what was refused can come back. */
	bedrock_purge();
	bedrock_stats_read(&stats);
	stress_note(self, stats.allocated_bytes == 0, "blocks are left");
	stress_note(self, stats.dirty_bytes == 0, "dirty pages are left");
	stress_note(self, stats.mapped_bytes <= STRESS_RESIDENT_MAX, "mappings are left");
	return stress_check_fired();
}

int main(int argc, char **argv)
{
	static struct stress_thread threads[STRESS_THREADS];
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	uint64_t errors = 0;
	uint64_t refused = 0;
	uint64_t served = 0;

	fault_install();
	moves_install();
	for (int i = 0; i < STRESS_THREADS; i++) {
		threads[i].random = (seed + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		pthread_create(&threads[i].thread, NULL, stress_main, &threads[i]);
	}
	stress_conduct(seed + 99);
	stress_is_over = true;
	for (int i = 0; i < STRESS_THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	errors += stress_check_after(threads);
	for (int i = 0; i < STRESS_THREADS; i++) {
		errors += threads[i].errors;
		refused += threads[i].refused;
		served += threads[i].served;
	}
	printf("stress_faults: seed %" PRIu64 ", %" PRIu64 " served, %" PRIu64 " refused, %" PRIu64
	       " errors\n",
	       seed, served, refused, errors);
	return errors != 0;
}
