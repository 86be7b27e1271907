/* SPDX-License-Identifier: MIT */
/*
 * Huge blocks: alignment of any size, reuse within bounds, and growth without copying.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/huge.h"
#include "allocator/tests/faults.h"

#define MIB ((size_t)1 << 20)

static struct bedrock_space space;
static struct bedrock_huge huge;

static void setup(void)
{
	bedrock_space_init(&space);
	bedrock_huge_init(&huge, &space);
	fault_install();
}

TestSuite(huge, .init = setup, .timeout = 60);

static char *take(size_t bytes, size_t align_bytes, bool *is_zero)
{
	void *block = NULL;
	bool is_fresh;

	cr_assert_eq(bedrock_huge_alloc(&huge, bytes, align_bytes, &block,
					is_zero ? is_zero : &is_fresh),
		     0);
	cr_assert_geq(bedrock_huge_usable_bytes(block), bytes);
	return block;
}

Test(huge, every_alignment_is_met_and_the_header_is_found)
{
	for (size_t align_bytes = 1; align_bytes <= 64 * MIB; align_bytes *= 2) {
		char *block = take(3 * MIB + 5, align_bytes, NULL);

		cr_assert_eq((uintptr_t)block % align_bytes, 0);
		cr_assert_eq(bedrock_chunk_class_of(block), BEDROCK_CLASS_NONE);
		block[0] = 1;
		block[3 * MIB + 4] = 1;
		bedrock_huge_free(&huge, block, false);
		cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0, "align %zu",
			     align_bytes);
	}
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes), 0);
}

Test(huge, kept_mapping_is_reused_and_not_called_zero)
{
	bool is_zero;
	char *block = take(5 * MIB, 1, &is_zero);

	cr_assert(is_zero);
	bedrock_huge_free(&huge, block, true);
	cr_assert_eq(take(5 * MIB - 100, 1, &is_zero), block);
	cr_assert_not(is_zero);
	cr_assert_eq(huge.kept.count, 0);
}

Test(huge, much_larger_kept_mapping_is_trimmed_and_an_oversized_one_left_alone)
{
	char *block = take(7 * MIB, 1, NULL);

	bedrock_huge_free(&huge, block, true);
	cr_assert_neq(take(3 * MIB, 1, NULL), block, "more than twice as large");
	cr_assert_eq(take(4 * MIB, 1, NULL), block);
	cr_assert_leq(bedrock_huge_usable_bytes(block), 4 * MIB + 65536);
}

Test(huge, best_fit_is_taken)
{
	char *large = take(9 * MIB, 1, NULL);
	char *small = take(6 * MIB, 1, NULL);

	bedrock_huge_free(&huge, small, true);
	bedrock_huge_free(&huge, large, true);
	cr_assert_eq(take(5 * MIB, 1, NULL), small);
}

Test(huge, smaller_kept_mapping_is_lengthened_with_its_pages)
{
	bool is_zero;
	char *block = take(10 * MIB, 1, NULL);
	char *in_the_way = take(3 * MIB, 1, NULL);

	memset(block, 1, 10 * MIB);
	bedrock_huge_free(&huge, block, true);
	unsigned unmaps = faults.munmap.seen;

	block = take(13 * MIB, 1, &is_zero);
	cr_assert_not(is_zero);
	cr_assert_eq(block[10 * MIB - 1], 1);
	cr_assert_eq(block[13 * MIB - 1], 0);
	cr_assert_eq(faults.munmap.seen, unmaps);
	cr_assert_eq(huge.kept.count, 0);
	bedrock_huge_free(&huge, block, false);
	bedrock_huge_free(&huge, in_the_way, false);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes), 0);
}

Test(huge, refused_lengthening_maps_a_new_block)
{
	bool is_zero;
	char *block = take(10 * MIB, 1, NULL);

	bedrock_huge_free(&huge, block, true);
	faults.mremap.error = ENOMEM;
	block = take(13 * MIB, 1, &is_zero);
	cr_assert(is_zero);
	cr_assert_gt(faults.mremap.hit, 0);
	bedrock_huge_free(&huge, block, false);
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
}

Test(huge, no_more_is_kept_than_the_bounds_allow)
{
	char *blocks[40];

	for (int i = 0; i < 40; i++)
		blocks[i] = take(3 * MIB, 1, NULL);
	for (int i = 0; i < 40; i++)
		bedrock_huge_free(&huge, blocks[i], true);
	cr_assert_leq(huge.kept.count, BEDROCK_HUGE_KEPT_MAX);
	cr_assert_leq(bedrock_load_relaxed(&huge.kept.bytes), BEDROCK_HUGE_KEPT_BYTES);
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(huge.kept.count, 0);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
}

/* A block of 6 MiB in a mapping of 10, the rest to spare. */
static char *take_with_spare(void)
{
	char *block = take(10 * MIB, 1, NULL);

	memset(block, 1, 10 * MIB);
	bedrock_huge_free(&huge, block, true);
	cr_assert_eq(take(6 * MIB, 1, NULL), block);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 4 * MIB);
	return block;
}

