/* SPDX-License-Identifier: MIT */
/*
 * The choice of an arena, and where memory comes from when that arena has none.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/chains.h"
#include "allocator/tests/faults.h"

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	fault_install();
}

TestSuite(heap, .init = setup, .timeout = 30);

Test(heap, any_thread_index_gives_an_arena_below_the_count)
{
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arena_count, 5);
	for (uint32_t i = 0; i < 1000; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena(&bedrock_heap, i * 7919u);

		cr_assert_lt(arena->index, 5);
		cr_assert_eq(bedrock_heap_arena_at(&bedrock_heap, arena->index), arena);
	}
}

Test(heap, more_arenas_than_cpus_are_no_problem)
{
	bedrock_store_relaxed(&bedrock_heap.arena_count, 24);
	for (int i = 0; i < 1000; i++)
		bedrock_free(bedrock_malloc((size_t)i * 100));
}

Test(heap, arena_without_memory_is_helped_out_by_another)
{
	struct bedrock_list list;
	struct bedrock_arena *other;

	bedrock_store_relaxed(&bedrock_heap.arena_count, 2);
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	other = bedrock_heap_arena(&bedrock_heap, 1);
	cr_assert_eq(
		bedrock_slab_take(&bedrock_heap.first_arena, 4, 1, BEDROCK_EFFORT_CHUNK, &list), 0);
	faults.mmap.error = ENOMEM;
	cr_assert_eq(bedrock_heap_take(&bedrock_heap, other, 4, 10, &list), 0);
	cr_assert_eq(bedrock_run_chunk(bedrock_chunk_slab_of(list.head))->arena,
		     &bedrock_heap.first_arena);
	cr_assert_gt(faults.mmap.hit, 0);
}

/* Another arena than the first one, which has so many pages at rest. */
static struct bedrock_arena *other_beside_rested(uint32_t rested_pages)
{
	const struct bedrock_pages_request request = {
		.page_count = rested_pages,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_pages *pages = &bedrock_heap.first_arena.pages;
	struct bedrock_run *run;
	bool is_zero;

	bedrock_store_relaxed(&bedrock_heap.arena_count, 2);
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	cr_assert_eq(bedrock_pages_alloc(pages, &request, &run, &is_zero), 0);
	bedrock_pages_free(pages, run);
	return bedrock_heap_arena(&bedrock_heap, 1);
}

static const struct bedrock_arena *arena_of_run(struct bedrock_arena *first, uint32_t pages)
{
	const struct bedrock_pages_request request = {
		.page_count = pages,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
	};
	struct bedrock_run *run;
	bool is_zero;

	cr_assert_eq(bedrock_heap_take_run(&bedrock_heap, first, request, &run, &is_zero), 0);
	cr_assert_not(is_zero && bedrock_run_chunk(run)->arena != first, "what rests was in use");
	return bedrock_run_chunk(run)->arena;
}

Test(heap, run_comes_from_where_pages_rest_before_fresh_ones_are_touched)
{
	struct bedrock_arena *other = other_beside_rested(50);

	cr_assert_eq(arena_of_run(other, 30), &bedrock_heap.first_arena);
	/* Twenty are left: not enough. */
	cr_assert_eq(arena_of_run(other, 30), other);
}

Test(heap, slab_comes_from_where_pages_rest_before_fresh_ones_are_touched)
{
	struct bedrock_arena *other = other_beside_rested(bedrock_class_slab_pages(4));
	struct bedrock_list list;

	cr_assert_eq(bedrock_heap_take(&bedrock_heap, other, 4, 1, &list), 0);
	cr_assert_eq(bedrock_run_chunk(bedrock_chunk_slab_of(list.head))->arena,
		     &bedrock_heap.first_arena);
}

Test(heap, own_pages_at_rest_come_before_those_of_others)
{
	struct bedrock_arena *other = other_beside_rested(50);
	struct bedrock_pages_request request = {
		.page_count = 40,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_run *run;
	bool is_zero;

	cr_assert_eq(bedrock_pages_alloc(&other->pages, &request, &run, &is_zero), 0);
	bedrock_pages_free(&other->pages, run);
	cr_assert_eq(arena_of_run(other, 40), other);
}

Test(heap, what_came_back_to_other_classes_is_collected_before_fresh_pages_are_touched)
{
	struct bedrock_arena *arena = &bedrock_heap.first_arena;
	struct bedrock_list list;

	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	cr_assert_eq(bedrock_slab_take(arena, 4, 1000, BEDROCK_EFFORT_CHUNK, &list), 0);
	struct bedrock_run *slab = bedrock_chunk_slab_of(list.head);

	bedrock_slab_return(4, chain_of(list, 4));
	cr_assert_eq(bedrock_arena_rest_pages(arena), 0);
	cr_assert_eq(bedrock_heap_take(&bedrock_heap, arena, 5, 1, &list), 0);
	cr_assert_eq(bedrock_chunk_slab_of(list.head), slab);
}

Test(heap, growing_run_comes_from_pages_at_rest_before_it_gets_room)
{
	struct bedrock_arena *other = other_beside_rested(50);
	const struct bedrock_pages_request request = {
		.page_count = 50,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
		.is_growing = true,
	};
	struct bedrock_run *runs[2];
	bool is_zero;

	cr_assert_eq(bedrock_heap_take_run(&bedrock_heap, other, request, &runs[0], &is_zero), 0);
	cr_assert_eq(bedrock_run_chunk(runs[0])->arena, &bedrock_heap.first_arena);
	cr_assert_eq(bedrock_heap_take_run(&bedrock_heap, other, request, &runs[1], &is_zero), 0);
	cr_assert_eq(bedrock_run_chunk(runs[1])->arena, other);
	cr_assert_eq(bedrock_pages_extend(&other->pages, runs[1], 100), 0);
}

Test(heap, growing_run_is_content_without_room_when_no_chunk_is_to_be_had)
{
	const struct bedrock_pages_request request = {
		.page_count = 400,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
		.is_growing = true,
	};
	struct bedrock_arena *arena = &bedrock_heap.first_arena;
	struct bedrock_run *run;
	bool is_zero;

	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	cr_assert_eq(bedrock_heap_take_run(&bedrock_heap, arena, request, &run, &is_zero), 0);
	faults.mmap.error = ENOMEM;
	cr_assert_eq(bedrock_heap_take_run(&bedrock_heap, arena, request, &run, &is_zero), 0);
	cr_assert_eq(arena->pages.chunk_count, 1);
	cr_assert_gt(faults.mmap.hit, 0);
}

Test(heap, slabs_of_other_classes_are_turned_into_what_is_needed)
{
	static void *blocks[100000];
	uint32_t count = 0;

	bedrock_heap.options.is_tcache = false;
	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	bedrock_free(bedrock_malloc(64));
	faults.mmap.error = ENOMEM;
	while (count < 100000 && (blocks[count] = bedrock_malloc(64)))
		count++;
	cr_assert_gt(count, 10000);
	cr_assert_lt(count, 100000);
	for (uint32_t i = 0; i < count; i++)
		bedrock_free(blocks[i]);
	for (int i = 0; i < 50; i++)
		cr_assert(bedrock_malloc(60000));
}

static struct bedrock_heap other_heap;

/* -> NULL if the heap was not ready after all. */
static void *ensure_other(void *argument)
{
	bedrock_heap_ensure(&other_heap);
	return bedrock_heap_arena_at(&other_heap, 0) == &other_heap.first_arena ? argument : NULL;
}

Test(heap, threads_that_come_first_together_all_find_it_ready)
{
	pthread_t threads[8];
	void *result = NULL;
	int token;

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, ensure_other, &token);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &result);
		cr_assert_eq(result, &token);
	}
	cr_assert_geq(bedrock_load_relaxed(&other_heap.arena_count), 1);
}
