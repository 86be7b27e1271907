/* SPDX-License-Identifier: MIT */
/*
 * Decay: pages go back at their age, not before, not twice, and not while they are in use.
 *
 * Time is an argument of decay, so these tests turn the clock by hand.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#define MS          UINT64_C(1000000)
#define BLOCK_BYTES 100000u
#define BLOCK_PAGES 25u

static struct bedrock_arena *arena;
static uint64_t now_ns;

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arena_count, 1);
	/* No tick of the clock on the wall may come in between. */
	bedrock_heap.options.dirty_decay_ms = 1000;
	arena = &bedrock_heap.first_arena;
	now_ns = UINT64_C(1) << 62;
	bedrock_store_relaxed(&arena->decay.stages[0].next_ns, now_ns);
	bedrock_store_relaxed(&arena->decay.stages[1].next_ns, now_ns);
	fault_install();
}

TestSuite(decay, .init = setup, .timeout = 60);

static uint64_t resting(enum bedrock_rest kind)
{
	return bedrock_load_relaxed(&arena->pages.rest_pages[kind]);
}

/* Until it is the turn of the chunk that has this block: turns come once in half a decay time. */
static void await_turn(const void *block, uint64_t interval_ms)
{
	const uint64_t step_ns = interval_ms * MS / 8;
	const uint64_t turn = (uintptr_t)block / BEDROCK_CHUNK_BYTES % 8;

	now_ns += step_ns - now_ns % step_ns;
	while (now_ns / step_ns % 8 != turn)
		now_ns += step_ns;
}

/* Turn the clock and let decay look. */
static uint64_t after_ms(uint64_t ms)
{
	now_ns += ms * MS;
	return bedrock_decay_arena(&bedrock_heap, arena, now_ns, false);
}

/* Decay comes by at every turn. */
static void live_through_ms(uint64_t ms)
{
	for (uint64_t i = 0; i <= ms; i += 62)
		after_ms(62);
	after_ms(1);
}

/* `count` dirty blocks in a row, with a used one before and after. */
static void make_dirty(uint32_t count)
{
	void *blocks[32];

	bedrock_malloc(BLOCK_BYTES);
	for (uint32_t i = 0; i < count; i++)
		blocks[i] = memset(bedrock_malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	bedrock_malloc(BLOCK_BYTES);
	for (uint32_t i = 0; i < count; i++)
		bedrock_free(blocks[i]);
	await_turn(blocks[0], 500);
}

Test(decay, pages_go_back_when_seen_idle_at_two_looks)
{
	make_dirty(10);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 10 * BLOCK_PAGES);
	cr_assert_eq(after_ms(0), 0);
	cr_assert_eq(after_ms(499), 0);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 10 * BLOCK_PAGES);
	cr_assert_eq(after_ms(1), 10 * BLOCK_PAGES * BEDROCK_PAGE_BYTES);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
	cr_assert_eq(faults.madvise.seen, 1, "one call for one range");
}

Test(decay, pages_used_in_between_are_young_again)
{
	make_dirty(4);
	after_ms(0);
	void *block = bedrock_malloc(BLOCK_BYTES);

	bedrock_free(block);
	after_ms(500);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), BLOCK_PAGES);
	after_ms(500);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, clean_pages_are_never_advised_again)
{
	make_dirty(8);
	after_ms(0);
	after_ms(500);
	unsigned calls = faults.madvise.seen;

	for (int i = 0; i < 20; i++)
		after_ms(500);
	bedrock_purge();
	cr_assert_eq(faults.madvise.seen, calls);
	cr_assert_leq(faults.advised_bytes, 8 * BLOCK_PAGES * BEDROCK_PAGE_BYTES);
}

