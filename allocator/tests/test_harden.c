/* SPDX-License-Identifier: MIT */
/*
 * Hardening: each misuse that an option is there to find ends a child with a line that names it,
 * and what is right passes in silence; freed memory is cleared or filled where somebody asked for
 * it.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/harden.h"
#include "allocator/bedrock/link.h"
#include "allocator/tests/victim.h"

#define LARGE_BYTES ((size_t)300000)
#define HUGE_BYTES  ((size_t)5 << 20)

/* Addresses are kept where the compiler does not follow them. */
static char *volatile kept;

/* As if the process had been started with these options. */
static void harden(const char *conf)
{
	cr_assert_eq(bedrock_options_parse(&bedrock_heap.options, conf), 0);
	bedrock_harden_start(&bedrock_heap);
}

static bool is_all(const char *start, size_t bytes, char byte)
{
	for (size_t i = 0; i < bytes; i++) {
		if (start[i] != byte)
			return false;
	}
	return true;
}

/* Every size of block, in and out, on the way through realloc, and from thread to thread. */
static void *work(void *argument)
{
	static const size_t sizes[] = { 0, 16, 48, 100, 1000, 5000, 60000, 100000, 3 << 20 };
	char *blocks[9][40];

	(void)argument;
	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < 9 * 40; i++) {
			size_t bytes = sizes[i % 9];

			blocks[i % 9][i / 9] =
				i % 2 ? bedrock_malloc(bytes) : bedrock_calloc(1, bytes);
			cr_assert(blocks[i % 9][i / 9]);
			memset(blocks[i % 9][i / 9], i, bytes);
		}
		for (int i = 0; i < 9 * 40; i += 3) {
			char **block = &blocks[i % 9][i / 9];
			size_t bytes = sizes[i % 9];

			*block = bedrock_realloc(*block, bytes + bytes / 2 + 1);
			cr_assert(*block && is_all(*block, bytes, (char)i));
			*block = bedrock_realloc(*block, bytes / 2 + 1);
			cr_assert(*block && is_all(*block, bytes / 2, (char)i));
		}
		for (int i = 0; i < 9 * 40; i++)
			bedrock_free(blocks[i % 9][i / 9]);
		bedrock_free(bedrock_aligned_alloc(256, 300));
	}
	return NULL;
}

static void work_on_threads(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	bedrock_purge();
	work(NULL);
}

/* ---- links ---- */

/* Two blocks that lie side by side, both free; the first is written beyond. */
static void free_neighbours(size_t overrun_at, size_t overrun_bytes)
{
	char *blocks[8];

	for (int i = 0; i < 8; i++)
		blocks[i] = bedrock_malloc(112);
	kept = blocks[3];
	/* The last one freed is the first to be taken, and its link the first to be followed. */
	for (int i = 0; i < 8; i++)
		bedrock_free(blocks[i]);
	for (int i = 0; i < 8; i++) {
		for (size_t at = 0; at < overrun_bytes; at++)
			blocks[i][overrun_at + at] ^= 0x41;
	}
	for (int i = 0; i < 100; i++)
		kept = bedrock_malloc(112);
}

static void write_a_word_late(void)
{
	free_neighbours(0, 8);
}

static void write_a_byte_late(void)
{
	free_neighbours(0, 1);
}

static void write_a_high_byte_late(void)
{
	free_neighbours(7, 1);
}

static void point_a_link_at_the_stack(void)
{
	static uintptr_t target[64];
	void *block = bedrock_malloc(112);

	bedrock_free(bedrock_malloc(112));
	bedrock_free(block);
	*(uintptr_t **)block = target;
	for (int i = 0; i < 100; i++) {
		kept = bedrock_malloc(112);
		if (kept == (char *)target)
			_exit(1);
	}
}

Test(harden, a_protected_link_that_was_written_to_ends_the_process)
{
	harden("protect_links:true");
	victim_dies(write_a_word_late, SIGABRT, "broken link of 0x", "a free block of 112 bytes");
	victim_dies(write_a_byte_late, SIGABRT, "broken link of 0x", "it held 0x");
	victim_dies(write_a_high_byte_late, SIGABRT, "broken link of 0x", "it held 0x");
	victim_dies(point_a_link_at_the_stack, SIGABRT, "broken link of 0x", "in the slab 0x");
}

Test(harden, a_protected_link_is_no_pointer_and_nobody_gets_to_see_it)
{
	harden("protect_links:true");
	uintptr_t *first = bedrock_malloc(112);
	uintptr_t *second = bedrock_malloc(112);

	bedrock_free(first);
	bedrock_free(second);
	cr_assert_neq(second[0], (uintptr_t)first);
	cr_assert_eq(bedrock_link_next(second), first);
	cr_assert_eq(bedrock_malloc(112), second);
	cr_assert(BEDROCK_DEBUG >= 3 || second[0] == 0);
}

