/* SPDX-License-Identifier: MIT */
/*
 * Large blocks that are freed or resized twice, from their middle, or that never were: each ends
 * the process, and what is right does not.
 */
#include <criterion/criterion.h>
#include <signal.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/huge.h"
#include "allocator/bedrock/misuse.h"

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

Test(misuse, every_line_ends_the_process, .signal = SIGABRT)
{
	bedrock_misuse_inside("free", &(int){ 0 }, NULL, 5);
}