Test(decay, muzzy_stage_comes_between_and_ends_in_its_own_time)
{
	bedrock_heap.options.muzzy_decay_ms = 2000;
	make_dirty(4);
	after_ms(0);
	after_ms(500);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
	cr_assert_eq(resting(BEDROCK_REST_MUZZY), 4 * BLOCK_PAGES);
	after_ms(500);
	after_ms(499);
	cr_assert_eq(resting(BEDROCK_REST_MUZZY), 4 * BLOCK_PAGES);
	after_ms(1001);
	after_ms(1000);
	cr_assert_eq(resting(BEDROCK_REST_MUZZY), 0);
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	cr_assert_eq(stats.lazy_purge_calls, 1);
	cr_assert_eq(stats.purge_calls, 1);
}

Test(decay, time_of_minus_one_means_never_but_purge_still_works)
{
	bedrock_heap.options.dirty_decay_ms = -1;
	make_dirty(4);
	for (int i = 0; i < 10; i++)
		after_ms(100000);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 4 * BLOCK_PAGES);
	cr_assert_gt(bedrock_purge(), 0);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, time_of_zero_gives_back_at_once)
{
	bedrock_heap.options.dirty_decay_ms = 0;
	bedrock_store_relaxed(&arena->decay.stages[0].next_ns, 0);
	make_dirty(10);
	cr_assert_leq(resting(BEDROCK_REST_DIRTY), 34);
	cr_assert_gt(faults.madvise.seen, 0);
}

