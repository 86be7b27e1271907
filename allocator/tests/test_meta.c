/* SPDX-License-Identifier: MIT */
/*
 * Metadata memory: static first, then mapped, always zero and on lines of its own.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/meta.h"
#include "allocator/tests/faults.h"

static struct bedrock_meta meta;

static void setup(void)
{
	bedrock_meta_init(&meta);
	fault_install();
}

TestSuite(meta, .init = setup);

Test(meta, first_pieces_need_no_system_call)
{
	faults.mmap.error = ENOMEM;
	cr_assert(bedrock_meta_alloc(&meta, 10000));
	cr_assert(bedrock_meta_alloc(&meta, 10000));
	cr_assert_eq(faults.mmap.seen, 0);
}

Test(meta, pieces_are_zero_aligned_and_apart)
{
	char *last_end = NULL;

	for (int i = 0; i < 200; i++) {
		char *piece = bedrock_meta_alloc(&meta, 3000);

		cr_assert(piece);
		cr_assert_eq((uintptr_t)piece % 64, 0);
		cr_assert(piece >= last_end || piece + 3000 <= last_end - 3000);
		for (int at = 0; at < 3000; at++)
			cr_assert_eq(piece[at], 0);
		memset(piece, 0xff, 3000);
		last_end = piece + 3000;
	}
	cr_assert_gt(bedrock_load_relaxed(&meta.mapped_bytes), 0);
}

Test(meta, refused_mapping_gives_null_and_is_not_asked_for_at_each_request)
{
	int tries = 0;

	bedrock_meta_alloc(&meta, BEDROCK_META_STATIC_BYTES - 64);
	faults.mmap.error = ENOMEM;
	for (int i = 0; i < 100; i++)
		cr_assert_null(bedrock_meta_alloc(&meta, 1000));
	cr_assert_leq(faults.mmap.hit, 10);
	cr_assert(bedrock_meta_alloc(&meta, 64), "what is left still serves");
	faults.mmap.error = 0;
	while (!bedrock_meta_alloc(&meta, 1000))
		tries++;
	cr_assert_leq(tries, 16);
}
