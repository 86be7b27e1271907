/* SPDX-License-Identifier: MIT */
/*
 * Statistics: the numbers follow what was done, and add up.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"

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
	cr_assert_eq(stats.active_bytes + stats.dirty_bytes + stats.muzzy_bytes +
			     stats.retained_bytes + stats.metadata_bytes,
		     stats.mapped_bytes);
}

Test(stats, before_any_block_nothing_is_allocated)
{
	check_sums();
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.active_bytes, 0);
}

Test(stats, small_large_and_huge_blocks_are_counted_until_they_are_freed)
{
	void *small = bedrock_malloc(1000);
	void *large = bedrock_malloc(100000);
	void *huge = bedrock_malloc(5 * MIB);

	check_sums();
	cr_assert_geq(stats.allocated_bytes, 1000 + 100000 + 5 * MIB);
	cr_assert_leq(stats.allocated_bytes, 5 * MIB + 200000);
	bedrock_free(large);
	check_sums();
	cr_assert_geq(stats.dirty_bytes, 100000);
	bedrock_free(huge);
	check_sums();
	cr_assert_geq(stats.dirty_bytes, 5 * MIB);
	cr_assert_lt(stats.allocated_bytes, 50000);
	bedrock_free(small);
	bedrock_purge();
	check_sums();
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.dirty_bytes, 0);
	cr_assert_gt(stats.purge_calls, 0);
}

Test(stats, resized_blocks_are_counted_at_their_new_size)
{
	void *large = bedrock_realloc(bedrock_malloc(100000), 400000);
	void *huge = bedrock_realloc(bedrock_malloc(3 * MIB), 20 * MIB);

	check_sums();
	cr_assert_geq(stats.allocated_bytes, 20 * MIB + 400000);
	cr_assert_leq(stats.allocated_bytes, 20 * MIB + 500000);
	large = bedrock_realloc(large, 70000);
	huge = bedrock_realloc(huge, 4 * MIB);
	check_sums();
	cr_assert_leq(stats.allocated_bytes, 4 * MIB + 100000);
	bedrock_free(large);
	bedrock_free(huge);
	check_sums();
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(stats, arenas_and_thread_caches_are_counted)
{
	bedrock_free(bedrock_malloc(10));
	check_sums();
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
