/* SPDX-License-Identifier: MIT */
/*
 * Life under a tool that looks on, without the tool: what is promised to it. That memcheck and the
 * address sanitizer then find what they should, ci/planted.py shows.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.space.is_watched = true;
}

TestSuite(watch, .init = setup, .timeout = 60);

static const size_t sizes[] = {
	0, 1, 15, 16, 17, 100, 4096, 65520, 65536, 100000, 2 << 20, 5 << 20
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static uint64_t allocated_bytes(void)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	return stats.allocated_bytes;
}

Test(watch, block_has_the_size_asked_for_to_the_byte)
{
	for (size_t i = 0; i < SIZES; i++) {
		char *block = bedrock_malloc(sizes[i]);

		memset(block, 0xff, sizes[i]);
		cr_assert_eq(bedrock_malloc_usable_size(block), sizes[i]);
		bedrock_free(block);
	}
}

Test(watch, aligned_block_is_aligned)
{
	for (size_t align_bytes = 16; align_bytes <= (size_t)8 << 20; align_bytes *= 2) {
		char *block = bedrock_aligned_alloc(align_bytes, 1000);

		cr_assert_eq((uintptr_t)block % align_bytes, 0);
		cr_assert_eq(bedrock_malloc_usable_size(block), 1000);
		bedrock_free(block);
	}
}

Test(watch, calloc_is_zero_where_others_were)
{
	for (size_t i = 0; i < SIZES; i++) {
		bedrock_free(memset(bedrock_malloc(sizes[i]), 0xff, sizes[i]));
		bedrock_watch_release(&bedrock_heap.watch, 0);
		char *block = bedrock_calloc(1, sizes[i]);

		for (size_t at = 0; at < sizes[i]; at++)
			cr_assert_eq(block[at], 0);
		bedrock_free(block);
	}
}

Test(watch, request_beyond_all_memory_is_refused)
{
	cr_assert_null(bedrock_malloc(PTRDIFF_MAX));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_null(bedrock_calloc(1, PTRDIFF_MAX));
	cr_assert_null(bedrock_aligned_alloc(64, PTRDIFF_MAX));
	cr_assert_null(bedrock_malloc(SIZE_MAX));
}

Test(watch, freed_block_is_not_given_again_at_once)
{
	char *block = bedrock_malloc(100);

	bedrock_free(block);
	for (int i = 0; i < 1000; i++)
		cr_assert_neq(bedrock_malloc(100), block);
}

static void *alloc_zero(size_t bytes)
{
	return bedrock_calloc(1, bytes);
}

static void *alloc_aligned(size_t bytes)
{
	return bedrock_aligned_alloc(64, bytes);
}

static void *alloc_resized(size_t bytes)
{
	return bedrock_realloc(bedrock_malloc(bytes), bytes + 1);
}

Test(watch, free_is_seen_wherever_the_block_is_from)
{
	static void *(*const allocs[])(size_t) = { bedrock_malloc, alloc_zero, alloc_aligned,
						   alloc_resized };

	for (size_t i = 0; i < sizeof(allocs) / sizeof(allocs[0]); i++) {
		for (size_t size = 0; size < SIZES; size++) {
			void *block = allocs[i](sizes[size]);
			uint64_t held_bytes = bedrock_heap.watch.held_bytes;

			bedrock_free(block);
			cr_assert_gt(bedrock_heap.watch.held_bytes, held_bytes, "%zu, %zu bytes", i,
				     sizes[size]);
		}
	}
}

Test(watch, no_more_is_held_back_than_allowed)
{
	for (int i = 0; i < 1000; i++) {
		bedrock_free(bedrock_malloc(1 << 20));
		cr_assert_leq(bedrock_heap.watch.held_bytes, BEDROCK_WATCH_HELD_BYTES);
	}
	cr_assert_gt(bedrock_heap.watch.held_bytes, BEDROCK_WATCH_HELD_BYTES / 2);
}

Test(watch, very_large_block_is_not_held_back)
{
	bedrock_free(bedrock_malloc(BEDROCK_WATCH_HELD_BYTES));
	cr_assert_eq(bedrock_heap.watch.held_bytes, 0);
}

Test(watch, purge_lets_everything_go)
{
	for (size_t i = 0; i < SIZES; i++)
		bedrock_free(bedrock_malloc(sizes[i]));
	cr_assert_gt(allocated_bytes(), 0);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
	cr_assert_null(bedrock_heap.watch.oldest);
}

Test(watch, what_is_held_back_is_given_before_a_request_fails)
{
	bedrock_limit_memory((uint64_t)24 << 20, 0);
	for (int i = 0; i < 200; i++) {
		void *block = bedrock_malloc(1 << 20);

		cr_assert_not_null(block);
		bedrock_free(block);
	}
}

Test(watch, realloc_always_moves_and_keeps_the_content)
{
	for (size_t i = 0; i < SIZES; i++) {
		char *block = memset(bedrock_malloc(sizes[i] + 1), 7, sizes[i] + 1);
		char *moved = bedrock_realloc(block, sizes[i] + 2);

		cr_assert_neq(moved, block);
		cr_assert_eq(moved[0], 7);
		cr_assert_eq(moved[sizes[i]], 7);
		cr_assert_eq(bedrock_malloc_usable_size(moved), sizes[i] + 2);
		bedrock_free(moved);
	}
}

Test(watch, what_is_no_block_is_left_alone)
{
	char *block = bedrock_malloc(100);
	char *large = bedrock_malloc(100000);

	bedrock_free(block + 16);
	bedrock_free(large + 4096);
	bedrock_free(large);
	bedrock_free(large);
	cr_assert_null(bedrock_realloc(large, 5));
	cr_assert_eq(bedrock_malloc_usable_size(large), 0);
	cr_assert_eq(bedrock_malloc_usable_size(block), 100);
	bedrock_free(block);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(watch, threads_have_no_cache)
{
	bedrock_free(bedrock_malloc(100));
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.live_caches), 0);
}

Test(watch, refusals_of_the_kernel_are_answered_with_null)
{
	fault_install();
	faults.mmap.error = ENOMEM;
	while (bedrock_malloc(100000))
		continue;
	cr_assert_eq(errno, ENOMEM);
	cr_assert_gt(faults.mmap.hit, 0);
	faults.mmap.error = 0;
	void *block = bedrock_malloc(100000);

	cr_assert_not_null(block);
	bedrock_free(block);
}

#ifdef VG_USERREQ_TOOL_BASE

Test(watch, requests_have_the_numbers_of_valgrind)
{
	cr_assert_eq((int)BEDROCK_TELL_RUNNING, (int)VG_USERREQ__RUNNING_ON_VALGRIND);
	cr_assert_eq((int)BEDROCK_TELL_MALLOCLIKE, (int)VG_USERREQ__MALLOCLIKE_BLOCK);
	cr_assert_eq((int)BEDROCK_TELL_FREELIKE, (int)VG_USERREQ__FREELIKE_BLOCK);
	cr_assert_eq((int)BEDROCK_TELL_NOACCESS, (int)VG_USERREQ__MAKE_MEM_NOACCESS);
	cr_assert_eq((int)BEDROCK_TELL_UNDEFINED, (int)VG_USERREQ__MAKE_MEM_UNDEFINED);
	cr_assert_eq((int)BEDROCK_TELL_DEFINED, (int)VG_USERREQ__MAKE_MEM_DEFINED);
}

#endif
