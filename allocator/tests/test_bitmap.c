/* SPDX-License-Identifier: MIT */
/*
 * Page bit maps: ranges that cross words, runs at both ends, and agreement with a naive model.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bitmap.h"

static struct bedrock_range range(uint32_t first, uint32_t count)
{
	return (struct bedrock_range){ .first = first, .count = count };
}

Test(bitmap, set_across_words_counts_each_bit_that_changed)
{
	struct bedrock_bitmap map = { { 0 } };

	cr_assert_eq(bedrock_bitmap_set(&map, range(60, 140)), 140);
	cr_assert_eq(bedrock_bitmap_set(&map, range(50, 20)), 10);
	cr_assert_eq(bedrock_bitmap_count(&map, range(0, 1024)), 150);
	cr_assert_eq(bedrock_bitmap_clear(&map, range(0, 1024)), 150);
}

Test(bitmap, empty_range_changes_nothing)
{
	struct bedrock_bitmap map = { { 0 } };

	cr_assert_eq(bedrock_bitmap_set(&map, range(64, 0)), 0);
	cr_assert_eq(bedrock_bitmap_count(&map, range(0, 1024)), 0);
}

Test(bitmap, next_finds_the_last_bit_and_then_none)
{
	struct bedrock_bitmap map = { { 0 } };

	bedrock_bitmap_set(&map, range(1023, 1));
	cr_assert_eq(bedrock_bitmap_next_set(&map, 0), 1023);
	cr_assert_eq(bedrock_bitmap_next_set(&map, 1023), 1023);
	cr_assert_eq(bedrock_bitmap_next_set(&map, 1024), BEDROCK_BITMAP_BITS);
	cr_assert_eq(bedrock_bitmap_next_clear(&map, 1023), BEDROCK_BITMAP_BITS);
}

Test(bitmap, clear_run_reaches_to_both_neighbours_and_both_ends)
{
	struct bedrock_bitmap map = { { 0 } };

	bedrock_bitmap_set(&map, range(100, 1));
	bedrock_bitmap_set(&map, range(700, 1));
	struct bedrock_range run = bedrock_bitmap_clear_run(&map, 300);

	cr_assert_eq(run.first, 101);
	cr_assert_eq(run.count, 599);
	cr_assert_eq(bedrock_bitmap_clear_run(&map, 0).count, 100);
	cr_assert_eq(bedrock_bitmap_clear_run(&map, 1023).first, 701);
	cr_assert_eq(bedrock_bitmap_clear_run(&map, 1023).count, 323);
}

Test(bitmap, find_clear_respects_alignment_and_the_end)
{
	struct bedrock_bitmap map = { { 0 } };

	bedrock_bitmap_set(&map, range(0, 17));
	cr_assert_eq(bedrock_bitmap_find_clear(&map, 4, 1), 17);
	cr_assert_eq(bedrock_bitmap_find_clear(&map, 4, 16), 32);
	cr_assert_eq(bedrock_bitmap_find_clear(&map, 512, 512), 512);
	cr_assert_eq(bedrock_bitmap_find_clear(&map, 1007, 1), 17);
	cr_assert_eq(bedrock_bitmap_find_clear(&map, 1008, 1), BEDROCK_BITMAP_BITS);
}

/* The first longest run of zero bytes. */
static struct bedrock_range naive_longest(const uint8_t *model)
{
	struct bedrock_range longest = { .first = 0, .count = 0 };
	uint32_t length = 0;

	for (uint32_t bit = 0; bit < BEDROCK_BITMAP_BITS; bit++) {
		length = model[bit] ? 0 : length + 1;
		if (length > longest.count)
			longest = range(bit + 1 - length, length);
	}
	return longest;
}

Test(bitmap, random_ranges_agree_with_a_byte_per_bit)
{
	static uint8_t model[BEDROCK_BITMAP_BITS];
	struct bedrock_bitmap map = { { 0 } };
	uint32_t random = 1;

	for (int i = 0; i < 3000; i++) {
		random = random * 1664525 + 1013904223;
		uint32_t first = random >> 8 & 1023;
		uint32_t count = (random >> 20) % (1025 - first);
		uint8_t value = random >> 31;

		if (value)
			bedrock_bitmap_set(&map, range(first, count));
		else
			bedrock_bitmap_clear(&map, range(first, count));
		memset(model + first, value, count);
		for (uint32_t bit = 0; bit < BEDROCK_BITMAP_BITS; bit += 13)
			cr_assert_eq(bedrock_bitmap_test(&map, bit), model[bit]);
		struct bedrock_range longest = bedrock_bitmap_longest_clear(&map);

		cr_assert_eq(longest.count, naive_longest(model).count);
		cr_assert_eq(longest.first, naive_longest(model).first);
	}
}
