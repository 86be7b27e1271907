/* SPDX-License-Identifier: MIT */
/*
 * Statistics: the numbers follow what was done, and add up.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#define MIB ((size_t)1 << 20)

static struct bedrock_stats stats;

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = -1;
}

TestSuite(stats, .init = setup, .timeout = 30);

static void check_sums(void)
{
	bedrock_stats_read(&stats);
	cr_assert_leq(stats.allocated_bytes, stats.active_bytes);
	cr_assert_leq(stats.active_bytes, stats.resident_bytes);
	cr_assert_leq(stats.resident_bytes, stats.mapped_bytes);
	cr_assert_eq(stats.active_bytes + stats.dirty_bytes + stats.muzzy_bytes +
			     stats.retained_bytes + stats.metadata_bytes,
		     stats.mapped_bytes);
}

/* The counters themselves, one by one: while nothing moves, no figure is raised to another. */
static void check_exact(void)
{
	const struct bedrock_huge *huge = &bedrock_heap.huge;
	const struct bedrock_meta *meta = &bedrock_heap.meta;
	uint64_t active_bytes = bedrock_load_relaxed(&huge->live_bytes);
	uint64_t resident_bytes = bedrock_load_relaxed(&huge->charged_bytes) +
				  bedrock_load_relaxed(&meta->charged_bytes) +
				  bedrock_load_relaxed(&bedrock_heap.space.owed_bytes);

	check_sums();
	for (uint32_t i = 0; i < bedrock_heap.arena_count; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(&bedrock_heap, i);

		if (!arena)
			continue;
		active_bytes += bedrock_load_relaxed(&arena->pages.used_pages) * 4096;
		resident_bytes += bedrock_load_relaxed(&arena->pages.charged_pages) * 4096;
	}
	cr_assert_eq(stats.active_bytes, active_bytes);
	cr_assert_eq(stats.resident_bytes, resident_bytes);
	cr_assert_eq(stats.mapped_bytes, bedrock_space_mapped_bytes(&bedrock_heap.space) +
						 bedrock_load_relaxed(&meta->mapped_bytes));
}

Test(stats, before_any_block_nothing_is_allocated)
{
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.active_bytes, 0);
}

Test(stats, small_large_and_huge_blocks_are_counted_until_they_are_freed)
{
	void *small = bedrock_malloc(1000);
	void *large = bedrock_malloc(100000);
	void *huge = bedrock_malloc(5 * MIB);

	check_exact();
	cr_assert_geq(stats.allocated_bytes, 1000 + 100000 + 5 * MIB);
	cr_assert_leq(stats.allocated_bytes, 5 * MIB + 200000);
	bedrock_free(large);
	check_exact();
	cr_assert_geq(stats.dirty_bytes, 100000);
	bedrock_free(huge);
	check_exact();
	cr_assert_geq(stats.dirty_bytes, 5 * MIB);
	cr_assert_lt(stats.allocated_bytes, 50000);
	bedrock_free(small);
	bedrock_purge();
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.dirty_bytes, 0);
	cr_assert_gt(stats.purge_calls, 0);
}

