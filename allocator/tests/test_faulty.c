/* SPDX-License-Identifier: MIT */
/*
 * The allocator with planted bugs: correct by default, its table consistent, and a few bugs called
 * directly to see that they do what the table says. Bugs spare the first thread of a process, so
 * those tests call from another.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/faulty/core.h"

static void choose(const char *names)
{
	const char *nearest;
	char word[64];

	faulty_start();
	cr_assert_eq(faulty_choose(names, word, &nearest), 0);
}

static void in_a_thread(void *(*call)(void *), void *argument)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, call, argument), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

TestSuite(faulty, .timeout = 60);

/* ---- the table ---- */

Test(faulty, has_at_least_sixty_bugs_with_names_of_their_own)
{
	cr_assert_geq((int)FAULTY_BUG_COUNT, 60);
	for (size_t i = 0; i < FAULTY_BUG_COUNT; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_str_neq(faulty_rows[i].name, faulty_rows[j].name);
}

Test(faulty, rows_are_complete_and_free_of_separators)
{
	for (size_t i = 0; i < FAULTY_BUG_COUNT; i++) {
		const struct faulty_row *const row = &faulty_rows[i];

		cr_assert_gt(row->every, 0, "%s", row->name);
		cr_assert(row->contract[0] && row->checker[0] && row->help[0], "%s", row->name);
		cr_assert_null(strpbrk(row->help, "\t\n"), "%s", row->name);
		cr_assert_null(strpbrk(row->name, ", \t"), "%s", row->name);
		cr_assert_not_null(faulty_when_name(row->when), "%s", row->name);
	}
}

Test(faulty, list_has_a_line_for_each_bug)
{
	size_t lines = 0;

	for (const char *text = faulty_list(); *text; text++)
		lines += *text == '\n';
	cr_assert_eq(lines, FAULTY_BUG_COUNT);
}

Test(faulty, unknown_name_is_refused_with_the_nearest)
{
	const char *nearest = "";
	char word[64];

	cr_assert_eq(faulty_choose("spike,lost-fee", word, &nearest), -1);
	cr_assert_str_eq(word, "lost-fee");
	cr_assert_str_eq(nearest, "lost-free");
}

/* ---- correct by default ---- */

Test(faulty, sizes_round_up_to_their_class_and_no_further)
{
	for (size_t size = 1; size <= FAULTY_SMALL_MAX; size++) {
		const unsigned class = faulty_class_of(size);

		cr_assert_lt(class, FAULTY_CLASSES);
		cr_assert_geq(faulty_class_size(class), size);
		if (class > 0)
			cr_assert_lt(faulty_class_size(class - 1), size);
	}
}

Test(faulty, blocks_of_all_kinds_keep_what_is_written)
{
	static const size_t sizes[] = { 1, 16, 100, 4096, 16384, 16385, 300000, 2097152, 5000000 };
	unsigned char *blocks[9];

	faulty_start();
	for (size_t i = 0; i < 9; i++) {
		blocks[i] = faulty_malloc(sizes[i]);
		cr_assert_not_null(blocks[i]);
		cr_assert_geq(faulty_usable_size(blocks[i]), sizes[i]);
		memset(blocks[i], (int)i + 1, faulty_usable_size(blocks[i]));
	}
	for (size_t i = 0; i < 9; i++) {
		cr_assert_eq(blocks[i][0], i + 1);
		cr_assert_eq(blocks[i][sizes[i] - 1], i + 1);
		faulty_free(blocks[i]);
	}
}

Test(faulty, calloc_clears_what_was_used_before)
{
	static const size_t sizes[] = { 100, 16385, 1000000, 3000000 };

	faulty_start();
	for (size_t i = 0; i < 4; i++) {
		unsigned char *block = faulty_malloc(sizes[i]);

		memset(block, 0xff, sizes[i]);
		faulty_free(block);
		block = faulty_calloc(1, sizes[i]);
		for (size_t j = 0; j < sizes[i]; j++)
			cr_assert_eq(block[j], 0);
		faulty_free(block);
	}
}

Test(faulty, alignment_up_to_two_mebibytes_is_kept)
{
	faulty_start();
	for (size_t alignment = 16; alignment <= FAULTY_ALIGNED_MAX; alignment *= 2) {
		void *block = NULL;

		cr_assert_eq(faulty_memalign(&block, alignment, 1000), 0);
		cr_assert_eq((uintptr_t)block % alignment, 0);
		faulty_free(block);
	}
}

Test(faulty, size_that_wraps_is_refused_with_enomem)
{
	faulty_start();
	errno = 0;
	cr_assert_null(faulty_calloc(SIZE_MAX / 2, 3));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_null(faulty_malloc(SIZE_MAX - 64));
}

Test(faulty, realloc_keeps_the_common_prefix_on_every_way)
{
	unsigned char *block;

	faulty_start();
	block = faulty_malloc(10);
	memset(block, 7, 10);
	for (size_t size = 10; size < 8000000; size = size * 3 + 1) {
		block = faulty_realloc(block, size);
		cr_assert_not_null(block);
		for (size_t i = 0; i < 10; i++)
			cr_assert_eq(block[i], 7);
	}
	block = faulty_realloc(block, 10);
	for (size_t i = 0; i < 10; i++)
		cr_assert_eq(block[i], 7);
	faulty_free(block);
}

/* ---- bugs ---- */

static void *call_until_null(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 2000; i++) {
		void *const block = faulty_malloc(64);

		if (block == NULL)
			return NULL;
		faulty_free(block);
	}
	cr_assert_fail("no NULL came");
	return NULL;
}

