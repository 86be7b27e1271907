/* SPDX-License-Identifier: MIT */
/*
 * Aligned mappings: where they lie, what they cost, and that they are accounted for.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>

#include "allocator/bedrock/space.h"
#include "allocator/tests/faults.h"

static struct bedrock_space space;

static void setup(void)
{
	bedrock_space_init(&space);
	fault_install();
}

TestSuite(space, .init = setup);

static char *map(size_t bytes)
{
	void *address = NULL;

	cr_assert_eq(bedrock_space_map(&space, bytes, &address), 0);
	cr_assert_eq((uintptr_t)address % BEDROCK_CHUNK_BYTES, 0);
	return address;
}

Test(space, first_mapping_is_trimmed_and_later_ones_cost_one_call)
{
	map(BEDROCK_CHUNK_BYTES);
	unsigned first_calls = faults.mmap.seen;

	cr_assert_eq(first_calls, 1);
	for (int i = 0; i < 10; i++)
		map(BEDROCK_CHUNK_BYTES);
	cr_assert_eq(faults.mmap.seen, first_calls + 10);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 11 * BEDROCK_CHUNK_BYTES);
}

Test(space, taken_hint_still_gives_an_aligned_mapping)
{
	char *first = map(BEDROCK_CHUNK_BYTES);
	void *blocker = mmap(first - BEDROCK_CHUNK_BYTES, 4096, PROT_READ,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	/* Something else may lie there already. */
	cr_assert(blocker != MAP_FAILED || errno == EEXIST);
	for (int i = 0; i < 5; i++)
		map(BEDROCK_CHUNK_BYTES)[0] = 1;
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 6 * BEDROCK_CHUNK_BYTES);
	cr_assert_eq(space.leftover_count, 0);
}

Test(space, odd_sizes_are_aligned_at_their_start)
{
	for (size_t pages = 1; pages < 3000; pages += 611)
		map(pages * 4096);
}

Test(space, unmap_is_accounted_and_absurd_sizes_are_refused)
{
	void *address = map(2 * BEDROCK_CHUNK_BYTES);

	cr_assert_eq(bedrock_space_unmap(&space, address, 2 * BEDROCK_CHUNK_BYTES), 0);
	cr_assert_eq(bedrock_load_relaxed(&space.mapped_bytes), 0);
	cr_assert_eq(bedrock_space_map(&space, PTRDIFF_MAX, &address), -ENOMEM);
}

Test(space, more_refused_leftovers_than_can_be_remembered_are_counted)
{
	faults.munmap.error = ENOMEM;
	for (unsigned i = 0; i < BEDROCK_LEFTOVERS_MAX + 3; i++)
		bedrock_space_discard(&space, (void *)(uintptr_t)(4096 * (i + 1)), 4096, 0);
	cr_assert_eq(space.leftover_count, BEDROCK_LEFTOVERS_MAX);
	cr_assert_eq(bedrock_load_relaxed(&space.lost_bytes), 3 * 4096);
}