Test(huge, few_blocks_leave_the_end_of_a_longer_mapping_to_spare_and_it_is_kept_with_them)
{
	char *block = take_with_spare();
	unsigned unmaps = faults.munmap.seen;

	cr_assert_lt(bedrock_huge_usable_bytes(block), 7 * MIB, "spare is not the owner's");
	bedrock_huge_free(&huge, block, true);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes), 0);
	cr_assert_eq(take(10 * MIB, 1, NULL), block);
	cr_assert_eq(block[10 * MIB - 1], 1, "no page was lost");
	cr_assert_eq(faults.munmap.seen, unmaps);
}

Test(huge, decay_cuts_off_what_a_block_has_to_spare)
{
	char *block = take_with_spare();
	uint64_t live_bytes = bedrock_load_relaxed(&huge.live_bytes);

	bedrock_huge_decay(&huge, 1);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 4 * MIB, "too young");
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), live_bytes);
	cr_assert_eq(bedrock_load_relaxed(&huge.charged_bytes), live_bytes);
	cr_assert_eq(block[6 * MIB - 1], 1);
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&huge.charged_bytes), 0);
}

Test(huge, spare_end_that_cannot_be_unmapped_is_emptied_and_remembered)
{
	char *block = take_with_spare();

	faults.munmap.error = ENOMEM;
	bedrock_huge_decay(&huge, UINT64_MAX);
	faults.munmap.error = 0;
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_gt(faults.madvise.seen, 0);
	cr_assert_eq(space.leftover_count, 1);
	cr_assert_eq(bedrock_load_relaxed(&huge.charged_bytes), huge.live_bytes);
	bedrock_space_retry(&space);
	cr_assert_eq(space.leftover_count, 0);
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
}

Test(huge, spare_end_that_stays_resident_is_charged_until_it_is_gone)
{
	char *block = take_with_spare();

	faults.munmap.error = ENOMEM;
	faults.madvise.error = EAGAIN;
	bedrock_huge_decay(&huge, UINT64_MAX);
	faults.munmap.error = 0;
	cr_assert_gt(faults.munmap.hit, 0);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_eq(bedrock_load_relaxed(&huge.charged_bytes), huge.live_bytes);
	cr_assert_eq(bedrock_load_relaxed(&space.owed_bytes), 4 * MIB);
	cr_assert_eq(bedrock_load_relaxed(&space.limit.charged_bytes), huge.live_bytes + 4 * MIB);
	bedrock_space_retry(&space);
	cr_assert_eq(bedrock_load_relaxed(&space.owed_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&space.limit.charged_bytes), huge.live_bytes);
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&space.limit.charged_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
}

Test(huge, block_grows_into_what_it_has_to_spare)
{
	char *block = take_with_spare();
	unsigned moves = faults.mremap.seen;

	cr_assert_eq(bedrock_huge_resize(&huge, block, 9 * MIB), block);
	cr_assert_geq(bedrock_huge_usable_bytes(block), 9 * MIB);
	cr_assert_eq(faults.mremap.seen, moves);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 0);
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes), 0);
}

Test(huge, no_more_is_to_spare_than_the_bound_allows)
{
	char *blocks[6];

	for (int i = 0; i < 6; i++)
		blocks[i] = take(10 * MIB, 1, NULL);
	for (int i = 0; i < 6; i++)
		bedrock_huge_free(&huge, blocks[i], true);
	for (int i = 0; i < 6; i++) {
		take(6 * MIB, 1, NULL);
		cr_assert_leq(bedrock_load_relaxed(&huge.spare_bytes), BEDROCK_HUGE_SPARE_BYTES);
	}
	cr_assert_eq(huge.spare.count, 4);
}

