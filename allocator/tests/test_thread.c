/* SPDX-License-Identifier: MIT */
/*
 * The life of a thread: with a cache, without one, and what is left of it in the child of a fork.
 * How caches come back at its end is in test_cache.c.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/thread.h"

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
}

TestSuite(thread, .init = setup, .timeout = 60);

static void *live_without_a_cache(void *unused)
{
	uint64_t caches = bedrock_load_relaxed(&bedrock_heap.live_caches);

	bedrock_thread_forgo_cache();
	uint32_t index = bedrock_thread_index();
	void *block = bedrock_malloc(100);

	cr_assert_not_null(block);
	bedrock_free(block);
	cr_assert_null(bedrock_cache_current);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.live_caches), caches);
	cr_assert_eq(bedrock_thread_index(), index);
	cr_assert_not(bedrock_thread_set_index(index + 1));
	cr_assert_not(bedrock_thread_is_settled());
	return unused;
}

Test(thread, one_that_forgoes_its_cache_works_without_and_gets_none)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, live_without_a_cache, NULL), 0);
	pthread_join(thread, NULL);
}

static void *outlive_the_cache(void *unused)
{
	bedrock_free(bedrock_malloc(100));
	struct bedrock_cache *cache = bedrock_cache_current;

	cr_assert_not_null(cache);
	/* As when libc ends the thread, and other destructors come after. */
	pthread_setspecific(bedrock_heap.thread_key, NULL);
	bedrock_thread_end(cache);
	bedrock_free(bedrock_malloc(100));
	cr_assert_null(bedrock_cache_current);
	cr_assert_null(cache->front);
	return unused;
}

Test(thread, one_that_has_lost_its_cache_at_its_end_gets_no_other)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, outlive_the_cache, NULL), 0);
	pthread_join(thread, NULL);
}

Test(thread, number_is_kept_and_can_be_changed)
{
	bedrock_free(bedrock_malloc(100));
	uint32_t index = bedrock_thread_index();

	cr_assert(bedrock_thread_set_index(index + 5));
	cr_assert_eq(bedrock_thread_index(), index + 5);
}

Test(thread, looks_at_the_clock_at_every_sixteenth_slow_path)
{
	int ticks = 0;

	for (int i = 0; i < 160; i++)
		ticks += bedrock_thread_is_tick();
	cr_assert_eq(ticks, 10);
}

Test(thread, what_others_held_above_their_bases_is_in_the_pool_again_when_they_are_gone)
{
	_Atomic(int64_t) *used_bytes = &bedrock_heap.cache_pool_used_bytes;

	bedrock_free(bedrock_malloc(100));
	bedrock_cache_current->budget_bytes += BEDROCK_BUDGET_STEP_BYTES;
	bedrock_store_relaxed(used_bytes, 5 * BEDROCK_BUDGET_STEP_BYTES);
	bedrock_thread_forget_others();
	cr_assert_eq(bedrock_load_relaxed(used_bytes), BEDROCK_BUDGET_STEP_BYTES);
}
