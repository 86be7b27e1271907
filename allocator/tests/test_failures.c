/* SPDX-License-Identifier: MIT */
/*
 * Every legal failure of the calls that map, unmap and move memory, one by one.
 *
 * Each test makes one call site fail as the kernel may, checks that the fault fired and what the
 * user sees of it, ends the fault, and checks that all is well again: the next request is served,
 * memory goes back, nothing was lost.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/living.h"

#define MIB ((size_t)1 << 20)

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = 20;
	fault_install();
}

TestSuite(failures, .init = setup, .timeout = 60);

Test(failures, mmap_refused_for_the_first_chunk_gives_null_and_enomem_then_recovers)
{
	faults.mmap.error = ENOMEM;
	errno = 0;
	cr_assert_null(bedrock_malloc(100));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_gt(faults.mmap.hit, 0);
	cr_assert_leq(faults.mmap.seen, 4, "%u calls for one request", faults.mmap.seen);
	faults.mmap.error = 0;
	void *block = bedrock_malloc(100);

	cr_assert(block);
	bedrock_free(block);
}

Test(failures, mmap_refused_in_a_running_program_serves_from_what_is_there)
{
	void *blocks[1000];

	for (int i = 0; i < 1000; i++)
		blocks[i] = bedrock_malloc(1000);
	for (int i = 0; i < 1000; i++)
		bedrock_free(blocks[i]);
	faults.mmap.error = ENOMEM;
	cr_assert_null(bedrock_malloc(64 * MIB));
	cr_assert_gt(faults.mmap.hit, 0);
	for (int i = 0; i < 900; i++) {
		blocks[i] = bedrock_malloc(2000 - i);
		cr_assert(blocks[i], "block %d", i);
	}
	for (int i = 0; i < 900; i++)
		bedrock_free(blocks[i]);
}

Test(failures, mmap_refused_for_large_and_huge_blocks_gives_null_and_enomem_then_recovers)
{
	const size_t sizes[] = { 100000, MIB, 3 * MIB, 40 * MIB };

	for (int i = 0; i < 4; i++) {
		faults.mmap.error = ENOMEM;
		faults.mmap.seen = 0;
		errno = 0;
		void *blocks[100];
		int count = 0;

		while (count < 100 && (blocks[count] = bedrock_calloc(1, sizes[i])))
			count++;
		cr_assert_lt(count, 100);
		cr_assert_eq(errno, ENOMEM);
		cr_assert_leq(faults.mmap.seen, 4);
		faults.mmap.error = 0;
		blocks[count] = bedrock_calloc(1, sizes[i]);
		cr_assert(blocks[count]);
		for (int j = 0; j <= count; j++)
			bedrock_free(blocks[j]);
	}
}

Test(failures, mmap_refused_for_memalign_returns_enomem_and_leaves_pointer_and_errno)
{
	void *block = (void *)0x1234;

	faults.mmap.error = ENOMEM;
	errno = 17;
	cr_assert_eq(bedrock_posix_memalign(&block, 8 * MIB, 100), ENOMEM);
	cr_assert_eq(block, (void *)0x1234);
	cr_assert_eq(errno, 17);
	cr_assert_gt(faults.mmap.hit, 0);
	cr_assert_null(bedrock_aligned_alloc(8 * MIB, 100));
	cr_assert_eq(errno, ENOMEM);
}

static void *allocate_first(void *argument)
{
	(void)argument;
	void *block = bedrock_malloc(48);

	if (block)
		memset(block, 1, 48);
	return block;
}

Test(failures, mmap_refused_at_the_first_allocation_of_a_thread_does_not_crash)
{
	void *block = NULL;
	pthread_t thread;

	bedrock_free(bedrock_malloc(48));
	faults.mmap.error = ENOMEM;
	cr_assert_null(bedrock_malloc(64 * MIB));
	cr_assert_gt(faults.mmap.hit, 0);
	for (int i = 0; i < 200; i++) {
		cr_assert_eq(pthread_create(&thread, NULL, allocate_first, NULL), 0);
		cr_assert_eq(pthread_join(thread, &block), 0);
		cr_assert(block, "served from the first chunk");
	}
}

Test(failures, mmap_refused_for_metadata_leaves_threads_without_cache_but_working)
{
	/* As if all static metadata were used up. */
	bedrock_heap.meta.left_bytes = 0;
	void *first = bedrock_malloc(48);

	cr_assert(first);
	bedrock_heap.meta.left_bytes = 0;
	faults.mmap.error = ENOMEM;
	pthread_t thread;
	void *block = NULL;
	uint64_t caches = stats_now().thread_cache_count;

	cr_assert_eq(pthread_create(&thread, NULL, allocate_first, NULL), 0);
	cr_assert_eq(pthread_join(thread, &block), 0);
	cr_assert(block);
	cr_assert_eq(stats_now().thread_cache_count, caches);
	cr_assert_gt(faults.mmap.hit, 0);
	bedrock_free(block);
	bedrock_free(first);
}

