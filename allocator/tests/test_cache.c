/* SPDX-License-Identifier: MIT */
/*
 * Thread caches: bounded, handed back at the end of a thread, dispensable.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/tests/faults.h"

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	fault_install();
}

TestSuite(cache, .init = setup, .timeout = 60);

static uint64_t allocated_bytes(void)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	return stats.allocated_bytes;
}

/* Bytes that the calling thread's magazines hold, and its invariant. */
static int64_t cached_bytes(void)
{
	struct bedrock_cache *cache = bedrock_cache_current;
	int64_t limit_bytes = 0;
	int64_t bytes = 0;

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		int64_t block_bytes = (int64_t)bedrock_class_bytes(i);

		limit_bytes += 2 * block_bytes * cache->sides[i].limit;
		bytes += block_bytes * (bedrock_cache_hot_count(cache, i) + cache->sides[i].count +
					cache->sides[i].fresh_count);
	}
	cr_assert_eq(cache->spare_bytes + limit_bytes, cache->budget_bytes);
	cr_assert_leq(cache->budget_bytes, BEDROCK_BUDGET_MOST_BYTES);
	cr_assert_geq(cache->spare_bytes, 0);
	return bytes;
}

static void use_all_classes(int rounds)
{
	static __thread void *blocks[1000];

	for (int round = 0; round < rounds; round++) {
		size_t bytes = (size_t)(round * 2654435761u) % 65536 + 1;
		int count = 1 + (int)(200000 / bytes % 1000);

		for (int i = 0; i < count; i++)
			blocks[i] = bedrock_malloc(bytes);
		for (int i = 0; i < count; i++)
			bedrock_free(blocks[i]);
	}
}

Test(cache, what_all_classes_hold_together_is_bounded)
{
	for (int i = 0; i < 50; i++) {
		use_all_classes(20);
		/* A trimmed class may still hold what its old limit allowed, until it is used. */
		cr_assert_leq(cached_bytes(), BEDROCK_BUDGET_MOST_BYTES + 65536);
	}
}

Test(cache, flush_leaves_nothing_behind)
{
	use_all_classes(100);
	cr_assert_gt(allocated_bytes(), 0);
	bedrock_purge();
	cr_assert_eq(cached_bytes(), 0);
	cr_assert_eq(allocated_bytes(), 0);
}

static void *use_and_end(void *argument)
{
	use_all_classes(30);
	(void)argument;
	return NULL;
}

Test(cache, end_of_a_thread_hands_its_blocks_and_its_cache_back)
{
	uint64_t mapped_bytes = 0;

	for (int i = 0; i < 300; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, use_and_end, NULL);
		pthread_join(thread, NULL);
		if (i == 10)
			mapped_bytes = bedrock_load_relaxed(&bedrock_heap.meta.mapped_bytes);
	}
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.live_caches), 0);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.meta.mapped_bytes), mapped_bytes);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

static pthread_key_t late_key;

static void allocate_late(void *argument)
{
	int *rounds = argument;
	char *block = bedrock_malloc(100);

	memset(block, 1, 100);
	block = bedrock_realloc(block, 100000);
	bedrock_free(block);
	bedrock_free(bedrock_calloc(10, 10));
	/* Run again in the next round of destructors, after the allocator's own. */
	if (--*rounds > 0)
		pthread_setspecific(late_key, rounds);
}

static void *end_late(void *argument)
{
	static int rounds = 3;

	bedrock_free(bedrock_malloc(10));
	pthread_setspecific(late_key, &rounds);
	(void)argument;
	return NULL;
}

