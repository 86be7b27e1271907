/* SPDX-License-Identifier: MIT */
/*
 * The map of live blocks: what it says of blocks, of what is inside of them, near and far.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/live.h"
#include "allocator/bedrock/os.h"
#include "allocator/tests/faults.h"

static const void *at(uintptr_t address)
{
	return (const void *)address;
}

/* Built with the gates, malloc itself notes its blocks; what is tested here is the map. */
static char *block_of(size_t bytes)
{
	char *block = bedrock_malloc(bytes);

	cr_assert_not_null(block);
	(void)bedrock_live_add(block);
	return block;
}

Test(live, block_is_added_once_and_removed_once)
{
	cr_assert(bedrock_live_add(at(0x7f0000000010)));
	cr_assert_not(bedrock_live_add(at(0x7f0000000010)));
	cr_assert(bedrock_live_remove(at(0x7f0000000010)));
	cr_assert_not(bedrock_live_remove(at(0x7f0000000010)));
	cr_assert(bedrock_live_add(at(0x7f0000000010)));
}

Test(live, neighbours_do_not_touch_each_other)
{
	for (uintptr_t i = 0; i < 1000; i++)
		cr_assert(bedrock_live_add(at(0x7f00003ff000 + 16 * i)));
	for (uintptr_t i = 0; i < 1000; i += 2)
		cr_assert(bedrock_live_remove(at(0x7f00003ff000 + 16 * i)));
	for (uintptr_t i = 0; i < 1000; i++)
		cr_assert_eq(bedrock_live_remove(at(0x7f00003ff000 + 16 * i)), i % 2 == 1);
}

Test(live, no_block_begins_between_two_grains)
{
	cr_assert(bedrock_live_add(at(0x7f0000000010)));
	cr_assert_not(bedrock_live_remove(at(0x7f0000000018)));
	cr_assert(bedrock_live_remove(at(0x7f0000000010)));
}

Test(live, ends_of_the_address_space_are_places_like_others)
{
	cr_assert(bedrock_live_add(at(0x10)));
	cr_assert(bedrock_live_remove(at(0x10)));
	cr_assert(bedrock_live_add(at(0xfffffffffff0)));
	cr_assert(bedrock_live_remove(at(0xfffffffffff0)));
	cr_assert_not(bedrock_live_remove(at(0xfffffffffffffff0)));
}

Test(live, what_is_inside_of_a_block_leads_to_its_start)
{
	static const size_t sizes[] = { 16, 100, 5000, 100000, 1000000, 9 << 20 };
	void *start;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = block_of(sizes[i]);

		cr_assert_eq(bedrock_live_find(block, &start), BEDROCK_LIVE_BLOCK);
		cr_assert_eq(bedrock_live_find(block + 1, &start), BEDROCK_LIVE_INSIDE);
		cr_assert_eq(start, (void *)block);
		cr_assert_eq(bedrock_live_find(block + sizes[i] - 1, &start), BEDROCK_LIVE_INSIDE);
		cr_assert_eq(start, (void *)block);
	}
}

Test(live, what_is_behind_a_block_is_not_in_it)
{
	char *block = block_of(100000);
	void *start;

	cr_assert_eq(bedrock_live_find(block + bedrock_malloc_usable_size(block), &start),
		     BEDROCK_LIVE_FREE);
}

Test(live, where_no_block_ever_was_is_foreign)
{
	char *block = block_of(100);
	void *start;
	int local;

	cr_assert_eq(bedrock_live_find(&local, &start), BEDROCK_LIVE_FOREIGN);
	cr_assert_eq(bedrock_live_find(NULL, &start), BEDROCK_LIVE_FOREIGN);
	cr_assert_eq(bedrock_live_find(at((uintptr_t)block / 2), &start), BEDROCK_LIVE_FOREIGN);
}

Test(live, without_memory_for_the_map_nothing_is_judged)
{
	fault_install();
	faults.mmap.error = ENOMEM;
	cr_assert(bedrock_live_add(at(0x7f0000000010)));
	cr_assert(bedrock_live_add(at(0x7f0000000010)));
	cr_assert(bedrock_live_remove(at(0x7f0000000010)));
	cr_assert(bedrock_live_remove(at(0x7f0000000020)));
	cr_assert_gt(faults.mmap.hit, 0);
}