Test(harden, without_protection_a_link_is_the_pointer_that_the_fast_paths_follow)
{
	uintptr_t *first = bedrock_malloc(112);
	uintptr_t *second = bedrock_malloc(112);

	bedrock_free(first);
	bedrock_free(second);
	cr_assert_eq(second[0], (uintptr_t)first);
}

static void zero_a_free_block(void)
{
	char *blocks[8];

	for (int i = 0; i < 8; i++)
		blocks[i] = bedrock_malloc(112);
	for (int i = 0; i < 8; i++)
		bedrock_free(blocks[i]);
	memset(blocks[7], 0, 112);
	for (int i = 0; i < 100; i++)
		kept = bedrock_malloc(112);
}

Test(harden, a_list_cut_short_is_noticed_where_the_fast_paths_are_closed)
{
	harden("zero_on_free:true");
	victim_dies(zero_a_free_block, SIGABRT, "a list of free blocks of 112 bytes", "ends early");
}

static void free_between_blocks(void)
{
	char *blocks[2000];

	for (int i = 0; i < 2000; i++)
		blocks[i] = bedrock_malloc(112);
	for (int i = 0; i < 2000; i++)
		bedrock_free(blocks[i] + 16);
}

Test(harden, frees_inside_of_small_blocks_are_noticed_in_every_build)
{
	victim_dies(free_between_blocks, SIGABRT, "free of 0x", "is inside of the block 0x");
}

/* ---- the map of live blocks ---- */

static void free_twice(void)
{
	void *block = bedrock_malloc(100);

	bedrock_free(block);
	bedrock_free(block);
}

static void free_the_middle(void)
{
	bedrock_free((char *)bedrock_malloc(100) + 16);
}

static void free_the_middle_of_a_free_one(void)
{
	char *block = bedrock_malloc(100);

	bedrock_free(block);
	bedrock_free(block + 16);
}

/* Memory of the program's own, four MiB below which there is some as well. */
static void free_the_programs_own(void)
{
	char *map =
		mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	bedrock_free(map + (8 << 20));
}

static void resize_a_free_one(void)
{
	void *block = bedrock_malloc(100);

	bedrock_free(block);
	kept = bedrock_realloc(block, 1000);
}

static void measure_a_free_one(void)
{
	void *block = bedrock_malloc(100);

	bedrock_free(block);
	kept = (char *)bedrock_malloc_usable_size(block);
}

static void *free_it(void *block)
{
	bedrock_free(block);
	return NULL;
}

static void free_on_two_threads(void)
{
	void *block = bedrock_malloc(100);
	pthread_t thread;

	pthread_create(&thread, NULL, free_it, block);
	pthread_join(thread, NULL);
	bedrock_free(block);
}

static void free_a_large_one_twice(void)
{
	void *block = bedrock_malloc(LARGE_BYTES);

	bedrock_free(block);
	bedrock_free(block);
}

Test(harden, what_is_freed_twice_or_never_was_a_block_is_named)
{
	harden("check_small:true");
	victim_dies(free_twice, SIGABRT, "free of 0x", "is free already: a block of 112 bytes");
	victim_dies(free_on_two_threads, SIGABRT, "free of 0x", "is free already");
	victim_dies(free_the_middle, SIGABRT, "free of 0x", "inside of the block 0x");
	victim_dies(free_the_middle_of_a_free_one, SIGABRT, "inside of the free block 0x", "112");
	victim_dies(free_the_programs_own, SIGABRT, "free of 0x", "which is not from here");
	victim_dies(resize_a_free_one, SIGABRT, "realloc of 0x", "is free already");
	victim_dies(measure_a_free_one, SIGABRT, "size of 0x", "is free already");
	victim_dies(free_a_large_one_twice, SIGABRT, "free of 0x", "which is no block");
}

/* ---- what freed memory holds ---- */

Test(harden, freed_memory_is_zero_whatever_its_size)
{
	static const size_t sizes[] = { 16, 100, 5000, LARGE_BYTES, HUGE_BYTES };

	harden("zero_on_free:true,background_thread:false");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = bedrock_malloc(sizes[i]);

		size_t usable_bytes = bedrock_malloc_usable_size(block);

		memset(block, 0xff, usable_bytes);
		bedrock_free(block);
		cr_assert(is_all(block + 8, usable_bytes - 8, 0), "of %zu bytes", sizes[i]);
		/* But for the link, which is gone when it is given again. */
		char *again = bedrock_malloc(sizes[i]);

		cr_assert_eq(again, block, "of %zu bytes", sizes[i]);
		cr_assert(BEDROCK_DEBUG >= 3 || is_all(again, usable_bytes, 0), "of %zu bytes",
			  sizes[i]);
	}
}

