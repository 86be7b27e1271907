/* SPDX-License-Identifier: MIT */
/*
 * What threads leave in their caches at their end: that the end takes no longer because it is much,
 * and that whoever comes next, needs memory, looks, purges, or forks has it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/owner.h"
#include "allocator/tests/faults.h"

#define BLOCKS      800u
#define BLOCK_BYTES 208u

static unsigned class_index;

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = -1;
	fault_install();
	class_index = bedrock_class_for(BLOCK_BYTES);
}

TestSuite(left, .init = setup, .timeout = 60);

static void *fill_a_cache(void *argument)
{
	void *blocks[BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (unsigned i = 0; i < BLOCKS; i++)
		bedrock_free(blocks[i]);
	return argument;
}

static void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, function, argument), 0);
	pthread_join(thread, NULL);
}

static uint64_t left_bytes(void)
{
	return bedrock_load_relaxed(&bedrock_heap.left_bytes);
}

/* In caches or in use. */
static uint64_t blocks_out(void)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < bedrock_load_relaxed(&bedrock_heap.arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(&bedrock_heap, i);

		if (!arena)
			continue;
		bedrock_arena_collect(arena, true);
		count += bedrock_load_relaxed(&arena->bins[class_index].blocks_out);
	}
	return count;
}

static uint64_t leave_some(void)
{
	run_thread(fill_a_cache, NULL);
	cr_assert_geq(left_bytes(), 100 * BLOCK_BYTES);
	return blocks_out();
}

Test(left, no_block_is_returned_at_a_threads_end)
{
	uint64_t out = leave_some();

	cr_assert_geq(out, left_bytes() / bedrock_class_bytes(class_index));
}

static void *use_what_is_there(void *argument)
{
	uint64_t *out = argument;
	void *block = bedrock_malloc(BLOCK_BYTES);

	cr_assert_eq(left_bytes(), 0);
	cr_assert_eq(blocks_out(), *out);
	bedrock_free(block);
	return NULL;
}

Test(left, next_thread_begins_with_it)
{
	uint64_t out = leave_some();

	run_thread(use_what_is_there, &out);
	cr_assert_eq(blocks_out(), out);
	cr_assert_gt(left_bytes(), 0);
}

static void *end_with_nothing(void *argument)
{
	bedrock_free(bedrock_malloc(BLOCK_BYTES));
	bedrock_cache_flush();
	return argument;
}

Test(left, a_cache_with_nothing_in_it_is_as_good_as_new)
{
	run_thread(end_with_nothing, NULL);
	cr_assert_eq(left_bytes(), 0);
	cr_assert_not_null(bedrock_heap.spare_caches);
	cr_assert_eq(bedrock_heap.spare_caches->budget_bytes, BEDROCK_BUDGET_BASE_BYTES);
}

static void *fill_a_cache_and_wait(void *argument)
{
	pthread_barrier_t *barrier = argument;

	fill_a_cache(NULL);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* Several at the same time, so that none begins with what another has left. */
static void run_threads(unsigned count)
{
	pthread_t threads[8];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, fill_a_cache_and_wait, &barrier);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

Test(left, who_needs_memory_has_it_before_a_page_that_was_never_touched)
{
	static void *blocks[4 * BLOCKS];
	struct bedrock_stats before, after;

	/* A cache of its own: else this thread would begin with what is left. */
	bedrock_free(bedrock_malloc(BLOCK_BYTES));
	run_threads(4);
	bedrock_stats_read(&before);
	run_threads(4);
	cr_assert_gt(left_bytes(), 400 * BLOCK_BYTES);
	for (unsigned i = 0; i < 4 * BLOCKS; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	cr_assert_eq(left_bytes(), 0);
	bedrock_stats_read(&after);
	cr_assert_leq(after.mapped_bytes, before.mapped_bytes);
	cr_assert_leq(after.resident_bytes, before.resident_bytes + 64 * BEDROCK_PAGE_BYTES);
	for (unsigned i = 0; i < 4 * BLOCKS; i++)
		bedrock_free(blocks[i]);
}

Test(left, no_request_returns_more_than_one_cache)
{
	bedrock_free(bedrock_malloc(BLOCK_BYTES));
	run_threads(8);
	uint64_t most_bytes = left_bytes() / 8 * 2;
	void *blocks[4];

	for (unsigned i = 0; i < 4; i++) {
		uint64_t before_bytes = left_bytes();

		/* One slab of a class that nobody has used, then one large run. */
		blocks[i] = bedrock_malloc(i % 2 ? 512 * 1024 : 30000 + 4096 * i);
		cr_assert_leq(before_bytes - left_bytes(), most_bytes);
	}
	cr_assert_gt(left_bytes(), 0);
	for (unsigned i = 0; i < 4; i++)
		bedrock_free(blocks[i]);
}

Test(left, a_purge_and_a_snapshot_return_it)
{
	struct bedrock_stats stats;

	leave_some();
	bedrock_purge();
	cr_assert_eq(left_bytes(), 0);
	cr_assert_eq(blocks_out(), 0);
	leave_some();
	bedrock_stats_read(&stats);
	cr_assert_eq(left_bytes(), 0);
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(left, a_look_returns_it_where_pages_decay_and_not_where_they_stay)
{
	leave_some();
	bedrock_decay_all(&bedrock_heap, bedrock_os_now_ns());
	cr_assert_gt(left_bytes(), 0);
	cr_assert_not(bedrock_decay_is_needed(&bedrock_heap));
	bedrock_store_relaxed(&bedrock_heap.options.dirty_decay_ms, 1000);
	cr_assert(bedrock_decay_is_needed(&bedrock_heap));
	bedrock_decay_all(&bedrock_heap, bedrock_os_now_ns());
	cr_assert_eq(left_bytes(), 0);
	cr_assert_eq(blocks_out(), 0);
}

Test(left, one_cache_at_a_time_is_returned_until_it_is_enough)
{
	run_threads(4);
	uint64_t all_bytes = left_bytes();

	cr_assert(bedrock_owner_drain_some(&bedrock_heap, 1));
	cr_assert_lt(left_bytes(), all_bytes);
	cr_assert_gt(left_bytes(), all_bytes / 2);
	cr_assert(bedrock_owner_drain_some(&bedrock_heap, UINT64_MAX));
	cr_assert_eq(left_bytes(), 0);
	cr_assert_not(bedrock_owner_drain_some(&bedrock_heap, UINT64_MAX));
}

Test(left, child_of_a_fork_has_it_too)
{
	int status = 0;

	leave_some();
	pid_t child = fork();

	if (child == 0) {
		bool had = left_bytes() > 0;

		bedrock_purge();
		_exit(had && left_bytes() == 0 && blocks_out() == 0 ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_gt(left_bytes(), 0);
}

Test(left, nothing_is_lost_by_a_thread_that_could_not_take_it_over)
{
	leave_some();
	faults.pthread_setspecific.error = ENOMEM;
	run_thread(fill_a_cache, NULL);
	cr_assert_gt(faults.pthread_setspecific.hit, 0);
	faults.pthread_setspecific.error = 0;
	bedrock_purge();
	cr_assert_eq(left_bytes(), 0);
	cr_assert_eq(blocks_out(), 0);
	leave_some();
}
