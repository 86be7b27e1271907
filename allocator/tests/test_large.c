/* SPDX-License-Identifier: MIT */
/*
 * Large blocks: whole pages, resized where they stand, zero only when that is known.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/large.h"
#include "allocator/tests/faults.h"

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	fault_install();
}

TestSuite(large, .init = setup, .timeout = 30);

static char *take(size_t bytes, bool is_zero_wanted)
{
	const struct bedrock_large_request request = {
		.bytes = bytes,
		.align_bytes = 1,
		.is_zero_wanted = is_zero_wanted,
	};

	return bedrock_large_alloc(&request);
}

Test(large, block_is_whole_pages_and_wastes_less_than_one)
{
	for (size_t bytes = 65537; bytes < BEDROCK_LARGE_MAX_BYTES; bytes += 77777) {
		char *block = take(bytes, false);

		cr_assert_eq((uintptr_t)block % BEDROCK_PAGE_BYTES, 0);
		cr_assert_geq(bedrock_large_usable_bytes(block), bytes);
		cr_assert_lt(bedrock_large_usable_bytes(block), bytes + BEDROCK_PAGE_BYTES);
		bedrock_large_free(block);
	}
}

Test(large, grows_and_shrinks_in_place_while_the_neighbour_is_free)
{
	char *block = take(100000, false);

	memset(block, 3, 100000);
	cr_assert_eq(bedrock_large_resize(block, 900000), block);
	cr_assert_eq(block[99999], 3);
	cr_assert_eq(bedrock_large_resize(block, 70000), block);
	cr_assert_lt(bedrock_large_usable_bytes(block), 75000);
	char *neighbour = take(100000, false);

	cr_assert_null(bedrock_large_resize(block, 900000));
	bedrock_large_free(neighbour);
	bedrock_large_free(block);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.first_arena.large_pages), 0);
}

Test(large, grows_down_with_its_content_where_only_what_is_before_it_is_free)
{
	char *before = take(200000, false);
	char *block = take(100000, false);
	char *behind = take(100000, false);

	for (int i = 0; i < 100000; i++)
		block[i] = (char)(i % 251);
	bedrock_large_free(before);
	cr_assert_eq(bedrock_large_resize(block, 250000), before);
	cr_assert_lt(bedrock_large_usable_bytes(before), 250000 + BEDROCK_PAGE_BYTES);
	for (int i = 0; i < 100000; i++)
		cr_assert_eq(before[i], (char)(i % 251));
	cr_assert_eq(bedrock_chunk_class_of(block), BEDROCK_CLASS_NONE);
	bedrock_large_free(before);
	bedrock_large_free(behind);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.first_arena.large_pages), 0);
	cr_assert(bedrock_pages_is_valid(&bedrock_heap.first_arena.pages));
}

Test(large, resize_across_kinds_is_left_to_a_copy)
{
	char *run = take(100000, false);
	char *huge = take(5 << 20, false);

	cr_assert_null(bedrock_large_resize(run, 1000));
	cr_assert_null(bedrock_large_resize(run, 5 << 20));
	cr_assert_null(bedrock_large_resize(huge, 100000));
	bedrock_large_free(run);
	bedrock_large_free(huge);
}

Test(large, zero_is_believed_when_fresh_and_made_when_not)
{
	char *block = take(300000, true);

	for (int i = 0; i < 300000; i++)
		cr_assert_eq(block[i], 0);
	memset(block, 1, 300000);
	bedrock_large_free(block);
	faults.madvise.lies = true;
	bedrock_decay_purge(&bedrock_heap);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_eq(take(300000, true), block);
	for (int i = 0; i < 300000; i++)
		cr_assert_eq(block[i], 0);
}

Test(large, threshold_between_run_and_mapping_is_exact)
{
	char *run = take(BEDROCK_LARGE_MAX_BYTES, false);
	char *huge = take(BEDROCK_LARGE_MAX_BYTES + 1, false);

	cr_assert_eq(bedrock_chunk_class_of(run), BEDROCK_CLASS_LARGE);
	cr_assert_eq(bedrock_chunk_class_of(huge), BEDROCK_CLASS_NONE);
	bedrock_large_free(run);
	bedrock_large_free(huge);
}
