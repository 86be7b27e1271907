/* SPDX-License-Identifier: MIT */
/*
 * Runs of pages: fit, coalescing, alignment, trust in zero, and pages that are lent out.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/pages.h"
#include "allocator/tests/faults.h"

static struct bedrock_space space;
static struct bedrock_pages pages;

static void setup(void)
{
	bedrock_space_init(&space);
	bedrock_pages_init(&pages, (struct bedrock_arena *)&pages, &space);
	fault_install();
}

TestSuite(pages, .init = setup, .timeout = 60);

static struct bedrock_run *take(uint32_t count, bool *is_zero)
{
	const struct bedrock_pages_request request = {
		.page_count = count,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_run *run = NULL;
	bool is_fresh;

	cr_assert_eq(bedrock_pages_alloc(&pages, &request, &run, is_zero ? is_zero : &is_fresh), 0);
	return run;
}

Test(pages, fresh_run_is_zero_and_a_reused_one_is_not_believed)
{
	bool is_zero = false;
	struct bedrock_run *run = take(20, &is_zero);

	cr_assert(is_zero);
	bedrock_pages_free(&pages, run);
	cr_assert_eq(take(20, &is_zero), run);
	cr_assert_not(is_zero);
	cr_assert_eq(take(20, &is_zero), run + 20);
	cr_assert(is_zero);
}

Test(pages, free_neighbours_become_one_run)
{
	struct bedrock_run *a = take(300, NULL);
	struct bedrock_run *b = take(300, NULL);
	struct bedrock_run *c = take(300, NULL);

	bedrock_pages_free(&pages, a);
	bedrock_pages_free(&pages, c);
	bedrock_pages_free(&pages, b);
	cr_assert_eq(take(900, NULL), a);
	cr_assert_eq(pages.chunk_count, 1);
}

Test(pages, full_chunk_makes_a_new_one_and_longest_run_fits_exactly)
{
	struct bedrock_run *whole = take(BEDROCK_RUN_PAGES_MAX, NULL);

	cr_assert_eq(bedrock_run_chunk(whole)->longest_free, 0);
	take(1, NULL);
	cr_assert_eq(pages.chunk_count, 2);
	cr_assert(bedrock_pages_is_valid(&pages));
}

Test(pages, fuller_chunk_is_preferred)
{
	take(900, NULL);
	struct bedrock_run *hole = take(100, NULL);
	struct bedrock_run *other = take(500, NULL);

	cr_assert_eq(pages.chunk_count, 2);
	bedrock_pages_free(&pages, hole);
	bedrock_pages_free(&pages, other);
	cr_assert_eq(take(50, NULL), hole);
}

Test(pages, aligned_run_begins_at_a_multiple)
{
	const struct bedrock_pages_request request = {
		.page_count = 3,
		.align_pages = 256,
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_run *run;
	bool is_zero;

	take(1, NULL);
	cr_assert_eq(bedrock_pages_alloc(&pages, &request, &run, &is_zero), 0);
	cr_assert_eq((uintptr_t)bedrock_run_start(run) % (256 * BEDROCK_PAGE_BYTES), 0);
}

Test(pages, without_growth_and_without_room_it_is_enomem_and_no_call)
{
	const struct bedrock_pages_request request = {
		.page_count = 1,
		.align_pages = 1,
		.class_index = BEDROCK_CLASS_LARGE,
	};
	struct bedrock_run *run;
	bool is_zero;

	cr_assert_eq(bedrock_pages_alloc(&pages, &request, &run, &is_zero), -ENOMEM);
	cr_assert_eq(faults.mmap.seen, 0);
}

Test(pages, extend_takes_free_neighbours_only_and_shrink_gives_them_back)
{
	struct bedrock_run *a = take(100, NULL);
	struct bedrock_run *b = take(100, NULL);

	cr_assert_eq(bedrock_pages_extend(&pages, a, 150), -ENOMEM);
	bedrock_pages_free(&pages, b);
	cr_assert_eq(bedrock_pages_extend(&pages, a, 150), 0);
	cr_assert_eq(bedrock_load_relaxed(&pages.used_pages), 150);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 50);
	bedrock_pages_shrink(&pages, a, 10);
	cr_assert_eq(bedrock_load_relaxed(&pages.used_pages), 10);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 190);
	cr_assert_eq(bedrock_pages_extend(&pages, a, BEDROCK_CHUNK_PAGES), -ENOMEM);
	cr_assert(bedrock_pages_is_valid(&pages));
}

Test(pages, run_extended_down_takes_all_before_it_and_what_it_needs_behind)
{
	struct bedrock_run *a = take(100, NULL);
	struct bedrock_run *b = take(100, NULL);
	struct bedrock_run *c = take(50, NULL);
	struct bedrock_run *d = take(100, NULL);
	struct bedrock_run *grown = b;

	cr_assert_eq(bedrock_pages_extend_down(&pages, &grown, 150), -ENOMEM, "nothing before");
	bedrock_pages_free(&pages, a);
	cr_assert_eq(bedrock_pages_extend_down(&pages, &grown, 201), -ENOMEM, "too little");
	cr_assert_eq(grown, b);
	bedrock_pages_free(&pages, c);
	cr_assert_eq(bedrock_pages_extend_down(&pages, &grown, 230), 0);
	cr_assert_eq(grown, a);
	cr_assert_eq(grown->page_count, 230);
	cr_assert_eq(bedrock_load_relaxed(&pages.used_pages), 330);
	cr_assert_eq(bedrock_chunk_class_of(bedrock_run_start(a)), BEDROCK_CLASS_LARGE);
	cr_assert_eq(bedrock_chunk_class_of(bedrock_run_start(b)), BEDROCK_CLASS_NONE);
	cr_assert(bedrock_pages_is_valid(&pages));
	bedrock_pages_free(&pages, grown);
	bedrock_pages_free(&pages, d);
	cr_assert_eq(bedrock_load_relaxed(&pages.used_pages), 0);
}

Test(pages, run_extended_down_keeps_what_is_too_much_for_the_caller_to_give_back)
{
	struct bedrock_run *a = take(300, NULL);
	struct bedrock_run *b = take(100, NULL);

	bedrock_pages_free(&pages, a);
	cr_assert_eq(bedrock_pages_extend_down(&pages, &b, 120), 0);
	cr_assert_eq(b, a);
	cr_assert_eq(b->page_count, 400);
	bedrock_pages_shrink(&pages, b, 120);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 280);
	cr_assert(bedrock_pages_is_valid(&pages));
}

Test(pages, lent_pages_cannot_be_allocated_and_come_back_in_the_state_they_are_given)
{
	struct bedrock_run *run = take(BEDROCK_RUN_PAGES_MAX, NULL);
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);
	struct bedrock_range ranges[4];

	bedrock_pages_free(&pages, run);
	struct bedrock_bitmap wanted = chunk->rest[BEDROCK_REST_DIRTY];

	cr_assert_eq(bedrock_pages_isolate(&pages, chunk, BEDROCK_REST_DIRTY, &wanted, ranges, 4),
		     1);
	cr_assert_eq(ranges[0].count, BEDROCK_RUN_PAGES_MAX);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 0);
	cr_assert_neq(bedrock_run_chunk(take(1, NULL)), chunk);
	bedrock_pages_release(&pages, chunk, BEDROCK_REST_MUZZY, ranges[0]);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_MUZZY]),
		     BEDROCK_RUN_PAGES_MAX);
	cr_assert(bedrock_pages_is_valid(&pages));
}

/* Lend the only dirty range out and take it back as `kind`. */
static void release_dirty(struct bedrock_chunk *chunk, enum bedrock_rest kind)
{
	struct bedrock_bitmap wanted = chunk->rest[BEDROCK_REST_DIRTY];
	struct bedrock_range ranges[4];
	uint32_t count =
		bedrock_pages_isolate(&pages, chunk, BEDROCK_REST_DIRTY, &wanted, ranges, 4);

	for (uint32_t i = 0; i < count; i++)
		bedrock_pages_release(&pages, chunk, kind, ranges[i]);
	cr_assert(bedrock_pages_is_valid(&pages));
}