Test(decay, free_chunk_is_unmapped_in_one_call_but_not_the_last)
{
	void *blocks[200];

	for (int i = 0; i < 200; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (int i = 0; i < 200; i++)
		bedrock_free(blocks[i]);
	uint32_t chunks = arena->pages.chunk_count;

	unsigned unmaps = faults.munmap.seen;

	cr_assert_gt(chunks, 4);
	live_through_ms(1000);
	cr_assert_eq(arena->pages.chunk_count, 1);
	cr_assert_eq(faults.munmap.seen - unmaps, chunks - 1);
	cr_assert_leq(faults.madvise.seen, 1);
	cr_assert(bedrock_pages_is_valid(&arena->pages));
}

Test(decay, purge_says_what_was_in_memory_and_not_what_was_mapped)
{
	void *blocks[45];

	for (int i = 0; i < 45; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	cr_assert_eq(arena->pages.chunk_count, 2);
	for (int i = 0; i < 45; i++)
		bedrock_free(blocks[i]);
	cr_assert_eq(bedrock_purge(), (uint64_t)45 * BLOCK_PAGES * BEDROCK_PAGE_BYTES);
	cr_assert_eq(arena->pages.chunk_count, 1);
}

Test(decay, retain_keeps_the_address_space)
{
	void *blocks[200];

	bedrock_heap.options.is_retain = true;
	for (int i = 0; i < 200; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (int i = 0; i < 200; i++)
		bedrock_free(blocks[i]);
	uint32_t chunks = arena->pages.chunk_count;

	bedrock_purge();
	cr_assert_eq(arena->pages.chunk_count, chunks);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, returned_blocks_that_nobody_collects_go_back_as_well)
{
	static void *blocks[20000];

	for (int i = 0; i < 20000; i++)
		blocks[i] = bedrock_malloc(500);
	for (int i = 0; i < 20000; i++)
		bedrock_free(blocks[i]);
	bedrock_cache_flush();
	cr_assert_gt(bedrock_load_relaxed(&arena->pending_pages), 0);
	live_through_ms(1000);
	cr_assert_eq(bedrock_load_relaxed(&arena->pending_pages), 0);
	cr_assert_eq(bedrock_load_relaxed(&arena->pages.used_pages), 0);
	cr_assert_leq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, kernel_pages_larger_than_ours_are_advised_whole_or_not_at_all)
{
	bedrock_heap.os_page_bytes = 65536;
	make_dirty(10);
	after_ms(0);
	after_ms(500);
	cr_assert_gt(faults.advised_bytes, 0);
	cr_assert_eq(faults.advised_bytes % 65536, 0);
	cr_assert_lt(faults.advised_bytes, 10 * BLOCK_PAGES * BEDROCK_PAGE_BYTES);
}

Test(decay, refusal_ends_the_pass_after_four_calls_and_later_looks_resume)
{
	void *blocks[40];

	for (int i = 0; i < 40; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (int i = 0; i < 40; i += 2)
		bedrock_free(blocks[i]);
	uint64_t dirty = resting(BEDROCK_REST_DIRTY);

	await_turn(blocks[0], 500);
	faults.madvise.error = EAGAIN;
	after_ms(0);
	after_ms(500);
	cr_assert_eq(faults.madvise.hit, 4);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), dirty);
	after_ms(499);
	cr_assert_eq(faults.madvise.hit, 4, "still backing off");
	faults.madvise.error = 0;
	after_ms(2000);
	after_ms(2000);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

/* Slow paths enough for a look at the clock, beside a background thread that wakes at `due_ns`. */
static unsigned advised_beside_thread(uint64_t due_ns)
{
	make_dirty(10);
	bedrock_heap.options.dirty_decay_ms = 0;
	bedrock_store_relaxed(&arena->decay.stages[0].next_ns, 0);
	bedrock_store_relaxed(&bedrock_heap.background.due_ns, due_ns);
	bedrock_store_relaxed(&bedrock_heap.background.is_running, true);
	for (int i = 0; i < 40; i++)
		bedrock_decay_tick(&bedrock_heap);
	return faults.madvise.seen;
}

Test(decay, slow_paths_leave_purges_to_a_thread_that_is_at_work)
{
	cr_assert_eq(advised_beside_thread(BEDROCK_BACKGROUND_NEVER_NS), 0);
}

Test(decay, slow_paths_leave_purges_to_a_thread_that_is_to_wake_soon)
{
	cr_assert_eq(advised_beside_thread(bedrock_os_now_ns() + 60000 * MS), 0);
}

Test(decay, slow_paths_step_in_for_a_thread_that_does_not_get_to_run)
{
	cr_assert_gt(advised_beside_thread(1), 0);
}

static int slow_madvise(void *address, size_t bytes, int advice)
{
	const struct timespec pause = { .tv_nsec = 10 * MS };

	nanosleep(&pause, NULL);
	return fault_madvise(address, bytes, advice);
}

/* Blocks with used ones in between, so that each is advised alone; a look of a slow path at them.
 */
static void look_at_holes(void)
{
	void *blocks[40];

	bedrock_os_table.madvise = slow_madvise;
	for (int i = 0; i < 40; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (int i = 0; i < 40; i += 2)
		bedrock_free(blocks[i]);
	bedrock_heap.options.muzzy_decay_ms = 0;
	bedrock_store_relaxed(&arena->decay.stages[0].next_ns, 0);
	while (faults.madvise.seen == 0)
		bedrock_decay_tick(&bedrock_heap);
}

Test(decay, slow_path_makes_no_second_call_once_one_took_long)
{
	bedrock_heap.options.dirty_decay_ms = 0;
	look_at_holes();
	cr_assert_eq(faults.madvise.seen, 1);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 19 * BLOCK_PAGES);
}

Test(decay, what_a_slow_path_left_is_still_due_at_the_next_look)
{
	bedrock_heap.options.dirty_decay_ms = 10;
	look_at_holes();
	cr_assert_eq(faults.madvise.seen, 1);
	bedrock_os_table.madvise = fault_madvise;
	after_ms(0);
	cr_assert_eq(faults.madvise.seen, 20);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

/* Every other block of a row is dirty: so many ranges. */
static void make_scattered(uint32_t count)
{
	static void *blocks[64];

	for (uint32_t i = 0; i < 2 * count; i++)
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
	for (uint32_t i = 0; i < 2 * count; i += 2)
		bedrock_free(blocks[i]);
}

Test(decay, scattered_ranges_go_back_in_one_call)
{
	make_scattered(20);
	cr_assert_eq(bedrock_decay_arena(&bedrock_heap, arena, now_ns, true),
		     20 * BLOCK_PAGES * UINT64_C(4096));
	cr_assert_eq(faults.process_madvise.seen, 1);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.purges.calls), 1);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, kernel_that_advises_one_range_at_a_time_is_asked_so_for_a_minute)
{
	static const int errors[] = { ENOSYS, EPERM, EBADF, EINVAL };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		faults.process_madvise.error = errors[i];
		for (int round = 0; round < 2; round++) {
			faults.madvise.seen = 0;
			make_scattered(5);
			bedrock_decay_arena(&bedrock_heap, arena, now_ns, true);
			cr_assert_eq(faults.madvise.seen, 5);
			cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
		}
		cr_assert_eq(faults.process_madvise.hit, i + 1);
		now_ns += 61000 * MS;
	}
	faults.process_madvise.error = 0;
	make_scattered(5);
	bedrock_decay_arena(&bedrock_heap, arena, now_ns, true);
	cr_assert_gt(faults.process_madvise.seen, 4);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, ranges_that_one_call_has_left_are_advised_one_by_one)
{
	faults.process_madvise.lies = true;
	make_scattered(8);
	bedrock_decay_arena(&bedrock_heap, arena, now_ns, true);
	cr_assert_eq(faults.process_madvise.lied, 1);
	cr_assert_eq(faults.madvise.seen, 8);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.purges.calls), 2);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