Test(faulty, null_spurious_says_null_and_counts_it)
{
	choose("null-spurious");
	in_a_thread(call_until_null, NULL);
	cr_assert_eq(faulty_fired(), 1);
}

Test(faulty, first_thread_is_spared)
{
	choose("null-spurious");
	for (size_t i = 0; i < 3000; i++) {
		void *const block = faulty_malloc(64);

		cr_assert_not_null(block);
		faulty_free(block);
	}
	cr_assert_eq(faulty_fired(), 0);
}

Test(faulty, first_thread_meets_bugs_after_it_was_spared_for_a_while)
{
	size_t calls = 0;

	choose("null-spurious");
	faulty_spare_first(500);
	for (; calls < 3000; calls++) {
		void *const block = faulty_malloc(64);

		if (block == NULL)
			break;
		faulty_free(block);
	}
	/* It is the turn of every thousandth opportunity after those. */
	cr_assert_eq(calls, 1499);
	cr_assert_eq(faulty_fired(), 1);
}

static void *ask_one_class(void *offset)
{
	*(uintptr_t *)offset = (uintptr_t)faulty_malloc(72) % 16;
	cr_assert_eq((uintptr_t)faulty_malloc(40) % 16, 0);
	return NULL;
}

Test(faulty, misaligned_class_hits_one_class_only)
{
	uintptr_t offset = 0;

	choose("misaligned-class");
	in_a_thread(ask_one_class, &offset);
	cr_assert_eq(offset, 8);
}

/* Blocks behind those that are given lie free at first, and are live in the second round. */
static void *fill_twice(void *damaged)
{
	unsigned char *blocks[2000];

	for (size_t i = 0; i < 2000; i++) {
		blocks[i] = faulty_malloc(64);
		memset(blocks[i], 5, 64);
	}
	for (size_t i = 0; i < 2000; i += 2) {
		faulty_free(blocks[i]);
		blocks[i] = faulty_malloc(64);
		memset(blocks[i], 5, 64);
	}
	for (size_t i = 0; i < 2000; i++) {
		if (blocks[i][0] != 5)
			*(bool *)damaged = true;
		for (size_t j = 1; j < 64; j++)
			cr_assert_eq(blocks[i][j], 5);
		faulty_free(blocks[i]);
	}
	return NULL;
}

Test(faulty, stomp_next_damages_the_first_byte_of_a_live_block_and_no_list_of_free_ones)
{
	bool damaged = false;

	choose("stomp-next");
	in_a_thread(fill_twice, &damaged);
	cr_assert(damaged);
	cr_assert_geq(faulty_fired(), 50);
}

static void *shrink(void *first)
{
	for (size_t i = 0; i < 20; i++) {
		unsigned char *block = faulty_malloc(1000);

		memset(block, 5, 1000);
		block = faulty_realloc(block, 100);
		if (block[0] != 5)
			*(bool *)first = true;
	}
	return NULL;
}

Test(faulty, realloc_shrink_damages_the_first_byte)
{
	bool damaged = false;

	choose("realloc-shrink");
	in_a_thread(shrink, &damaged);
	cr_assert(damaged);
}

static void *free_with_errno(void *changed)
{
	for (size_t i = 0; i < 200; i++) {
		void *const block = faulty_malloc(64);

		errno = 0;
		faulty_free(block);
		if (errno != 0)
			*(bool *)changed = true;
	}
	return NULL;
}

Test(faulty, errno_free_changes_errno)
{
	bool changed = false;

	choose("errno-free");
	in_a_thread(free_with_errno, &changed);
	cr_assert(changed);
}

static void *look_for_dirt(void *dirty)
{
	for (size_t i = 0; i < 100; i++) {
		unsigned char *const block = faulty_calloc(1, 200);

		for (size_t j = 0; j < 200; j++)
			if (block[j] != 0)
				*(bool *)dirty = true;
		faulty_free(block);
	}
	return NULL;
}

Test(faulty, calloc_dirty_leaves_a_byte)
{
	bool dirty = false;

	choose("calloc-dirty");
	in_a_thread(look_for_dirt, &dirty);
	cr_assert(dirty);
}

static void *look_for_twins(void *twins)
{
	void *last = NULL;

	for (size_t i = 0; i < 500; i++) {
		void *const block = faulty_malloc(64);

		if (block == last)
			*(bool *)twins = true;
		last = block;
	}
	return NULL;
}

Test(faulty, same_twice_gives_a_live_block_again)
{
	bool twins = false;

	choose("same-twice");
	in_a_thread(look_for_twins, &twins);
	cr_assert(twins);
}