Test(failures, mmap_refused_for_metadata_makes_arena_0_stand_in)
{
	bedrock_free(bedrock_malloc(48));
	bedrock_heap.meta.left_bytes = 0;
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arenas[1], NULL);
	bedrock_store_relaxed(&bedrock_heap.arena_count, 2);
	faults.mmap.error = ENOMEM;
	cr_assert_eq(bedrock_heap_arena(&bedrock_heap, 1), &bedrock_heap.first_arena);
	cr_assert_gt(faults.mmap.hit, 0);
	faults.mmap.error = 0;
	for (int i = 0; i < 100; i++)
		bedrock_heap_arena(&bedrock_heap, 1);
	cr_assert_neq(bedrock_heap_arena(&bedrock_heap, 1), &bedrock_heap.first_arena);
}

Test(failures, mmap_refused_at_random_never_breaks_a_block)
{
	static unsigned char *blocks[512];
	unsigned served = 0;

	faults.mmap.error = ENOMEM;
	faults.mmap.every = 3;
	for (unsigned i = 0; i < 20000; i++) {
		unsigned slot = i * 7919 % 512;
		size_t bytes = i * 2654435761u % 300000 + 1;

		if (blocks[slot]) {
			cr_assert_eq(*blocks[slot], (unsigned char)slot);
			bedrock_free(blocks[slot]);
		}
		blocks[slot] = bedrock_malloc(bytes);
		if (!blocks[slot])
			continue;
		served++;
		blocks[slot][0] = (unsigned char)slot;
		blocks[slot][bytes - 1] = (unsigned char)slot;
	}
	cr_assert_gt(faults.mmap.hit, 0);
	cr_assert_gt(served, 10000);
}

Test(failures, munmap_refused_keeps_huge_mappings_known_and_reuses_them)
{
	bedrock_heap.options.dirty_decay_ms = 0;
	faults.munmap.error = ENOMEM;
	for (int i = 0; i < 200; i++) {
		void *block = bedrock_malloc(8 * MIB);

		cr_assert(block);
		memset(block, 1, 8 * MIB);
		bedrock_free(block);
	}
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_leq(stats_now().mapped_bytes, 64 * MIB);
	cr_assert_leq(resident_bytes(), 64 * MIB);
	faults.munmap.error = 0;
	bedrock_purge();
	cr_assert_eq(bedrock_heap.huge.stuck.count, 0);
	cr_assert_leq(stats_now().mapped_bytes, 8 * MIB);
}

Test(failures, munmap_refused_for_evicted_mappings_bounds_resident_memory)
{
	static void *blocks[64];

	bedrock_heap.options.dirty_decay_ms = 100000;
	faults.munmap.error = ENOMEM;
	for (int i = 0; i < 64; i++) {
		blocks[i] = bedrock_malloc(4 * MIB);
		memset(blocks[i], 1, 4 * MIB);
	}
	size_t before_bytes = resident_bytes();

	for (int i = 0; i < 64; i++)
		bedrock_free(blocks[i]);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_gt(before_bytes, 256 * MIB);
	cr_assert_leq(resident_bytes(), 100 * MIB);
}

Test(failures, munmap_refused_for_a_free_chunk_purges_its_pages_and_unmaps_it_later)
{
	make_dirty(600, 100000);
	faults.munmap.error = ENOMEM;
	stay_alive(100);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_lt(faults.munmap.seen, 100);
	cr_assert_leq(resident_bytes(), 30 * MIB);
	cr_assert_geq(stats_now().mapped_bytes, 40 * MIB);
	faults.munmap.error = 0;
	/* The longest back-off, and a turn of each chunk. */
	stay_alive(4000);
	cr_assert_leq(stats_now().mapped_bytes, 16 * MIB);
}

Test(failures, munmap_refused_while_trimming_remembers_the_leftovers)
{
	void *address;

	bedrock_store_relaxed(&bedrock_heap.space.hint, 0);
	faults.munmap.error = ENOMEM;
	cr_assert_eq(bedrock_space_map(&bedrock_heap.space, 4 * MIB, &address), 0);
	cr_assert_eq((uintptr_t)address % (4 * MIB), 0);
	cr_assert_gt(bedrock_heap.space.leftover_count, 0);
	unsigned hit = faults.munmap.hit;

	bedrock_space_retry(&bedrock_heap.space);
	cr_assert_eq(faults.munmap.hit, hit + 1, "one try, then later");
	cr_assert_gt(bedrock_heap.space.leftover_count, 0);
	faults.munmap.error = 0;
	bedrock_space_retry(&bedrock_heap.space);
	cr_assert_eq(bedrock_heap.space.leftover_count, 0);
}

