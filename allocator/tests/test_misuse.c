/* SPDX-License-Identifier: MIT */
/*
 * Large blocks that are freed or resized twice, from their middle, or that never were: each ends
 * the process, and what is right does not. And the lines that such a process ends with.
 */
#include <criterion/criterion.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/huge.h"
#include "allocator/bedrock/misuse.h"
#include "allocator/tests/victim.h"

#define LARGE_BYTES ((size_t)100000)
#define HUGE_BYTES  ((size_t)10 << 20)

Test(misuse, a_large_block_freed_twice_ends_the_process, .signal = SIGABRT)
{
	void *block = bedrock_malloc(LARGE_BYTES);

	bedrock_free(block);
	bedrock_free(block);
}

Test(misuse, a_huge_block_freed_twice_ends_the_process, .signal = SIGABRT)
{
	void *block = bedrock_malloc(HUGE_BYTES);

	bedrock_free(block);
	bedrock_free(block);
}

Test(misuse, a_free_inside_the_first_page_of_a_large_block_ends_the_process, .signal = SIGABRT)
{
	bedrock_free((char *)bedrock_malloc(LARGE_BYTES) + 64);
}

Test(misuse, a_free_behind_the_first_page_of_a_large_block_ends_the_process, .signal = SIGABRT)
{
	bedrock_free((char *)bedrock_malloc(LARGE_BYTES) + 5000);
}

Test(misuse, a_free_inside_a_huge_block_ends_the_process, .signal = SIGABRT)
{
	bedrock_free((char *)bedrock_malloc(HUGE_BYTES) + 4096);
}

Test(misuse, a_realloc_of_a_freed_huge_block_ends_the_process, .signal = SIGABRT)
{
	void *block = bedrock_malloc(HUGE_BYTES);

	bedrock_free(block);
	cr_assert_null(bedrock_realloc(block, 2 * HUGE_BYTES));
}

Test(misuse, a_huge_block_begins_where_it_was_given_and_nowhere_once_freed)
{
	static const size_t aligns[] = { 16, 4096, 1 << 20, 4 << 20, 16 << 20 };

	for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
		char *block = bedrock_aligned_alloc(aligns[i], HUGE_BYTES);

		cr_assert_not_null(block);
		cr_assert(bedrock_huge_begins(block));
		cr_assert_not(bedrock_huge_begins(block + 16));
		cr_assert_not(bedrock_huge_begins(block + 4096));
		bedrock_free(block);
	}
	void *kept = bedrock_malloc(HUGE_BYTES);

	bedrock_free(kept);
	cr_assert_not(bedrock_huge_begins(kept));
}

Test(misuse, what_was_resized_to_another_place_is_freed_there)
{
	void *block = bedrock_malloc(LARGE_BYTES);

	for (size_t bytes = LARGE_BYTES; bytes < 40 * LARGE_BYTES; bytes += LARGE_BYTES)
		block = bedrock_realloc(block, bytes);
	block = bedrock_realloc(block, 3 * HUGE_BYTES);
	block = bedrock_realloc(block, HUGE_BYTES);
	block = bedrock_realloc(block, LARGE_BYTES);
	bedrock_free(block);
}

/* ---- what is said ---- */

static const void *const address = (const void *)0x1230;
static const void *const start = (const void *)0x1200;

static void say_no_block(void)
{
	bedrock_misuse_no_block("free", address);
}

static void say_free_block(void)
{
	bedrock_misuse_free_block("free", address, address, 112);
}

static void say_in_a_free_block(void)
{
	bedrock_misuse_free_block("free", address, start, 112);
}

static void say_inside(void)
{
	bedrock_misuse_inside("size", address, start, 112);
}

static void say_foreign(void)
{
	bedrock_misuse_foreign("realloc", address);
}

static void say_link(void)
{
	bedrock_misuse_link(address, start, 112, 0x41);
}

static void say_excess(void)
{
	bedrock_misuse_excess(start, 112);
}

static void say_list(void)
{
	bedrock_misuse_list(112);
}

static void say_given_twice(void)
{
	bedrock_misuse_given_twice(address);
}

Test(misuse, every_line_names_what_is_wrong_and_ends_the_process)
{
	victim_dies(say_no_block, SIGABRT, "free of 0x1230, which is no block: freed before", "\n");
	victim_dies(say_free_block, SIGABRT, "free of 0x1230, which is free already", "112 bytes");
	victim_dies(say_in_a_free_block, SIGABRT, "free of 0x1230, which is inside of the free",
		    "block 0x1200 of 112 bytes");
	victim_dies(say_inside, SIGABRT, "size of 0x1230, which is inside of the block",
		    "0x1200 of 112 bytes");
	victim_dies(say_foreign, SIGABRT, "realloc of 0x1230, which is not from here", "\n");
	victim_dies(say_link, SIGABRT, "broken link of 0x1230, a free block of 112 bytes",
		    "in the slab 0x1200: it held 0x41;");
	victim_dies(say_excess, SIGABRT, "the slab 0x1200 of blocks of 112 bytes", "freed twice");
	victim_dies(say_list, SIGABRT, "a list of free blocks of 112 bytes", "ends early");
	victim_dies(say_given_twice, SIGABRT, "second giving of 0x1230, which is in use", "broken");
}
