/* SPDX-License-Identifier: MIT */
/*
 * A program that makes a known number of calls, for what records them. Its first argument says how:
 *
 *   hand-over  two threads allocate 20,000 blocks each, and two others free them
 *   lives      3,000 threads, one after the other, allocate and free 10 blocks each
 *   fork       a child makes 5,000 pairs, its parent 1,000
 *   exec       makes 1,000 pairs, and becomes a program that makes 2,000
 *   forever    until it is killed; says "going" when it has made 100,000 pairs
 *   resize     three requests that are refused, then 100 blocks that grow in 50 steps each
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 20000u
#define ROOM   512u
#define LIVES  3000u

/* From one producer to one consumer. */
struct queue {
	_Atomic uint64_t head, tail;
	void *blocks[ROOM];
};

static struct queue queues[2];

static void *produce(void *argument)
{
	struct queue *const queue = argument;

	for (uint64_t i = 0; i < BLOCKS; i++) {
		while (i - atomic_load(&queue->tail) >= ROOM)
			sched_yield();
		queue->blocks[i % ROOM] = malloc(16 + i % 1000);
		atomic_store(&queue->head, i + 1);
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct queue *const queue = argument;

	for (uint64_t i = 0; i < BLOCKS; i++) {
		while (atomic_load(&queue->head) <= i)
			sched_yield();
		free(queue->blocks[i % ROOM]);
		atomic_store(&queue->tail, i + 1);
	}
	return NULL;
}

static void pairs(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(malloc(40 + i % 100));
}

static void *live(void *argument)
{
	pairs(10);
	return argument;
}

static int hand_over(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, produce, &queues[i]) ||
		    pthread_create(&threads[2 + i], NULL, consume, &queues[i]))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int lives(void)
{
	pthread_t thread;

	for (uint32_t i = 0; i < LIVES; i++)
		if (pthread_create(&thread, NULL, live, NULL) || pthread_join(thread, NULL))
			return 1;
	return 0;
}

static int with_child(void)
{
	int status = 0;
	pid_t pid;

	pairs(500);
	pid = fork();
	if (pid == 0) {
		pairs(5000);
		_exit(0);
	}
	pairs(500);
	return waitpid(pid, &status, 0) == pid ? status : 1;
}

/* More than there is, and an alignment beyond all sense. */
static void ask_for_too_much(void)
{
	volatile size_t much = (size_t)1 << 50;
	void *block = NULL;

	free(malloc(SIZE_MAX / 2 + much));
	free(calloc(much, much));
	if (posix_memalign(&block, much, 100) == 0)
		free(block);
}

static int resize(void)
{
	ask_for_too_much();
	for (uint32_t i = 0; i < 100; i++) {
		char *block = NULL;

		for (uint32_t step = 1; step <= 50; step++)
			block = realloc(block, step * 100);
		free(block);
	}
	return 0;
}

static int forever(void)
{
	pairs(100000);
	puts("going");
	fflush(stdout);
	alarm(60);
	while (getppid() > 0)
		pairs(1000);
	return 0;
}

int main(int argc, char **argv)
{
	const char *const how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "hand-over") == 0)
		return hand_over();
	if (strcmp(how, "lives") == 0)
		return lives();
	if (strcmp(how, "fork") == 0)
		return with_child();
	if (strcmp(how, "resize") == 0)
		return resize();
	if (strcmp(how, "forever") == 0)
		return forever();
	if (strcmp(how, "pairs") == 0 && argc > 2)
		return pairs((uint32_t)atoi(argv[2])), 0;
	if (strcmp(how, "exec") != 0)
		return 2;
	pairs(1000);
	execl(argv[0], argv[0], "pairs", "2000", (char *)NULL);
	return 1;
}
