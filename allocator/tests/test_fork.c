/* SPDX-License-Identifier: MIT */
/*
 * fork among threads: the child finds every lock free and every structure sound.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/thread.h"

TestSuite(fork, .timeout = 60);

static _Atomic bool is_over;

static void *churn(void *argument)
{
	void *blocks[64] = { NULL };

	for (uint32_t i = 0; !is_over; i++) {
		uint32_t slot = i * 2654435761u >> 26;

		bedrock_free(blocks[slot]);
		blocks[slot] = bedrock_malloc(i * 40503u % 90000);
		if (i % 64 == 0)
			bedrock_purge();
	}
	for (int i = 0; i < 64; i++)
		bedrock_free(blocks[i]);
	return argument;
}

static bool arenas_are_valid(void)
{
	for (uint32_t i = 0; i < BEDROCK_ARENAS_MAX; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(&bedrock_heap, i);

		if (!arena)
			continue;
		bedrock_lock_take(&arena->pages.lock);
		bool is_valid = bedrock_pages_is_valid(&arena->pages);

		bedrock_lock_give(&arena->pages.lock);
		if (!is_valid)
			return false;
	}
	return true;
}

static int use_everything(void)
{
	const size_t sizes[] = { 10, 500, 5000, 60000, 300000, 5 << 20 };

	if (!arenas_are_valid())
		return 1;
	for (int i = 0; i < 6; i++) {
		char *block = bedrock_malloc(sizes[i]);

		if (!block)
			return 2;
		memset(block, 1, sizes[i]);
		block = bedrock_realloc(block, sizes[i] * 3);
		if (!block || block[sizes[i] - 1] != 1)
			return 3;
		bedrock_free(block);
	}
	bedrock_purge();
	return arenas_are_valid() ? 0 : 4;
}

Test(fork, child_of_a_busy_process_can_use_everything)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 40; i++) {
		pid_t child = fork();
		int status = 1;

		if (child == 0) {
			alarm(20);
			_exit(use_everything());
		}
		cr_assert_gt(child, 0);
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert_eq(status, 0, "status 0x%x at fork %d", status, i);
	}
	is_over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

Test(fork, child_counts_only_its_own_thread)
{
	pthread_t thread;

	bedrock_free(bedrock_malloc(10));
	pthread_create(&thread, NULL, churn, NULL);
	while (bedrock_load_relaxed(&bedrock_heap.live_caches) < 2)
		usleep(1000);
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(bedrock_load_relaxed(&bedrock_heap.live_caches) == 1 ? 0 : 1);
	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
	is_over = true;
	pthread_join(thread, NULL);
}

Test(fork, child_is_rid_of_a_thief_that_was_just_looking_at_its_own_cache)
{
	bedrock_free(bedrock_malloc(10));
	bedrock_store_relaxed(&bedrock_cache_current->lock.word, 1);
	bedrock_thread_forget_others();
	cr_assert_not(bedrock_lock_is_held(&bedrock_cache_current->lock));
	cr_assert_not_null(bedrock_cache_current->front);
}