Test(harden, what_a_block_is_shortened_by_is_zero)
{
	static const size_t sizes[] = { 100, 5000, LARGE_BYTES, HUGE_BYTES };

	harden("zero_on_free:true,background_thread:false");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = bedrock_malloc(sizes[i]);
		size_t usable_bytes = bedrock_malloc_usable_size(block);
		size_t bytes = sizes[i] - sizes[i] / 16;

		memset(block, 0xff, usable_bytes);
		cr_assert_eq(bedrock_realloc(block, bytes), block);
		cr_assert(is_all(block, bytes, (char)0xff));
		usable_bytes = bedrock_malloc_usable_size(block);
		cr_assert(is_all(block + bytes, usable_bytes - bytes, 0), "of %zu bytes", sizes[i]);
	}
}

Test(harden, junk_fills_what_is_given_and_what_comes_back)
{
	harden("junk:true");
	char *block = bedrock_malloc(1000);
	char *large = bedrock_malloc(LARGE_BYTES);

	cr_assert(is_all(block, 1000, (char)0xa5));
	cr_assert(is_all(large, LARGE_BYTES, (char)0xa5));
	cr_assert(is_all(bedrock_calloc(1, 1000), 1000, 0));
	memset(block, 1, 1000);
	bedrock_free(block);
	cr_assert(is_all(block + 8, 992, 0x5a));
	large = bedrock_realloc(large, LARGE_BYTES + 100000);
	cr_assert(is_all(large + LARGE_BYTES, 100000, (char)0xa5));
}

Test(harden, junk_may_be_for_one_of_the_two)
{
	harden("junk:alloc");
	char *block = bedrock_malloc(1000);

	cr_assert(is_all(block, 1000, (char)0xa5));
	bedrock_free(block);
	cr_assert(BEDROCK_DEBUG >= 3 || is_all(block + 8, 992, (char)0xa5));
	bedrock_heap.options.junk = BEDROCK_JUNK_FREE;
	block = bedrock_malloc(1000);
	memset(block, 1, 1000);
	bedrock_free(block);
	cr_assert(is_all(block + 8, 992, 0x5a));
}

Test(harden, zero_on_free_goes_before_junk)
{
	harden("zero_on_free:true,junk:true");
	char *block = bedrock_malloc(1000);

	cr_assert(is_all(block, 1000, (char)0xa5));
	bedrock_free(block);
	cr_assert(is_all(block + 8, 992, 0));
}

/* ---- all of them ---- */

ParameterizedTestParameters(harden, a_program_without_faults_is_left_alone)
{
	static const char confs[][80] = {
		"",
		"protect_links:true",
		"check_small:true",
		"zero_on_free:true",
		"guard_pages:3",
		"junk:true",
		"protect_links:true,check_small:true,zero_on_free:true,junk:alloc",
		"protect_links:true,check_small:true,junk:true,guard_pages:2",
		"protect_links:true,check_small:true,zero_on_free:true,tcache:false",
	};

	return cr_make_param_array(const char[80], confs, sizeof(confs) / sizeof(confs[0]));
}

ParameterizedTest(const char *conf, harden, a_program_without_faults_is_left_alone)
{
	harden(conf);
	victim_lives(work_on_threads);
	work_on_threads();
}

Test(harden, with_every_option_nothing_is_left_in_use_at_the_end)
{
	struct bedrock_stats stats;

	harden("protect_links:true,check_small:true,zero_on_free:true,background_thread:false");
	work_on_threads();
	bedrock_purge();
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(harden, options_that_come_after_the_first_block_are_refused_if_they_must_know_all)
{
	kept = bedrock_malloc(100);
	harden("protect_links:true,check_small:true,zero_on_free:true");
	cr_assert_not(bedrock_heap.options.is_check_small);
	cr_assert_not(bedrock_heap.options.is_protect_links);
	memset(kept, 0xff, 112);
	bedrock_free(kept);
	cr_assert(is_all(kept + 8, 104, 0));
	cr_assert_not_null(bedrock_malloc(100));
}

Test(harden, options_are_read_and_bad_values_are_refused)
{
	struct bedrock_options options;

	bedrock_options_init(&options);
	cr_assert_eq(bedrock_options_parse(&options, "junk:free,check_small:true"), 0);
	cr_assert_eq(options.junk, BEDROCK_JUNK_FREE);
	cr_assert(options.is_check_small);
	cr_assert_eq(bedrock_options_parse(&options, "junk:yes,check_small:2"), 2);
	cr_assert_eq(bedrock_options_parse(&options, "zero_on_free:,protect_links"), 2);
}

Test(harden, options_can_be_asked_for)
{
	const char *junk = NULL;
	size_t bytes = sizeof(junk);
	bool flag = false;

	harden("junk:alloc,protect_links:true");
	cr_assert_eq(bedrock_ctl("opt.junk", &junk, &bytes, NULL, 0), 0);
	cr_assert_str_eq(junk, "alloc");
	bytes = sizeof(flag);
	cr_assert_eq(bedrock_ctl("opt.protect_links", &flag, &bytes, NULL, 0), 0);
	cr_assert(flag);
}
