/* SPDX-License-Identifier: MIT */
/*
 * Forks out of the middle of everything.
 *
 * Some threads allocate and free without pause, others do the same and die, the background
 * thread decays as fast as it can, and meanwhile the main thread forks again and again. Each
 * child allocates, resizes and frees across all sizes, starts a thread of its own, forks a
 * grandchild, and exits with a status that the parent checks. A child that hangs is killed by
 * its own alarm, which counts as an error. Seed: first argument.
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
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/tests/moves.h"

#define STRESS_WORKERS       3
#define STRESS_FORKS         60
#define STRESS_SLOTS         200
#define STRESS_CHILD_SECONDS 20

/* The sanitizers' own locks do not survive a fork among threads: do without child threads. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_CHILD_HAS_THREADS 0
#else
#define STRESS_CHILD_HAS_THREADS 1
#endif

static _Atomic bool stress_is_over;

static size_t stress_size(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	uint64_t draw = *random >> 33;

	if (draw % 64 == 0)
		return draw % 3000000;
	return draw % 8 == 0 ? draw % 100000 : draw % 2000;
}

/* Fill and drop slots for a while. -> errors seen. */
static int stress_churn(uint64_t random, int rounds)
{
	unsigned char *slots[STRESS_SLOTS] = { NULL };
	int errors = 0;

	for (int i = 0; i < rounds; i++) {
		size_t bytes = stress_size(&random) + 1;
		size_t slot = random >> 40 & 127;

		if (slots[slot] && *slots[slot] != (unsigned char)slot)
			errors++;
		if (i % 3 == 0) {
			slots[slot] = bedrock_realloc(slots[slot], bytes);
		} else {
			bedrock_free(slots[slot]);
			slots[slot] = bedrock_malloc(bytes);
		}
		if (!slots[slot])
			errors++;
		else
			*slots[slot] = (unsigned char)slot;
	}
	for (int i = 0; i < STRESS_SLOTS; i++)
		bedrock_free(slots[i]);
	return errors;
}

static void *stress_short_lived(void *argument)
{
	return (void *)(intptr_t)stress_churn((uintptr_t)argument, 50);
}

static void *stress_worker(void *argument)
{
	uint64_t random = (uintptr_t)argument;
	intptr_t errors = 0;

	while (!stress_is_over) {
		pthread_t thread;
		void *result = NULL;

		errors += stress_churn(random, 500);
		random += 77;
		if (pthread_create(&thread, NULL, stress_short_lived, (void *)(uintptr_t)random))
			continue;
		pthread_join(thread, &result);
		errors += (intptr_t)result;
	}
	return (void *)errors;
}

static int stress_wait(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return 1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	fprintf(stderr, "stress_fork: child ended with status 0x%x\n", status);
	return 1;
}

/* What a child does. -> its errors. */
static int stress_child(uint64_t random)
{
	int errors = stress_churn(random, 300);
	pthread_t thread;
	void *result = NULL;

	if (STRESS_CHILD_HAS_THREADS &&
	    pthread_create(&thread, NULL, stress_short_lived, (void *)(uintptr_t)random) == 0) {
		pthread_join(thread, &result);
		errors += (int)(intptr_t)result;
	}
	pid_t grandchild = fork();

	if (grandchild == 0) {
		alarm(STRESS_CHILD_SECONDS);
		_exit(stress_churn(random + 1, 100) != 0);
	}
	if (grandchild > 0)
		errors += stress_wait(grandchild);
	bedrock_purge();
	return errors;
}

static int stress_fork_once(uint64_t random)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(STRESS_CHILD_SECONDS);
		_exit(stress_child(random) != 0);
	}
	return child < 0 ? 1 : stress_wait(child);
}

/* The background thread is a child thread as well. */
static void stress_without_child_threads(char **argv)
{
	if (STRESS_CHILD_HAS_THREADS || getenv("BEDROCK_CONF"))
		return;
	setenv("BEDROCK_CONF", "background_thread:false,dirty_decay_ms:10", 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	pthread_t workers[STRESS_WORKERS];
	intptr_t errors = 0;

	stress_without_child_threads(argv);
	moves_install();
	for (uintptr_t i = 0; i < STRESS_WORKERS; i++)
		pthread_create(&workers[i], NULL, stress_worker, (void *)(seed * 100 + i));
	for (uint64_t i = 0; i < STRESS_FORKS; i++) {
		errors += stress_churn(seed + i, 100);
		errors += stress_fork_once(seed * 1000 + i);
	}
	stress_is_over = true;
	for (int i = 0; i < STRESS_WORKERS; i++) {
		void *result = NULL;

		pthread_join(workers[i], &result);
		errors += (intptr_t)result;
	}
	printf("stress_fork: seed %" PRIu64 ", %d forks, %" PRIdPTR " errors\n", seed, STRESS_FORKS,
	       errors);
	return errors != 0;
}