/* The header takes 17 pages, so that the runs are pages 17 to 56 and 57 to 63. */
Test(pages, parts_of_larger_kernel_pages_stay_dirty_and_go_with_their_neighbours)
{
	faults.page_bytes = 16 << BEDROCK_PAGE_SHIFT;
	struct bedrock_run *run = take(40, NULL);
	struct bedrock_run *next = take(7, NULL);
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);

	cr_assert_eq(BEDROCK_CHUNK_HEADER_PAGES, 17);
	cr_assert_eq(bedrock_load_relaxed(&pages.charged_pages), 64);
	bedrock_pages_free(&pages, run);
	release_dirty(chunk, BEDROCK_REST_COUNT);
	cr_assert_eq(bedrock_load_relaxed(&pages.charged_pages), 48);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 15 + 9);
	bedrock_pages_free(&pages, next);
	release_dirty(chunk, BEDROCK_REST_COUNT);
	cr_assert_eq(bedrock_load_relaxed(&pages.charged_pages), 32);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 15);
}

Test(pages, parts_of_larger_kernel_pages_do_not_get_to_madv_free_without_the_rest)
{
	faults.page_bytes = 16 << BEDROCK_PAGE_SHIFT;
	struct bedrock_run *run = take(40, NULL);

	bedrock_pages_free(&pages, run);
	release_dirty(bedrock_run_chunk(run), BEDROCK_REST_MUZZY);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_MUZZY]), 16);
	cr_assert_eq(bedrock_load_relaxed(&pages.rest_pages[BEDROCK_REST_DIRTY]), 15 + 9);
}

