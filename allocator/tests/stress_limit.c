/* SPDX-License-Identifier: MIT */
/*
 * Threads that want more than the limit allows, while a conductor moves the limit, lets purges be
 * refused or lie, registers and takes away callbacks, and forks.
 *
 * After each turn with a limit that was not lowered, what the kernel holds of the allocator's
 * mappings must be within the limit; blocks must keep their content; in the end everything is
 * served again and everything comes back. Turns go on until each of these was seen, or there is no
 * hope of it. Seed: first argument.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/moves.h"
#include "allocator/tests/residence.h"
#include "allocator/tests/stress.h"

#define STRESS_THREADS 3
#define STRESS_SLOTS   300
#define STRESS_TURNS   150
#define STRESS_MOST    (10 * STRESS_TURNS)
/* Turns in which the limit held at first, so that it can be seen whether it goes on to hold. */
#define STRESS_COMPARED      20u
#define STRESS_TURN_US       4000
#define STRESS_CHILD_SECONDS 60
#define MIB                  ((uint64_t)1 << 20)

struct stress_thread {
	pthread_t thread;
	uint64_t random;
	uint64_t errors;
	uint64_t served;
	uint64_t refused;
	struct stress_block slots[STRESS_SLOTS];
};

static _Atomic bool stress_is_over;
static _Atomic uint64_t stress_callbacks;
static unsigned stress_compared;

/* What all threads hold would be some 20 MiB; the limits are around that. */
static void stress_turn(struct stress_thread *self)
{
	struct stress_block *slot = &self->slots[stress_random(&self->random) % STRESS_SLOTS];
	size_t bytes = stress_size(&self->random);

	if (slot->start && !stress_holds(slot, slot->bytes))
		self->errors++;
	if (stress_random(&self->random) % 4 == 0 && slot->start && bytes > 0) {
		unsigned char *start = bedrock_realloc(slot->start, bytes);

		self->refused += !start;
		if (!start)
			return;
		slot->start = start;
	} else {
		bedrock_free(slot->start);
		slot->start = bedrock_malloc(bytes);
		self->refused += !slot->start;
	}
	if (!slot->start)
		return;
	self->served++;
	slot->bytes = bytes;
	stress_fill(slot, stress_random(&self->random));
}

static void *stress_thread_main(void *argument)
{
	struct stress_thread *self = argument;

	while (!stress_is_over)
		stress_turn(self);
	for (int i = 0; i < STRESS_SLOTS; i++)
		bedrock_free(self->slots[i].start);
	return NULL;
}

static void stress_callback(enum bedrock_pressure pressure, size_t wanted_bytes, void *argument)
{
	void *block = bedrock_malloc(wanted_bytes % 5000);

	(void)pressure;
	(void)argument;
	stress_callbacks++;
	bedrock_free(block);
}

/* -> did the child live within the limit? */
static bool stress_fork(uint64_t limit_bytes)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		alarm(STRESS_CHILD_SECONDS);
		/* A sanitizer allows no new threads here. */
		bedrock_heap.options.is_background_thread = false;
		for (int i = 0; i < 2000; i++) {
			char *block = bedrock_malloc(20000);

			if (block)
				*block = 1;
		}
		/* Beyond the limit only by what was there when it was lowered. */
		_exit(bedrock_resident() <= limit_bytes + 24 * MIB ? 0 : 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* Lower the limit, wait until it holds, and see that it goes on to hold. -> errors */
static uint64_t stress_scene(uint64_t *random, int turn)
{
	uint64_t limit_bytes = (6 + stress_random(random) % 12) * MIB;
	uint64_t errors = 0;

	residence.error = 0;
	residence.is_lying = false;
	bedrock_limit_memory(limit_bytes, turn % 3 == 0 ? limit_bytes : 0);
	if (turn % 2)
		bedrock_on_pressure(stress_callback, NULL);
	bool is_within = bedrock_resident() <= limit_bytes;

	residence.is_lying = turn % 5 == 1;
	residence.error = turn % 5 == 2 ? EAGAIN : 0;
	usleep(STRESS_TURN_US);
	uint64_t resident_bytes = residence_bytes();

	stress_compared += is_within;
	if (is_within && resident_bytes > limit_bytes) {
		fprintf(stderr, "stress_limit: %" PRIu64 " bytes resident, %" PRIu64 " allowed\n",
			resident_bytes, limit_bytes);
		errors++;
	}
	if (turn % 2)
		errors += bedrock_off_pressure(stress_callback, NULL) != 0;
	if (turn % 10 == 9)
		errors += !stress_fork(limit_bytes);
	return errors;
}

/* What proves nothing unless it was seen, the first that was not, or NULL. */
static const char *stress_lacks(void)
{
	if (stress_compared < STRESS_COMPARED)
		return "turn with a limit that held at first";
	if (stress_callbacks == 0)
		return "callback";
	if (residence.lies == 0)
		return "lie of madvise";
	return residence.refusals ? NULL : "refusal of madvise";
}

static uint64_t stress_end(struct stress_thread *threads)
{
	uint64_t errors = 0;
	uint64_t refused = 0;
	uint64_t served = 0;

	stress_is_over = true;
	for (int i = 0; i < STRESS_THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		errors += threads[i].errors;
		refused += threads[i].refused;
		served += threads[i].served;
	}
	residence.error = 0;
	residence.is_lying = false;
	bedrock_limit_memory(16 * MIB, 0);
	bedrock_purge();
	errors += bedrock_malloc(12 * MIB) == NULL;
	printf("stress_limit: %" PRIu64 " served, %" PRIu64 " refused, %" PRIu64
	       " callbacks, %u turns compared\n",
	       served, refused, (uint64_t)stress_callbacks, stress_compared);
	return errors + (refused == 0) + (served == 0);
}

int main(int argc, char **argv)
{
	static struct stress_thread threads[STRESS_THREADS];
	uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : 42;
	uint64_t errors = 0;

	residence_install();
	moves_install();
	bedrock_limit_memory(12 * MIB, 0);
	for (uint64_t i = 0; i < STRESS_THREADS; i++) {
		threads[i].random = random + i + 1;
		if (pthread_create(&threads[i].thread, NULL, stress_thread_main, &threads[i]))
			return 3;
	}
	for (int turn = 0; turn < STRESS_TURNS || (turn < STRESS_MOST && stress_lacks()); turn++)
		errors += stress_scene(&random, turn);
	errors += stress_end(threads);
	if (stress_lacks())
		printf("stress_limit: no %s, or too few: nothing is proven\n", stress_lacks());
	printf("stress_limit: %" PRIu64 " errors\n", errors);
	return errors || stress_lacks() ? 1 : 0;
}
