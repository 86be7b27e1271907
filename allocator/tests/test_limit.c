/* SPDX-License-Identifier: MIT */
/*
 * The account of resident memory: charges, credit, and that the kernel's figure never exceeds it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/limit.h"
#include "allocator/tests/residence.h"
#include "allocator/tests/stress.h"

#define KIB       ((uint64_t)1 << 10)
#define MIB       ((uint64_t)1 << 20)
#define BLOCK_MAX 4096

static struct stress_block blocks[BLOCK_MAX];

static void setup(void)
{
	residence_install();
}

TestSuite(limit, .init = setup, .timeout = 60);

Test(limit, charge_is_exact_up_to_the_limit_and_refused_beyond)
{
	struct bedrock_limit limit = { .hard_bytes = MIB };

	cr_assert_eq(bedrock_limit_charge(&limit, MIB), 0);
	cr_assert_eq(bedrock_limit_charge(&limit, 1), -EDQUOT);
	cr_assert_eq(limit.refusals, 1);
	bedrock_limit_uncharge(&limit, 1);
	cr_assert_eq(bedrock_limit_charge(&limit, 2), -EDQUOT);
	cr_assert_eq(bedrock_limit_charge(&limit, 1), 0);
	cr_assert_eq(limit.charged_bytes, MIB);
}

Test(limit, credit_is_drawn_far_from_the_limit_only)
{
	struct bedrock_limit limit = { .hard_bytes = 16 * MIB };
	uint64_t drawn;

	cr_assert_eq(bedrock_limit_draw(&limit, 4 * KIB, &drawn), 0);
	cr_assert_eq(drawn, 4 * KIB + BEDROCK_LIMIT_BATCH_BYTES);
	cr_assert_not(bedrock_limit_is_near(&limit));
	cr_assert_eq(bedrock_limit_charge(&limit, 14 * MIB), 0);
	cr_assert(bedrock_limit_is_near(&limit));
	cr_assert_eq(bedrock_limit_draw(&limit, 4 * KIB, &drawn), 0);
	cr_assert_eq(drawn, 4 * KIB);
}

Test(limit, without_limit_nothing_is_refused_but_all_is_counted)
{
	struct bedrock_limit limit = { .hard_bytes = 0 };

	cr_assert_eq(bedrock_limit_charge(&limit, UINT64_C(1) << 46), 0);
	cr_assert_not(bedrock_limit_is_near(&limit));
	cr_assert_not(bedrock_limit_is_pressed(&limit));
	cr_assert_eq(limit.charged_bytes, UINT64_C(1) << 46);
}

Test(limit, lowered_below_use_refuses_until_enough_was_given_back)
{
	struct bedrock_limit limit = { .hard_bytes = 8 * MIB };

	cr_assert_eq(bedrock_limit_charge(&limit, 6 * MIB), 0);
	bedrock_limit_set(&limit, 4 * MIB, 0);
	cr_assert(bedrock_limit_is_pressed(&limit));
	cr_assert_eq(bedrock_limit_charge(&limit, 1), -EDQUOT);
	bedrock_limit_uncharge(&limit, 3 * MIB);
	cr_assert_eq(bedrock_limit_charge(&limit, MIB), 0);
	cr_assert_eq(bedrock_limit_charge(&limit, 1), -EDQUOT);
}

/* What all parts say that they have charged. */
static uint64_t charged_by_parts(void)
{
	struct bedrock_heap *heap = &bedrock_heap;
	uint64_t bytes =
		heap->huge.charged_bytes + heap->meta.charged_bytes + heap->space.owed_bytes;

	for (uint32_t i = 0; i < heap->arena_count; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		cr_assert(bedrock_pages_is_valid(&arena->pages));
		bytes += (arena->pages.charged_pages + arena->pages.credit_pages)
			 << BEDROCK_PAGE_SHIFT;
	}
	return bytes;
}

static void assert_account(void)
{
	cr_assert_eq(charged_by_parts(), bedrock_resident());
	cr_assert_leq(residence_bytes(), bedrock_resident());
}

static void replace(uint64_t *state)
{
	struct stress_block *block = &blocks[stress_random(state) % BLOCK_MAX];

	bedrock_free(block->start);
	block->bytes = stress_size(state);
	if (stress_random(state) % 8 == 0)
		block->start = bedrock_aligned_alloc((size_t)64 << stress_random(state) % 18,
						     block->bytes);
	else
		block->start = bedrock_malloc(block->bytes);
	if (block->start)
		stress_fill(block, *state);
}

static void grow(uint64_t *state)
{
	struct stress_block *block = &blocks[stress_random(state) % BLOCK_MAX];
	size_t bytes = stress_size(state) + 1;
	unsigned char *start = bedrock_realloc(block->start, bytes);

	if (!start)
		return;
	block->start = start;
	block->bytes = bytes;
	stress_fill(block, *state);
}

static void churn(uint64_t *state, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (stress_random(state) % 4 == 0)
			grow(state);
		else
			replace(state);
	}
}

Test(limit, parts_add_up_and_the_kernel_never_holds_more)
{
	uint64_t state = 42;

	for (int round = 0; round < 20; round++) {
		churn(&state, 1000);
		assert_account();
		if (round % 5 == 4)
			bedrock_purge();
		assert_account();
	}
	for (int i = 0; i < BLOCK_MAX; i++)
		bedrock_free(blocks[i].start);
	bedrock_purge();
	assert_account();
}