/* What another thread does while a chunk is mapped, without the lock. */
static struct bedrock_run *freed_meanwhile;

static void *mmap_while_a_run_is_freed(void *address, size_t bytes, int protection, int flags,
				       int fd, off_t at)
{
	if (freed_meanwhile)
		bedrock_pages_free(&pages, freed_meanwhile);
	freed_meanwhile = NULL;
	return mmap(address, bytes, protection, flags, fd, at);
}

Test(pages, credit_stays_within_its_bound_when_a_run_is_freed_while_a_chunk_is_mapped)
{
	struct bedrock_run *run = take(500, NULL);

	take(500, NULL);
	freed_meanwhile = run;
	bedrock_os_table.mmap = mmap_while_a_run_is_freed;
	cr_assert_eq(take(500, NULL), run);
	cr_assert_eq(pages.chunk_count, 2);
	cr_assert(bedrock_pages_is_valid(&pages));
	cr_assert_eq(bedrock_load_relaxed(&space.limit.charged_bytes),
		     (bedrock_load_relaxed(&pages.charged_pages) + pages.credit_pages)
			     << BEDROCK_PAGE_SHIFT);
}

/* The lock is taken while a chunk is mapped, and given when the one who maps it waits for it. */
static atomic_bool is_mapping;
static atomic_bool is_locked;
static atomic_uint small_advices;

static void *mmap_until_the_lock_is_taken(void *address, size_t bytes, int protection, int flags,
					  int fd, off_t at)
{
	is_mapping = true;
	while (!is_locked)
		sched_yield();
	return mmap(address, bytes, protection, flags, fd, at);
}

static int madvise_counting(void *address, size_t bytes, int advice)
{
	(void)address;
	small_advices += advice == MADV_NOHUGEPAGE && bytes == BEDROCK_CHUNK_BYTES;
	return 0;
}

static void *take_one(void *argument)
{
	(void)argument;
	return take(1, NULL);
}

Test(pages, chunk_that_is_being_made_when_the_first_limit_is_set_gets_no_huge_page)
{
	pthread_t thread;

	bedrock_os_table.mmap = mmap_until_the_lock_is_taken;
	bedrock_os_table.madvise = madvise_counting;
	cr_assert_eq(pthread_create(&thread, NULL, take_one, NULL), 0);
	while (!is_mapping)
		sched_yield();
	bedrock_lock_take(&pages.lock);
	is_locked = true;
	/* 2: somebody waits. */
	while (bedrock_load_relaxed(&pages.lock.word) != 2)
		sched_yield();
	bedrock_limit_set(&space.limit, UINT64_C(1) << 30, 0);
	cr_assert_null(pages.all, "who sets a limit does not see the chunk yet");
	cr_assert_eq(small_advices, 0);
	bedrock_lock_give(&pages.lock);
	pthread_join(thread, NULL);
	cr_assert_eq(small_advices, 1);
}

Test(pages, isolate_skips_what_was_allocated_meanwhile)
{
	struct bedrock_run *run = take(100, NULL);
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);
	struct bedrock_range ranges[4];

	bedrock_pages_free(&pages, run);
	struct bedrock_bitmap wanted = chunk->rest[BEDROCK_REST_DIRTY];

	take(30, NULL);
	cr_assert_eq(bedrock_pages_isolate(&pages, chunk, BEDROCK_REST_DIRTY, &wanted, ranges, 4),
		     1);
	cr_assert_eq(ranges[0].first, BEDROCK_CHUNK_HEADER_PAGES + 30);
	cr_assert_eq(ranges[0].count, 70);
	cr_assert_eq(bedrock_pages_isolate(&pages, chunk, BEDROCK_REST_DIRTY, &wanted, ranges, 4),
		     0);
}

Test(pages, random_traffic_keeps_every_invariant)
{
	static struct bedrock_run *runs[200];
	uint32_t random = 7;

	for (int i = 0; i < 5000; i++) {
		random = random * 1664525 + 1013904223;
		struct bedrock_run **slot = &runs[(random >> 8) % 200];

		if (*slot)
			bedrock_pages_free(&pages, *slot);
		*slot = random >> 31 ? take((random >> 16) % 120 + 1, NULL) : NULL;
		if (i % 100 == 0)
			cr_assert(bedrock_pages_is_valid(&pages));
	}
	for (int i = 0; i < 200; i++) {
		if (runs[i])
			bedrock_pages_free(&pages, runs[i]);
	}
	cr_assert(bedrock_pages_is_valid(&pages));
	cr_assert_eq(bedrock_load_relaxed(&pages.used_pages), 0);
}
