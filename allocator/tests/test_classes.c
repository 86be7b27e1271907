/* SPDX-License-Identifier: MIT */
/*
 * Size classes: every size gets the smallest class that holds it, and little is wasted.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/classes.h"

Test(classes, every_size_gets_the_smallest_class_that_holds_it)
{
	for (size_t bytes = 0; bytes <= BEDROCK_SMALL_MAX_BYTES; bytes++) {
		unsigned class_index = bedrock_class_for(bytes);

		cr_assert(class_index > 0 && class_index < BEDROCK_CLASS_COUNT);
		cr_assert_geq(bedrock_class_bytes(class_index), bytes);
		if (class_index > 1)
			cr_assert_lt(bedrock_class_bytes(class_index - 1), bytes);
	}
}

Test(classes, rounding_wastes_at_most_an_eighth_above_128_bytes)
{
	for (size_t bytes = 129; bytes <= BEDROCK_SMALL_MAX_BYTES; bytes++) {
		size_t waste_bytes = bedrock_class_bytes(bedrock_class_for(bytes)) - bytes;

		cr_assert_leq(waste_bytes * 8, bytes + waste_bytes, "%zu bytes", bytes);
	}
}

Test(classes, every_class_is_a_multiple_of_the_block_alignment)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		cr_assert_eq(bedrock_class_bytes(i) % BEDROCK_BLOCK_ALIGN_BYTES, 0);
}

Test(classes, aligned_class_holds_the_size_and_is_a_multiple_of_the_alignment)
{
	for (size_t align_bytes = 1; align_bytes <= BEDROCK_PAGE_BYTES; align_bytes *= 2) {
		for (size_t bytes = 0; bytes <= BEDROCK_SMALL_MAX_BYTES; bytes += 77) {
			unsigned i = bedrock_class_for_aligned(bytes, align_bytes);

			cr_assert_neq(i, BEDROCK_CLASS_NONE);
			cr_assert_geq(bedrock_class_bytes(i), bytes);
			cr_assert_eq(bedrock_class_bytes(i) % align_bytes, 0);
		}
	}
	cr_assert_eq(bedrock_class_for_aligned(1, 2 * BEDROCK_PAGE_BYTES), BEDROCK_CLASS_NONE);
	cr_assert_eq(bedrock_class_for_aligned(BEDROCK_SMALL_MAX_BYTES + 1, 1), BEDROCK_CLASS_NONE);
}

Test(classes, slab_leaves_at_most_a_sixteenth_over_and_fits_its_counters)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		size_t slab_bytes = bedrock_class_slab_pages(i) * BEDROCK_PAGE_BYTES;

		cr_assert_geq(slab_bytes, bedrock_class_bytes(i));
		cr_assert_leq(slab_bytes % bedrock_class_bytes(i), slab_bytes / 16);
		cr_assert_leq(slab_bytes / bedrock_class_bytes(i), UINT16_MAX);
		cr_assert_leq(slab_bytes, 128 << 10);
	}
}

Test(classes, magazine_holds_at_least_one_block_and_at_most_64_kib)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		cr_assert_geq(bedrock_class_magazine_max(i), 1);
		cr_assert_leq(bedrock_class_magazine_max(i) * bedrock_class_bytes(i), 64 << 10);
	}
}