Test(limit, parts_add_up_at_the_limit_as_well)
{
	uint64_t state = 43;

	bedrock_limit_memory(24 * MIB, 0);
	for (int round = 0; round < 20; round++) {
		churn(&state, 1000);
		assert_account();
		cr_assert_leq(bedrock_resident(), 24 * MIB);
	}
	cr_assert_gt(bedrock_heap.space.limit.refusals, 0);
}

Test(limit, figure_is_close_to_the_kernels_when_all_is_touched)
{
	static void *touched[3000];
	uint64_t slack_bytes;

	for (int i = 0; i < 3000; i++) {
		touched[i] = bedrock_malloc(16000);
		memset(touched[i], 1, 16000);
	}
	uint64_t chunks = bedrock_heap.space.mapped_bytes / BEDROCK_CHUNK_BYTES;

	slack_bytes = 2 * BEDROCK_LIMIT_BATCH_BYTES * bedrock_heap.arena_count + 72 * KIB * chunks +
		      256 * KIB;
	assert_account();
	cr_assert_leq(bedrock_resident(), residence_bytes() + slack_bytes);
	for (int i = 0; i < 3000; i++)
		bedrock_free(touched[i]);
	bedrock_purge();
	assert_account();
	cr_assert_leq(bedrock_resident(), residence_bytes() + slack_bytes);
	cr_assert_leq(bedrock_resident(), slack_bytes + 4 * MIB);
}

Test(limit, gap_before_a_strongly_aligned_block_costs_nothing)
{
	uint64_t before_bytes = bedrock_resident();
	void *block = bedrock_aligned_alloc(32 * MIB, 5 * MIB);

	memset(block, 1, 5 * MIB);
	cr_assert_leq(bedrock_resident() - before_bytes, 5 * MIB + 512 * KIB);
	assert_account();
	bedrock_free(block);
	block = bedrock_malloc(8 * MIB);
	memset(block, 1, 8 * MIB);
	assert_account();
	bedrock_free(block);
	bedrock_purge();
	assert_account();
}

/* Do the flags of the mapping that contains the address contain this one? */
static bool mapping_has_flag(const void *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	bool is_inside = false;
	bool is_found = false;

	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long start;
		unsigned long end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			is_inside = start <= (uintptr_t)address && (uintptr_t)address < end;
		if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
			is_found = strstr(line, flag) != NULL;
	}
	fclose(file);
	return is_found;
}

Test(limit, no_page_of_a_chunk_becomes_a_huge_one)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		cr_skip_test("this kernel has no huge pages");
	void *before = bedrock_malloc(1000);

	bedrock_limit_memory(32 * MIB, 0);
	void *after = bedrock_malloc(1900000);
	void *further = bedrock_malloc(1900000);
	void *another = bedrock_malloc(1900000);
	void *aligned = bedrock_aligned_alloc(2 * MIB, 100000);

	cr_assert(mapping_has_flag(before, " nh"));
	cr_assert(mapping_has_flag(after, " nh"));
	cr_assert(mapping_has_flag(further, " nh"));
	cr_assert(mapping_has_flag(another, " nh"));
	cr_assert(mapping_has_flag(aligned, " nh"));
}

Test(limit, refused_purges_uncharge_nothing)
{
	void *block = bedrock_malloc(2 * MIB);

	bedrock_limit_memory(16 * MIB, 0);
	memset(block, 1, 2 * MIB);
	residence.error = EAGAIN;
	bedrock_free(block);
	uint64_t before_bytes = bedrock_resident();

	bedrock_purge();
	cr_assert_gt(residence.refusals, 0);
	cr_assert_eq(bedrock_resident(), before_bytes);
	assert_account();
	residence.error = 0;
	bedrock_purge();
	cr_assert_leq(bedrock_resident(), before_bytes - 2 * MIB + 512 * KIB);
	assert_account();
}

Test(limit, lying_purges_are_found_out_under_a_limit)
{
	void *keep = bedrock_malloc(100000);
	void *block = bedrock_malloc(2 * MIB);

	bedrock_limit_memory(16 * MIB, 0);
	memset(block, 1, 2 * MIB);
	residence.is_lying = true;
	bedrock_free(block);
	uint64_t before_bytes = bedrock_resident();

	bedrock_purge();
	cr_assert_gt(residence.lies, 0);
	cr_assert_eq(bedrock_resident(), before_bytes);
	assert_account();
	residence.is_lying = false;
	bedrock_purge();
	cr_assert_leq(bedrock_resident(), before_bytes - 2 * MIB + 512 * KIB);
	assert_account();
	bedrock_free(keep);
}

Test(limit, pages_in_madv_free_stay_charged)
{
	void *block = bedrock_malloc(2 * MIB);
	uint64_t now_ns = UINT64_C(1) << 50;

	bedrock_heap.options.muzzy_decay_ms = -1;
	bedrock_heap.options.dirty_decay_ms = 0;
	bedrock_heap.options.is_background_thread = false;
	memset(block, 1, 2 * MIB);
	uint64_t before_bytes = bedrock_resident();

	bedrock_free(block);
	for (uint32_t i = 0; i < bedrock_heap.arena_count; i++) {
		if (bedrock_heap_arena_at(&bedrock_heap, i))
			bedrock_decay_arena(&bedrock_heap, bedrock_heap_arena_at(&bedrock_heap, i),
					    now_ns, false);
	}
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	cr_assert_geq(stats.muzzy_bytes, 2 * MIB - 64 * KIB);
	cr_assert_eq(bedrock_resident(), before_bytes);
	assert_account();
}