Test(huge, where_much_is_in_use_nothing_is_left_to_spare)
{
	take(300 * MIB, 1, NULL);
	bedrock_huge_free(&huge, take(10 * MIB, 1, NULL), true);
	take(6 * MIB, 1, NULL);
	cr_assert_eq(bedrock_load_relaxed(&huge.spare_bytes), 0);
}

Test(huge, oversize_rule_keeps_nothing_of_that_size)
{
	huge.oversize_bytes = 4 * MIB;
	bedrock_huge_free(&huge, take(5 * MIB, 1, NULL), true);
	cr_assert_eq(huge.kept.count, 0);
	bedrock_huge_free(&huge, take(3 * MIB, 1, NULL), true);
	cr_assert_eq(huge.kept.count, 1);
}

Test(huge, decay_takes_only_what_is_old_enough)
{
	bedrock_huge_free(&huge, take(3 * MIB, 1, NULL), true);
	bedrock_huge_decay(&huge, 1);
	cr_assert_eq(huge.kept.count, 1);
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(huge.kept.count, 0);
}

Test(huge, all_that_is_due_is_emptied_although_munmap_is_refused_and_asked_once)
{
	char *blocks[6];

	for (int i = 0; i < 6; i++)
		blocks[i] = memset(take(4 * MIB, 1, NULL), 1, 4 * MIB);
	for (int i = 0; i < 6; i++)
		bedrock_huge_free(&huge, blocks[i], true);
	faults.munmap.error = ENOMEM;
	faults.munmap.seen = 0;
	faults.madvise.seen = 0;
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(faults.munmap.hit, 1);
	cr_assert_eq(faults.madvise.seen, 6);
	cr_assert_eq(huge.stuck.count, 6);
	cr_assert_leq(huge.charged_bytes, 6 * 4096);
	faults.munmap.error = 0;
	bedrock_huge_decay(&huge, UINT64_MAX);
	cr_assert_eq(huge.stuck.count, 0);
	cr_assert_eq(huge.charged_bytes, 0);
}

Test(huge, growth_keeps_content_and_moves_pages_instead_of_copying)
{
	char *block = take(3 * MIB, 1, NULL);

	for (size_t bytes = 5 * MIB; bytes < 60 * MIB; bytes += 11 * MIB) {
		memset(block, (int)(bytes / MIB), 3 * MIB);
		char *grown = bedrock_huge_resize(&huge, block, bytes);

		cr_assert(grown);
		cr_assert_geq(bedrock_huge_usable_bytes(grown), bytes);
		cr_assert_eq(grown[3 * MIB - 1], (char)(bytes / MIB));
		cr_assert_eq(grown[bytes - 1], 0);
		block = grown;
	}
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes), 0);
}

Test(huge, shrink_gives_the_tail_back)
{
	char *block = take(20 * MIB, 1, NULL);

	cr_assert_eq(bedrock_huge_resize(&huge, block, 5 * MIB), block);
	cr_assert_leq(bedrock_load_relaxed(&space.mapped_bytes), 5 * MIB + 65536);
	cr_assert_eq(bedrock_load_relaxed(&huge.live_bytes),
		     bedrock_load_relaxed(&space.mapped_bytes));
}

Test(huge, absurd_sizes_and_alignments_are_refused_without_a_call)
{
	void *block;
	bool is_zero;

	cr_assert_eq(bedrock_huge_alloc(&huge, PTRDIFF_MAX, 1, &block, &is_zero), -ENOMEM);
	cr_assert_eq(bedrock_huge_alloc(&huge, SIZE_MAX, 1, &block, &is_zero), -ENOMEM);
	cr_assert_eq(bedrock_huge_alloc(&huge, 1, (size_t)1 << 63, &block, &is_zero), -ENOMEM);
	cr_assert_eq(faults.mmap.seen, 0);
	cr_assert_eq(bedrock_huge_alloc(&huge, 1, (size_t)1 << 62, &block, &is_zero), -ENOMEM);
}