Test(stats, resized_blocks_are_counted_at_their_new_size)
{
	void *large = bedrock_realloc(bedrock_malloc(100000), 400000);
	void *huge = bedrock_realloc(bedrock_malloc(3 * MIB), 20 * MIB);

	check_exact();
	cr_assert_geq(stats.allocated_bytes, 20 * MIB + 400000);
	cr_assert_leq(stats.allocated_bytes, 20 * MIB + 500000);
	large = bedrock_realloc(large, 70000);
	huge = bedrock_realloc(huge, 4 * MIB);
	check_exact();
	cr_assert_leq(stats.allocated_bytes, 4 * MIB + 100000);
	bedrock_free(large);
	bedrock_free(huge);
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(stats, arenas_and_thread_caches_are_counted)
{
	bedrock_free(bedrock_malloc(10));
	check_exact();
	cr_assert_geq(stats.arena_count, 1);
	cr_assert_eq(stats.thread_cache_count, 1);
}

Test(stats, arena_of_a_thread_is_below_the_count)
{
	uint32_t count = 0;
	const uint32_t index = bedrock_thread_arena(&count);

	cr_assert_gt(count, 0);
	cr_assert_lt(index, count);
}

#define BLOCKS 20000u

static void *blocks[BLOCKS];

static void *allocate_all(void *argument)
{
	(void)argument;
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = bedrock_malloc(16 + i % 5000);
	return NULL;
}

static void *free_all(void *argument)
{
	(void)argument;
	for (size_t i = 0; i < BLOCKS; i++)
		bedrock_free(blocks[i]);
	return NULL;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, function, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(stats, nothing_is_allocated_after_another_thread_has_freed_all_and_both_have_ended)
{
	run_thread(allocate_all);
	check_exact();
	cr_assert_gt(stats.allocated_bytes, 20 * MIB);
	run_thread(free_all);
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(stats, own_cache_is_all_that_stays_allocated_until_it_is_emptied)
{
	allocate_all(NULL);
	free_all(NULL);
	check_exact();
	cr_assert_leq(stats.allocated_bytes,
		      (uint64_t)(BEDROCK_BUDGET_BASE_BYTES + BEDROCK_BUDGET_POOL_BYTES));
	bedrock_purge();
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(stats, gap_before_an_aligned_block_is_mapped_but_not_active)
{
	void *block = bedrock_aligned_alloc(4 * MIB, 3 * MIB);

	check_exact();
	cr_assert_leq(stats.active_bytes, 3 * MIB + 65536);
	cr_assert_geq(stats.mapped_bytes, 7 * MIB);
	block = bedrock_realloc(block, 9 * MIB);
	check_exact();
	cr_assert_geq(stats.active_bytes, 9 * MIB);
	bedrock_free(block);
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.active_bytes, 0);
}

Test(stats, ends_that_munmap_refused_are_still_mapped)
{
	void *block;

	fault_install();
	faults.munmap.error = ENOMEM;
	block = bedrock_aligned_alloc(16 * MIB, 3 * MIB);
	check_exact();
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_geq(stats.mapped_bytes, 19 * MIB);
	faults.munmap.error = 0;
	bedrock_free(block);
	bedrock_purge();
	check_exact();
	cr_assert_lt(stats.mapped_bytes, 12 * MIB);
}

#define CHURNERS 3
#define ROUNDS   20000u

static _Atomic int ended;

/* Blocks of every kind, resized and freed at random; what is refused is no concern here. */
static void *churn(void *argument)
{
	void *own[64] = { NULL };
	uint32_t state = (uint32_t)(uintptr_t)argument;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		state = state * 1664525 + 1013904223;
		const size_t slot = state >> 26;
		const size_t bytes = (size_t)1 << (4 + (state >> 8) % 19);

		void *block = bedrock_realloc(own[slot], bytes + (state >> 12) % bytes);

		if (block)
			own[slot] = block;
		if (state >> 31) {
			bedrock_free(own[slot]);
			own[slot] = NULL;
		}
	}
	for (size_t i = 0; i < 64; i++)
		bedrock_free(own[i]);
	ended++;
	return NULL;
}

/* The order of a snapshot is made; what shows that it is true is what lives all the time. */
static void check_sums_while_threads_churn(void)
{
	pthread_t threads[CHURNERS];
	void *small = bedrock_malloc(1000);
	void *large = bedrock_malloc(MIB);
	void *huge = bedrock_malloc(9 * MIB);

	cr_assert(small && large && huge);
	for (uintptr_t i = 0; i < CHURNERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	for (unsigned i = 0; ended < CHURNERS; i++) {
		check_sums();
		cr_assert_geq(stats.allocated_bytes, 10 * MIB + 1000);
		if (i % 100 == 0)
			bedrock_purge();
	}
	for (int i = 0; i < CHURNERS; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	bedrock_free(small);
	bedrock_free(large);
	bedrock_free(huge);
	bedrock_purge();
	check_exact();
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(stats, snapshots_of_a_churn_are_in_order_and_exact_after_it)
{
	bedrock_heap.options.dirty_decay_ms = 10;
	check_sums_while_threads_churn();
}

Test(stats, snapshots_are_in_order_while_the_kernel_refuses_and_exact_after_it)
{
	bedrock_heap.options.dirty_decay_ms = 10;
	fault_install();
	faults.mmap.error = ENOMEM;
	faults.mmap.every = 3;
	faults.munmap.error = ENOMEM;
	faults.munmap.every = 2;
	faults.madvise.error = EAGAIN;
	faults.madvise.every = 2;
	faults.mremap.error = ENOMEM;
	faults.mremap.every = 2;
	check_sums_while_threads_churn();
	cr_assert_gt(faults.mmap.hit, 0);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_gt(faults.mremap.hit, 0);
}