Test(cache, calls_after_the_threads_cache_has_gone_still_work)
{
	pthread_t thread;

	pthread_key_create(&late_key, allocate_late);
	pthread_create(&thread, NULL, end_late, NULL);
	pthread_join(thread, NULL);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

static pthread_barrier_t barrier;

static void *use_and_wait(void *argument)
{
	use_all_classes(400);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return argument;
}

Test(cache, what_all_threads_hold_together_is_bounded_and_given_back_after_their_end)
{
	pthread_t threads[16];

	pthread_barrier_init(&barrier, NULL, 17);
	for (int i = 0; i < 16; i++)
		pthread_create(&threads[i], NULL, use_and_wait, NULL);
	pthread_barrier_wait(&barrier);
	cr_assert_gt(bedrock_load_relaxed(&bedrock_heap.cache_pool_used_bytes), 0);
	cr_assert_leq(bedrock_load_relaxed(&bedrock_heap.cache_pool_used_bytes),
		      BEDROCK_BUDGET_POOL_BYTES);
	bedrock_purge();
	cr_assert_leq(allocated_bytes(),
		      BEDROCK_BUDGET_POOL_BYTES + 16 * (BEDROCK_BUDGET_BASE_BYTES + 65536));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	bedrock_purge();
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.cache_pool_used_bytes), 0);
}

static int64_t pool_bytes_after_use(void)
{
	use_all_classes(400);
	return bedrock_load_relaxed(&bedrock_heap.cache_pool_used_bytes);
}

Test(cache, a_small_heap_has_small_caches_and_a_large_one_large_ones)
{
	const size_t bytes = (size_t)64 << 20;
	int64_t small = pool_bytes_after_use();

	cr_assert_gt(small, 0);
	cr_assert_leq(small, BEDROCK_BUDGET_POOL_LEAST_BYTES + BEDROCK_BUDGET_STEP_BYTES);
	char *large = bedrock_malloc(bytes);

	memset(large, 1, bytes);
	cr_assert_gt(pool_bytes_after_use(), small);
	bedrock_free(large);
}

Test(cache, without_caches_every_call_works_and_nothing_is_held_back)
{
	bedrock_heap.options.is_tcache = false;
	use_all_classes(50);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.live_caches), 0);
	bedrock_arena_collect(&bedrock_heap.first_arena, false);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(cache, sizes_above_tcache_max_are_never_held)
{
	bedrock_heap.options.tcache_max_bytes = 256;
	bedrock_free(bedrock_malloc(256));
	bedrock_free(bedrock_malloc(257));
	cr_assert_gt(bedrock_cache_current->sides[bedrock_class_for(256)].limit, 0);
	cr_assert_eq(bedrock_cache_current->sides[bedrock_class_for(257)].limit, 0);
	cr_assert_eq(bedrock_cache_hot_count(bedrock_cache_current, bedrock_class_for(257)), 0);
}

Test(cache, thread_at_the_brink_pays_for_the_arena_only_seldom)
{
	static void *blocks[4096];

	for (int i = 0; i < 4096; i++)
		blocks[i] = bedrock_malloc(64);
	for (int i = 0; i < 4096; i++)
		bedrock_free(blocks[i]);
	struct bedrock_bin *bin = &bedrock_heap.first_arena.bins[bedrock_class_for(64)];
	uint64_t before = bedrock_load_relaxed(&bin->blocks_out);

	/* One step to and fro across the edge of a full magazine. */
	for (int i = 0; i < 1000; i++) {
		void *a = bedrock_malloc(64);
		void *b = bedrock_malloc(64);

		bedrock_free(a);
		bedrock_free(b);
	}
	cr_assert_eq(bedrock_load_relaxed(&bin->blocks_out), before);
}

Test(cache, malloc_leaves_it_to_the_program_to_touch_fresh_pages)
{
	int fresh_pages = 0;

	if (bedrock_heap.os_page_bytes != BEDROCK_PAGE_BYTES)
		cr_skip_test("pages of the kernel are larger than ours");
	if (BEDROCK_DEBUG >= 3)
		cr_skip_test("this tier fills what it gives");
	bedrock_heap.space.thp = BEDROCK_THP_NEVER;
	for (int i = 0; i < 2000; i++) {
		char *block = bedrock_malloc(64);

		if ((uintptr_t)block % BEDROCK_PAGE_BYTES == 0) {
			cr_assert_not(bedrock_os_is_resident(block, BEDROCK_PAGE_BYTES));
			fresh_pages++;
		}
		memset(block, 1, 64);
	}
	cr_assert_geq(fresh_pages, 2000 / 64);
}

