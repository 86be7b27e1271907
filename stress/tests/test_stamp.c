/* SPDX-License-Identifier: MIT */
/* Stamps: whatever byte is damaged, in a block of any size and alignment, is found and named. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "stress/host/stamp.h"

static const uint64_t key = 0x0123456789abcdefull;

Test(stamp, a_filled_block_verifies_at_every_size_and_alignment)
{
	uint8_t memory[8 + 700];
	struct hq_damage damage;

	for (uint64_t size = 0; size <= 700; size++) {
		uint8_t *const block = memory + size % 8;

		hq_stamp_fill(block, size, key);
		cr_assert(hq_stamp_verify(block, size, key, &damage), "size %lu", size);
	}
}

Test(stamp, filling_stays_inside_the_block)
{
	uint8_t memory[400];

	for (uint64_t size = 0; size <= 300; size++) {
		memset(memory, 0xa5, sizeof(memory));
		hq_stamp_fill(memory + 40, size, key);
		for (uint64_t i = 0; i < sizeof(memory); i++) {
			if (i < 40 || i >= 40 + size)
				cr_assert_eq(memory[i], 0xa5, "size %lu, byte %lu", size, i);
		}
	}
}

Test(stamp, every_damaged_byte_of_every_small_size_is_found_and_named)
{
	uint8_t block[300];

	for (uint64_t size = 1; size <= sizeof(block); size++) {
		hq_stamp_fill(block, size, key);
		for (uint64_t at = 0; at < size; at++) {
			const uint8_t right = block[at];
			struct hq_damage damage = { 0 };

			block[at] ^= 1u << at % 8;
			cr_assert_not(hq_stamp_verify(block, size, key, &damage),
				      "size %lu, byte %lu", size, at);
			cr_assert_eq(damage.offset, at);
			cr_assert_eq(damage.expected, right);
			cr_assert_eq(damage.got, block[at]);
			block[at] = right;
		}
	}
}

Test(stamp, the_first_of_two_damaged_bytes_is_named)
{
	static uint8_t block[10000];
	struct hq_damage damage;

	hq_stamp_fill(block, sizeof(block), key);
	block[9000] ^= 0xff;
	block[4321] ^= 0xff;
	cr_assert_not(hq_stamp_verify(block, sizeof(block), key, &damage));
	cr_assert_eq(damage.offset, 4321);
}

Test(stamp, keys_of_neighbouring_ids_and_seeds_differ)
{
	cr_assert_neq(hq_stamp_key(42, 1), hq_stamp_key(42, 2));
	cr_assert_neq(hq_stamp_key(42, 1), hq_stamp_key(43, 1));
	cr_assert_neq(hq_stamp_key(1, 2), hq_stamp_key(2, 1));
}

Test(stamp, a_shifted_copy_does_not_verify)
{
	uint8_t block[512], shifted[512];
	struct hq_damage damage;

	hq_stamp_fill(block, sizeof(block), key);
	for (uint64_t shift = 8; shift <= 256; shift += 8) {
		memcpy(shifted, block + shift, sizeof(block) - shift);
		cr_assert_not(hq_stamp_verify(shifted, sizeof(block) - shift, key, &damage));
		cr_assert_eq(damage.offset, 0);
	}
}

Test(stamp, a_prefix_verifies_by_itself)
{
	uint8_t block[333];
	struct hq_damage damage;

	hq_stamp_fill(block, sizeof(block), key);
	for (uint64_t size = 0; size <= sizeof(block); size++)
		cr_assert(hq_stamp_verify(block, size, key, &damage));
}

Test(stamp, any_byte_that_is_not_zero_is_found)
{
	uint8_t block[300] = { 0 };
	struct hq_damage damage;

	cr_assert(hq_stamp_is_zero(block, sizeof(block), &damage));
	for (uint64_t at = 0; at < sizeof(block); at++) {
		block[at] = 7;
		cr_assert_not(hq_stamp_is_zero(block, sizeof(block), &damage));
		cr_assert_eq(damage.offset, at);
		cr_assert_eq(damage.got, 7);
		block[at] = 0;
	}
}