Test(failures, munmap_refused_while_shrinking_a_huge_block_empties_and_remembers_the_tail)
{
	char *block = bedrock_malloc(16 * MIB);

	memset(block, 7, 16 * MIB);
	uint64_t charged_bytes = bedrock_resident();
	size_t before_bytes = resident_bytes();

	faults.munmap.error = ENOMEM;
	char *same = bedrock_realloc(block, 4 * MIB);

	cr_assert_eq(same, block);
	cr_assert_leq(bedrock_malloc_usable_size(same), 5 * MIB);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_eq(same[4 * MIB - 1], 7);
	cr_assert_leq(bedrock_resident() + 11 * MIB, charged_bytes);
	cr_assert_leq(resident_bytes() + 11 * MIB, before_bytes);
	cr_assert_geq(stats_now().mapped_bytes, 16 * MIB);
	faults.munmap.error = 0;
	bedrock_purge();
	cr_assert_eq(bedrock_heap.space.leftover_count, 0);
	cr_assert_leq(stats_now().mapped_bytes, 10 * MIB);
	bedrock_free(same);
}

Test(failures, munmap_and_madvise_refused_while_shrinking_a_huge_block_leave_the_tail_charged)
{
	char *block = memset(bedrock_malloc(16 * MIB), 7, 16 * MIB);
	uint64_t charged_bytes = bedrock_resident();

	faults.munmap.error = ENOMEM;
	faults.madvise.error = EAGAIN;
	block = bedrock_realloc(block, 4 * MIB);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_eq(bedrock_resident(), charged_bytes);
	faults.munmap.error = 0;
	faults.madvise.error = 0;
	bedrock_purge();
	cr_assert_leq(bedrock_resident() + 11 * MIB, charged_bytes);
	cr_assert_eq(block[4 * MIB - 1], 7);
	bedrock_free(block);
}

Test(failures, munmap_refused_once_too_often_while_shrinking_leaves_the_block_longer)
{
	char *block = bedrock_malloc(16 * MIB);

	faults.munmap.error = ENOMEM;
	bedrock_heap.space.leftover_count = BEDROCK_LEFTOVERS_MAX;
	block = bedrock_realloc(block, 4 * MIB);
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_geq(bedrock_malloc_usable_size(block), 15 * MIB);
	memset(block, 7, bedrock_malloc_usable_size(block));
	bedrock_heap.space.leftover_count = 0;
	bedrock_free(block);
}

Test(failures, munmap_that_lies_does_not_break_later_blocks)
{
	bedrock_heap.options.dirty_decay_ms = 0;
	faults.munmap.lies = true;
	for (int i = 0; i < 30; i++) {
		unsigned char *block = bedrock_calloc(1, 6 * MIB);

		for (size_t at = 0; at < 6 * MIB; at += 4096)
			cr_assert_eq(block[at], 0);
		memset(block, 0xff, 6 * MIB);
		bedrock_free(block);
	}
	cr_assert_gt(faults.munmap.hit, 0);
}

static void check_realloc_grows(void)
{
	unsigned char *block = bedrock_malloc(5 * MIB);

	for (size_t at = 0; at < 5 * MIB; at += 512)
		block[at] = (unsigned char)(at >> 9);
	for (size_t bytes = 6 * MIB; bytes < 80 * MIB; bytes += 9 * MIB) {
		unsigned char *grown = bedrock_realloc(block, bytes);

		cr_assert(grown);
		cr_assert_geq(bedrock_malloc_usable_size(grown), bytes);
		block = grown;
		block[bytes - 1] = 1;
	}
	for (size_t at = 0; at < 5 * MIB; at += 512)
		cr_assert_eq(block[at], (unsigned char)(at >> 9));
	bedrock_free(block);
}

Test(failures, mremap_refused_always_copies)
{
	faults.mremap.error = ENOMEM;
	check_realloc_grows();
	cr_assert_gt(faults.mremap.hit, 0);
	bedrock_purge();
	cr_assert_leq(stats_now().mapped_bytes, 16 * MIB);
}

Test(failures, mremap_refused_every_other_time_moves_or_copies)
{
	faults.mremap.error = ENOMEM;
	faults.mremap.every = 2;
	bedrock_heap.huge.move_holiday = 0;
	check_realloc_grows();
	cr_assert_gt(faults.mremap.hit, 0);
	bedrock_purge();
	cr_assert_leq(stats_now().mapped_bytes, 16 * MIB);
}

Test(failures, mremap_and_mmap_refused_keep_the_old_block)
{
	char *block = bedrock_malloc(8 * MIB);

	memset(block, 9, 8 * MIB);
	faults.mremap.error = ENOMEM;
	faults.mmap.error = ENOMEM;
	errno = 0;
	cr_assert_null(bedrock_realloc(block, 64 * MIB));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(block[8 * MIB - 1], 9);
	cr_assert_gt(faults.mremap.hit, 0);
	cr_assert_gt(faults.mmap.hit, 0);
	bedrock_free(block);
}

Test(failures, mincore_answering_enomem_after_a_refused_move_forgets_the_target)
{
	char *block = bedrock_malloc(8 * MIB);

	faults.mremap.error = ENOMEM;
	faults.mincore.error = ENOMEM;
	block = bedrock_realloc(block, 64 * MIB);
	cr_assert(block);
	cr_assert_gt(faults.mincore.hit, 0);
	bedrock_free(block);
}