Test(cache, blocks_never_handed_out_do_not_overlap_whatever_their_size)
{
	static unsigned char *blocks[2000];

	for (size_t bytes = 16; bytes <= 65536; bytes += bytes / 3) {
		int count = bytes < 2048 ? 2000 : 40;

		for (int i = 0; i < count; i++) {
			blocks[i] = bedrock_malloc(bytes);
			memset(blocks[i], i % 251, bytes);
		}
		for (int i = 0; i < count; i++) {
			cr_assert_eq(blocks[i][0], i % 251);
			cr_assert_eq(blocks[i][bytes - 1], i % 251);
			bedrock_free(blocks[i]);
		}
		cached_bytes();
	}
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

#define SPREAD_SLABS  20
#define SPREAD_BLOCKS 256

/* Blocks of many slabs, freed in an order in which neighbours are of different ones. */
struct spread {
	void *blocks[SPREAD_SLABS * SPREAD_BLOCKS];
	uint64_t seen[SPREAD_SLABS];
	int changes;
	int most_at_once;
};

/* How many of the slabs have other blocks waiting than at the last look. */
static int slabs_changed(struct spread *spread)
{
	int changed = 0;

	for (int i = 0; i < SPREAD_SLABS; i++) {
		void *block = spread->blocks[i * SPREAD_BLOCKS];
		uint64_t remote = bedrock_load_relaxed(&bedrock_chunk_slab_of(block)->remote);

		changed += remote != spread->seen[i];
		spread->seen[i] = remote;
	}
	return changed;
}

static void *free_spread(void *argument)
{
	struct spread *spread = argument;

	(void)slabs_changed(spread);
	for (int i = 0; i < SPREAD_SLABS * SPREAD_BLOCKS; i++) {
		bedrock_free(spread->blocks[i % SPREAD_SLABS * SPREAD_BLOCKS + i / SPREAD_SLABS]);
		int changed = slabs_changed(spread);

		spread->changes += changed;
		if (changed > spread->most_at_once)
			spread->most_at_once = changed;
	}
	return NULL;
}

static void make_spread(struct spread *spread)
{
	/* One slab after the other, and no decay, which would collect what comes back. */
	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	bedrock_store_relaxed(&bedrock_heap.options.dirty_decay_ms, -1);
	bedrock_store_relaxed(&bedrock_heap.options.muzzy_decay_ms, -1);
	for (int i = 0; i < SPREAD_SLABS * SPREAD_BLOCKS; i++)
		spread->blocks[i] = bedrock_malloc(64);
}

Test(cache, no_free_pays_for_more_than_one_slab)
{
	static struct spread spread;

	make_spread(&spread);
	free_spread(&spread);
	cr_assert_eq(spread.most_at_once, 1);
	cr_assert_gt(spread.changes, 1000);
}

Test(cache, no_free_of_a_thread_that_only_frees_pays_for_more_than_one_slab)
{
	static struct spread spread;
	pthread_t thread;

	make_spread(&spread);
	/* A sleeping thread's cache would be taken from it meanwhile. */
	bedrock_cache_flush();
	pthread_create(&thread, NULL, free_spread, &spread);
	pthread_join(thread, NULL);
	cr_assert_eq(spread.most_at_once, 1);
	cr_assert_gt(spread.changes, 1000);
	bedrock_arena_collect(&bedrock_heap.first_arena, false);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(cache, idle_classes_give_their_share_back)
{
	static void *blocks[200];

	for (int i = 0; i < 200; i++)
		blocks[i] = bedrock_malloc(1000);
	for (int i = 0; i < 200; i++)
		bedrock_free(blocks[i]);
	cr_assert_gt(bedrock_cache_hot_count(bedrock_cache_current, bedrock_class_for(1000)), 0);
	/* Slow paths of another class let the trimmer go round. */
	for (int i = 0; i < 60000; i++)
		bedrock_free(bedrock_malloc(70000));
	for (int i = 0; i < 500; i++) {
		use_all_classes(1);
		void *other[64];

		for (int j = 0; j < 64; j++)
			other[j] = bedrock_malloc(30000);
		for (int j = 0; j < 64; j++)
			bedrock_free(other[j]);
	}
	cr_assert_leq(cached_bytes(), BEDROCK_BUDGET_MOST_BYTES + 65536);
}
