/* SPDX-License-Identifier: MIT */
/*
 * Chunk headers: from a pointer to its chunk, page, class and run; and that the validity checks
 * see what they are there for.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "allocator/bedrock/pages.h"

static struct bedrock_space space;
static struct bedrock_pages pages;
static struct bedrock_run *run;
static struct bedrock_chunk *chunk;

static void setup(void)
{
	const struct bedrock_pages_request request = {
		.page_count = 4,
		.align_pages = 1,
		.class_index = 5,
		.may_grow = true,
	};
	bool is_zero;

	bedrock_space_init(&space);
	bedrock_pages_init(&pages, (struct bedrock_arena *)&pages, &space);
	cr_assert_eq(bedrock_pages_alloc(&pages, &request, &run, &is_zero), 0);
	chunk = bedrock_run_chunk(run);
}

TestSuite(chunk, .init = setup);

Test(chunk, every_byte_of_a_run_leads_to_its_chunk_class_and_run)
{
	char *start = bedrock_run_start(run);

	for (size_t at = 0; at < 4 * BEDROCK_PAGE_BYTES; at += 16) {
		cr_assert_eq(bedrock_chunk_of(start + at), chunk);
		cr_assert_eq(bedrock_chunk_class_of(start + at), 5);
		cr_assert_eq(bedrock_chunk_slab_of(start + at), run);
	}
	cr_assert_eq(bedrock_chunk_run_at(start), run);
}

Test(chunk, block_at_the_end_of_the_mask_range_belongs_to_the_chunk_before)
{
	char *end = (char *)chunk + BEDROCK_CHUNK_BYTES;

	cr_assert_eq(bedrock_chunk_of(end), chunk);
	cr_assert_eq(bedrock_chunk_page_index(chunk, end), BEDROCK_CHUNK_PAGES);
	cr_assert_eq(bedrock_chunk_class_of(end), BEDROCK_CLASS_NONE);
}

Test(chunk, header_is_apart_from_the_first_block)
{
	cr_assert_geq(bedrock_run_start(run), (char *)(chunk + 1));
	cr_assert_eq(chunk->arena, (struct bedrock_arena *)&pages);
	cr_assert(bedrock_chunk_is_valid(chunk));
}

Test(chunk, page_that_is_used_and_dirty_is_invalid)
{
	struct bedrock_range page = { .first = bedrock_run_first(run), .count = 1 };

	bedrock_bitmap_set(&chunk->rest[BEDROCK_REST_DIRTY], page);
	cr_assert_not(bedrock_chunk_is_valid(chunk));
}

Test(chunk, aged_page_that_does_not_rest_is_invalid)
{
	struct bedrock_range page = { .first = 900, .count = 1 };

	bedrock_bitmap_set(&chunk->aged[BEDROCK_REST_MUZZY], page);
	cr_assert_not(bedrock_chunk_is_valid(chunk));
}

Test(chunk, resting_page_that_was_never_touched_is_invalid)
{
	struct bedrock_range page = { .first = 900, .count = 1 };

	bedrock_bitmap_set(&chunk->rest[BEDROCK_REST_DIRTY], page);
	cr_assert_not(bedrock_chunk_is_valid(chunk));
}

Test(chunk, wrong_counts_are_invalid)
{
	chunk->used_count++;
	cr_assert_not(bedrock_chunk_is_valid(chunk));
	chunk->used_count--;
	chunk->longest_free--;
	cr_assert_not(bedrock_chunk_is_valid(chunk));
	chunk->longest_free++;
	cr_assert(bedrock_chunk_is_valid(chunk));
}

Test(chunk, slab_with_a_wrong_list_or_a_wrong_count_is_invalid)
{
	void *block = NULL;
	struct bedrock_run slab = {
		.capacity = 10,
		.carved_count = 4,
		.free = &block,
		.free_count = 1,
		.listed = BEDROCK_SLAB_PARTIAL,
	};

	cr_assert(bedrock_slab_is_valid(&slab));
	slab.free_count = 2;
	cr_assert_not(bedrock_slab_is_valid(&slab));
	slab.free_count = 1;
	slab.listed = BEDROCK_SLAB_CARVING;
	cr_assert_not(bedrock_slab_is_valid(&slab));
	slab.listed = BEDROCK_SLAB_PARTIAL;
	slab.carved_count = 11;
	cr_assert_not(bedrock_slab_is_valid(&slab));
}