Test(decay, refusal_in_the_middle_of_one_call_leaves_the_rest_dirty)
{
	faults.madvise.error = EAGAIN;
	faults.madvise.first = 4;
	make_scattered(12);
	cr_assert_eq(bedrock_decay_arena(&bedrock_heap, arena, now_ns, true),
		     3 * BLOCK_PAGES * UINT64_C(4096));
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 9 * BLOCK_PAGES);
	faults.madvise.error = 0;
	bedrock_decay_arena(&bedrock_heap, arena, now_ns, true);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

static void set_decay_ms(ssize_t ms)
{
	cr_assert_eq(bedrock_ctl("arenas.dirty_decay_ms", NULL, NULL, &ms, sizeof(ms)), 0);
}

Test(decay, shorter_time_holds_for_chunks_whose_look_was_far_away)
{
	set_decay_ms(1000000);
	make_dirty(10);
	after_ms(0);
	set_decay_ms(1000);
	live_through_ms(1000);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}

/* Bytes that are given back at each of the 24 turns after a burst of `blocks` has ended. */
static void watch_burst(void **blocks, uint32_t count, uint64_t given[24])
{
	const uint64_t step_ms_x2 = 125;

	for (uint32_t i = 0; i < count; i++)
		blocks[i] = memset(bedrock_malloc(BLOCK_BYTES * 10), 1, BLOCK_BYTES * 10);
	await_turn(blocks[0], 500);
	after_ms(0);
	for (uint32_t i = 0; i < count; i++)
		bedrock_free(blocks[i]);
	for (int turn = 0; turn < 24; turn++) {
		now_ns += step_ms_x2 * MS / 2;
		given[turn] = bedrock_decay_arena(&bedrock_heap, arena, now_ns, false);
	}
}

Test(decay, burst_goes_back_turn_by_turn_and_is_gone_after_its_time)
{
	void *blocks[64];
	uint64_t given[24], all = 0, most = 0, early = 0;

	watch_burst(blocks, 64, given);
	for (int turn = 0; turn < 24; turn++) {
		all += given[turn];
		most = given[turn] > most ? given[turn] : most;
		early += turn < 7 ? given[turn] : 0;
	}
	cr_expect_eq(early, 0, "%lu bytes within half of the time", early);
	cr_expect_eq(resting(BEDROCK_REST_DIRTY), 0);
	/* 16 chunks and 8 turns: two each, and one more where the burst begins in the middle of
	 * one. */
	cr_expect_leq(most, all / 4, "%lu of %lu bytes in one turn", most, all);
	for (int turn = 16; turn < 24; turn++)
		cr_expect_eq(given[turn], 0, "turn %d", turn);
}

Test(decay, turns_that_were_missed_are_made_up_for)
{
	make_dirty(10);
	after_ms(0);
	after_ms(3000);
	cr_assert_eq(resting(BEDROCK_REST_DIRTY), 0);
}