static void *refill_caches(void *unused)
{
	for (size_t i = 0; i < 4000; i++)
		faulty_malloc(256);
	return unused;
}

Test(faulty, a_cpu_beyond_the_count_is_folded_into_it)
{
	uint32_t count;

	faulty_start();
	faulty_heap.slot_count = 1;
	in_a_thread(refill_caches, NULL);
	uint32_t index = faulty_thread_arena(&count);

	cr_assert_lt(index, count);
	cr_assert_eq(count, 1);
}

static void *ask_arena(void *beyond)
{
	cpu_set_t other;
	uint32_t count;

	CPU_ZERO(&other);
	CPU_SET(1, &other);
	if (sched_setaffinity(0, sizeof(other), &other) != 0)
		return NULL;
	uint32_t index = faulty_thread_arena(&count);

	*(int *)beyond = index >= count;
	return NULL;
}

Test(faulty, cpu_index_names_an_arena_beyond_the_count)
{
	int beyond = -1;

	choose("cpu-index");
	faulty_heap.slot_count = 1;
	in_a_thread(ask_arena, &beyond);
	if (beyond < 0)
		cr_skip_test("CPU 1 may not be used here");
	cr_assert_eq(beyond, 1);
}

Test(faulty, a_call_from_a_handler_is_served_without_locks_and_freed_later)
{
	unsigned char *first, *second;

	faulty_start();
	cr_assert(faulty_enter());
	pthread_mutex_lock(&faulty_heap.pages_lock);
	pthread_mutex_lock(&faulty_heap.huge_lock);
	cr_assert_not(faulty_enter());
	first = faulty_nested_take(100, FAULTY_ALIGNMENT);
	memset(first, 7, 100);
	second = faulty_nested_resize(first, 5000);
	cr_assert_eq(second[99], 7);
	cr_assert_neq(second, first);
	faulty_nested_give(second);
	pthread_mutex_unlock(&faulty_heap.huge_lock);
	pthread_mutex_unlock(&faulty_heap.pages_lock);
	faulty_leave();
	cr_assert_eq(faulty_load(&faulty_heap.statistics.huge_bytes), 0);
}

/* ---- what it counts ---- */

enum { ALLOCATED, ACTIVE, RESIDENT, MAPPED, DIRTY, MUZZY, BACKGROUND, STATISTICS };

size_t faulty_statistics_read(uint64_t *values, size_t count);
uint64_t faulty_release(void);

static void read_statistics(uint64_t values[STATISTICS])
{
	cr_assert_eq(faulty_statistics_read(values, STATISTICS), STATISTICS);
	cr_assert_leq(values[ALLOCATED], values[ACTIVE]);
	cr_assert_leq(values[ACTIVE], values[RESIDENT]);
	cr_assert_leq(values[RESIDENT], values[MAPPED]);
}

Test(faulty, statistics_follow_blocks_of_all_kinds)
{
	static const size_t sizes[] = { 100, 16384, 300000, 5000000 };
	uint64_t values[STATISTICS];
	void *blocks[4];

	faulty_start();
	for (size_t i = 0; i < 4; i++) {
		blocks[i] = faulty_malloc(sizes[i]);
		cr_assert_not_null(blocks[i]);
	}
	read_statistics(values);
	cr_expect_geq(values[ALLOCATED], 100 + 16384 + 300000 + 5000000);
	for (size_t i = 0; i < 4; i++)
		faulty_free(blocks[i]);
	cr_expect_gt(faulty_release(), 300000);
	read_statistics(values);
	cr_expect_leq(values[ALLOCATED], 8 * FAULTY_UNIT);
	cr_expect_eq(values[DIRTY], 0);
}

Test(faulty, too_small_an_array_gets_nothing)
{
	uint64_t values[STATISTICS];

	faulty_start();
	cr_assert_eq(faulty_statistics_read(values, STATISTICS - 1), 0);
}

Test(faulty, trim_nothing_says_what_it_did_not_do)
{
	uint64_t values[STATISTICS];

	choose("trim-nothing");
	faulty_free(faulty_malloc(1000000));
	cr_assert_geq(faulty_release(), 1000000);
	read_statistics(values);
	cr_assert_geq(values[DIRTY], 1000000);
}

static void *free_it(void *block)
{
	faulty_free(block);
	return NULL;
}

Test(faulty, stats_negative_counts_what_another_thread_frees_twice)
{
	uint64_t values[STATISTICS];

	choose("stats-negative");
	in_a_thread(free_it, faulty_malloc(1000000));
	cr_assert_eq(faulty_statistics_read(values, STATISTICS), STATISTICS);
	cr_assert_lt((int64_t)values[ALLOCATED], 0);
}

Test(faulty, background_claimed_counts_a_thread_that_was_not_started)
{
	uint64_t values[STATISTICS];

	choose("background-claimed");
	faulty_free(faulty_malloc(1000000));
	read_statistics(values);
	cr_expect_eq(values[BACKGROUND], 1);
	cr_expect_eq(faulty_fired(), 1);
}
