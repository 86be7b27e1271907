/* SPDX-License-Identifier: MIT */
/*
 * Huge pages: who gets them by the option `thp`, as the kernel tells it in smaps.
 *
 * What is asked of the allocator's mapping is first asked of one made here: a test is skipped
 * where the kernel has no huge page to give.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "allocator/bedrock/huge.h"
#include "allocator/bedrock/pages.h"
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

TestSuite(thp, .init = setup, .timeout = 60);

/* The sum of a field over the mappings that overlap the range, in KiB. */
static unsigned long smaps_kib(const char *start, size_t bytes, const char *field)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	size_t field_bytes = strlen(field);
	unsigned long sum = 0;
	bool is_inside = false;
	char line[512];

	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long first;
		unsigned long end;
		unsigned long kib;

		if (sscanf(line, "%lx-%lx ", &first, &end) == 2)
			is_inside = first < (uintptr_t)start + bytes && end > (uintptr_t)start;
		else if (is_inside && strncmp(line, field, field_bytes) == 0 &&
			 sscanf(line + field_bytes, ": %lu", &kib) == 1)
			sum += kib;
	}
	fclose(file);
	return sum;
}

static unsigned long huge_kib(const char *start, size_t bytes)
{
	return smaps_kib(start, bytes, "AnonHugePages");
}

static void touch(char *start, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 4096)
		start[at] = 1;
}

/* Could anybody get huge pages just now? */
static bool has_huge_pages(void)
{
	size_t bytes = 16 * MIB;
	char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(start, MAP_FAILED);
	if (madvise(start, bytes, MADV_HUGEPAGE) == 0)
		touch(start, bytes);
	unsigned long kib = huge_kib(start, bytes);

	munmap(start, bytes);
	return kib > 0;
}

static char *take_touched(size_t bytes)
{
	void *block;
	bool is_zero;

	cr_assert_eq(bedrock_huge_alloc(&huge, bytes, 1, &block, &is_zero), 0);
	touch(block, bytes);
	return block;
}

Test(thp, always_gives_huge_blocks_huge_pages_and_no_more_memory_than_is_charged)
{
	if (!has_huge_pages())
		cr_skip_test("the kernel gives no huge pages");
	space.thp = BEDROCK_THP_ALWAYS;
	char *block = take_touched(15 * MIB);

	cr_assert_gt(huge_kib(block, 15 * MIB), 0);
	cr_assert_leq(smaps_kib(block - 4096, 15 * MIB, "Rss"),
		      bedrock_load_relaxed(&huge.charged_bytes) / 1024);
	bedrock_huge_free(&huge, block, false);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
}

Test(thp, always_completes_the_last_huge_page_of_a_block_unless_that_takes_much)
{
	space.thp = BEDROCK_THP_ALWAYS;
	char *block = take_touched(15 * MIB + 1);

	cr_assert_eq(bedrock_huge_usable_bytes(block), 16 * MIB - 4096);
	block = take_touched(4 * MIB + 1);
	cr_assert_lt(bedrock_huge_usable_bytes(block), 5 * MIB);
}

Test(thp, never_keeps_them_out_even_where_they_are_the_rule)
{
	space.thp = BEDROCK_THP_NEVER;
	char *block = take_touched(15 * MIB);

	cr_assert_eq(faults.madvise.seen, 1);
	cr_assert_eq(huge_kib(block, 15 * MIB), 0);
}

Test(thp, never_holds_for_chunks_as_well)
{
	static struct bedrock_pages pages;
	struct bedrock_pages_request request = {
		.page_count = 512,
		.align_pages = 512,
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_run *run;
	bool is_zero;

	space.thp = BEDROCK_THP_NEVER;
	bedrock_pages_init(&pages, NULL, &space);
	cr_assert_eq(bedrock_pages_alloc(&pages, &request, &run, &is_zero), 0);
	cr_assert_eq(faults.madvise.seen, 1);
	touch(bedrock_run_start(run), 2 * MIB);
	cr_assert_eq(huge_kib(bedrock_run_start(run), 2 * MIB), 0);
}

Test(thp, default_asks_for_nothing)
{
	take_touched(15 * MIB);
	cr_assert_eq(faults.madvise.seen, 0);
}

Test(thp, process_that_forbids_them_gets_none_with_always)
{
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		cr_skip_test("PR_SET_THP_DISABLE is unknown");
	space.thp = BEDROCK_THP_ALWAYS;
	char *block = take_touched(15 * MIB);

	cr_assert_eq(huge_kib(block, 15 * MIB), 0);
}

Test(thp, refused_advice_refuses_no_block)
{
	faults.madvise.error = EINVAL;
	space.thp = BEDROCK_THP_ALWAYS;
	take_touched(5 * MIB);
	space.thp = BEDROCK_THP_NEVER;
	take_touched(5 * MIB);
	cr_assert_eq(faults.madvise.hit, 2);
}

Test(thp, gap_before_an_aligned_block_is_left_small)
{
	void *block;
	bool is_zero;

	if (!has_huge_pages())
		cr_skip_test("the kernel gives no huge pages");
	space.thp = BEDROCK_THP_ALWAYS;
	cr_assert_eq(bedrock_huge_alloc(&huge, 12 * MIB, 4 * MIB, &block, &is_zero), 0);
	touch(block, 12 * MIB);
	char *start = (char *)block - 4 * MIB;

	cr_assert_gt(huge_kib(block, 12 * MIB), 0);
	cr_assert_leq(smaps_kib(start, 16 * MIB, "Rss"),
		      bedrock_load_relaxed(&huge.charged_bytes) / 1024);
}
