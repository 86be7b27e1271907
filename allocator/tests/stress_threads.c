/* SPDX-License-Identifier: MIT */
/*
 * Threads that do everything at once, against a model.
 *
 * Each thread draws random calls of the whole family. Every block carries a stamp over its bytes
 * (the usable ones, for some), made from its own sequence number, and is checked when it is
 * resized or freed. A fifth of the blocks is handed to other threads through a shared
 * table of exchange slots and freed there. At the end everything is freed, and the
 * statistics must show nothing left but what idle caches may hold. Seed: first argument.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/tests/moves.h"
#include "allocator/tests/stress.h"

#define STRESS_THREADS 4
#define STRESS_ROUNDS  3
#define STRESS_SLOTS   600
#define STRESS_SWAPS   64

/* Sanitizers make each access dear: fewer steps show the same. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_OPERATIONS 5000
#else
#define STRESS_OPERATIONS 25000
#endif

struct stress_thread {
	pthread_t thread;
	uint64_t random;
	uint64_t errors;
	uint64_t sequence;
	struct stress_block slots[STRESS_SLOTS];
};

static _Atomic(struct stress_block *) stress_swaps[STRESS_SWAPS];

static void stress_note(struct stress_thread *self, bool is_good, const char *what)
{
	if (is_good)
		return;
	self->errors++;
	fprintf(stderr, "stress_threads: %s\n", what);
}

static void *stress_calloc(struct stress_thread *self, size_t bytes)
{
	unsigned char *start = bedrock_calloc(bytes ? bytes : 1, 1);

	for (size_t at = 0; start && at < bytes; at++) {
		if (start[at] != 0) {
			stress_note(self, false, "calloc is not zero");
			break;
		}
	}
	return start;
}

static void *stress_aligned(struct stress_thread *self, size_t bytes)
{
	size_t align_bytes = (size_t)8 << stress_random(&self->random) % 16;
	void *start = NULL;

	if (stress_random(&self->random) % 500 == 0)
		align_bytes = (size_t)1 << (20 + stress_random(&self->random) % 5);
	int rc = bedrock_posix_memalign(&start, align_bytes, bytes);

	stress_note(self, rc == 0, "posix_memalign failed");
	stress_note(self, ((uintptr_t)start & (align_bytes - 1)) == 0, "block is not aligned");
	return start;
}

static void stress_allocate(struct stress_thread *self, struct stress_block *block)
{
	size_t bytes = stress_size(&self->random);
	uint64_t draw = stress_random(&self->random) % 10;

	if (draw < 2)
		block->start = stress_calloc(self, bytes);
	else if (draw < 4)
		block->start = stress_aligned(self, bytes);
	else
		block->start = bedrock_malloc(bytes);
	stress_note(self, block->start != NULL, "no memory");
	if (!block->start)
		return;
	size_t usable_bytes = bedrock_malloc_usable_size(block->start);

	stress_note(self, usable_bytes >= bytes, "usable size is too small");
	block->bytes = draw == 9 ? usable_bytes : bytes;
	stress_fill(block, self->random ^ ++self->sequence);
}

static void stress_release(struct stress_thread *self, struct stress_block *block)
{
	stress_note(self, stress_holds(block, block->bytes), "content is broken at free");
	errno = 4711;
	if (self->sequence % 7 == 0)
		bedrock_free_sized(block->start, block->bytes);
	else
		bedrock_free(block->start);
	stress_note(self, errno == 4711, "free has changed errno");
	block->start = NULL;
}

static void stress_resize(struct stress_thread *self, struct stress_block *block)
{
	size_t bytes = stress_size(&self->random) + 1;
	size_t common_bytes = bytes < block->bytes ? bytes : block->bytes;
	unsigned char *start = bedrock_realloc(block->start, bytes);

	stress_note(self, start != NULL, "realloc failed");
	if (!start)
		return;
	block->start = start;
	stress_note(self, stress_holds(block, common_bytes), "realloc has lost content");
	block->bytes = bytes;
	stress_fill(block, block->stamp + 1);
}

/* Put a block into an exchange slot, and free what somebody else had put there. */
static void stress_swap(struct stress_thread *self, struct stress_block *block)
{
	struct stress_block *parcel = bedrock_malloc(sizeof(*parcel));

	if (!parcel)
		return;
	*parcel = *block;
	block->start = NULL;
	parcel =
		atomic_exchange(&stress_swaps[stress_random(&self->random) % STRESS_SWAPS], parcel);
	if (!parcel)
		return;
	stress_release(self, parcel);
	bedrock_free(parcel);
}

static void stress_step(struct stress_thread *self)
{
	struct stress_block *block = &self->slots[stress_random(&self->random) % STRESS_SLOTS];
	uint64_t draw = stress_random(&self->random) % 10;

	if (!block->start)
		stress_allocate(self, block);
	else if (draw < 5)
		stress_release(self, block);
	else if (draw < 8)
		stress_resize(self, block);
	else
		stress_swap(self, block);
	if (stress_random(&self->random) % 20000 == 0)
		bedrock_malloc_trim(0);
}

static void *stress_main(void *argument)
{
	struct stress_thread *self = argument;

	for (int i = 0; i < STRESS_OPERATIONS; i++)
		stress_step(self);
	for (int i = 0; i < STRESS_SLOTS; i++) {
		if (self->slots[i].start)
			stress_release(self, &self->slots[i]);
	}
	return NULL;
}

static uint64_t stress_round(struct stress_thread *threads, uint64_t seed)
{
	uint64_t errors = 0;

	for (int i = 0; i < STRESS_THREADS; i++) {
		threads[i].random = (seed + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		pthread_create(&threads[i].thread, NULL, stress_main, &threads[i]);
	}
	for (int i = 0; i < STRESS_THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		errors += threads[i].errors;
		threads[i].errors = 0;
	}
	for (int i = 0; i < STRESS_SWAPS; i++) {
		struct stress_block *parcel = atomic_exchange(&stress_swaps[i], NULL);

		if (parcel) {
			bedrock_free(parcel->start);
			bedrock_free(parcel);
		}
	}
	return errors;
}

int main(int argc, char **argv)
{
	static struct stress_thread threads[STRESS_THREADS];
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	struct bedrock_stats stats;
	uint64_t errors = 0;

	moves_install();
	for (uint64_t round = 0; round < STRESS_ROUNDS; round++)
		errors += stress_round(threads, seed * 1000 + round * 10);
	bedrock_purge();
	bedrock_stats_read(&stats);
	if (stats.allocated_bytes != 0) {
		fprintf(stderr, "stress_threads: %" PRIu64 " bytes left\n", stats.allocated_bytes);
		errors++;
	}
	printf("stress_threads: seed %" PRIu64 ", %" PRIu64 " errors, dirty %" PRIu64
	       ", mapped %" PRIu64 "\n",
	       seed, errors, stats.dirty_bytes, stats.mapped_bytes);
	return errors != 0;
}
