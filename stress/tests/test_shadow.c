/* SPDX-License-Identifier: MIT */
/*
 * The shadow: overlaps are found and named, neighbours are left alone, and the order of recording
 * matters: one test does it in the wrong order on purpose and must see false overlaps, so that the
 * test of the right order is known to be able to see them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "stress/host/shadow.h"

static struct hq_shadow shadow;

static void start(void)
{
	cr_assert_eq(hq_shadow_init(&shadow), 0);
}

TestSuite(shadow, .init = start);

/* Addresses need not be mapped: the shadow never looks at them. */
static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

#define BASE 0x500000000000ull

static bool enters(uint64_t address, uint64_t size, uint64_t *offset)
{
	return hq_shadow_set(&shadow, at(address), size, offset);
}

Test(shadow, neighbours_in_one_word_do_not_overlap)
{
	uint64_t offset;

	cr_assert(enters(BASE, 16, &offset));
	cr_assert(enters(BASE + 16, 8, &offset));
	cr_assert(enters(BASE + 24, 100, &offset));
}

Test(shadow, the_same_block_twice_overlaps_at_its_start)
{
	uint64_t offset = 99;

	cr_assert(enters(BASE + 64, 1, &offset));
	cr_assert_not(enters(BASE + 64, 1, &offset));
	cr_assert_eq(offset, 0);
}

Test(shadow, the_offset_is_that_of_the_first_shared_byte)
{
	uint64_t offset = 0;

	cr_assert(enters(BASE + 4096, 64, &offset));
	cr_assert_not(enters(BASE, 10000, &offset));
	cr_assert_eq(offset, 4096);
}

Test(shadow, an_overlap_by_the_last_byte_alone_is_found)
{
	uint64_t offset = 0;

	cr_assert(enters(BASE + 1000, 8, &offset));
	cr_assert_not(enters(BASE, 1001, &offset));
	cr_assert_eq(offset, 1000);
}

Test(shadow, a_freed_block_may_come_again)
{
	uint64_t offset;

	for (uint64_t size = 1; size < 3000; size += 7) {
		cr_assert(enters(BASE + 8 * size, size, &offset));
		hq_shadow_clear(&shadow, at(BASE + 8 * size), size);
	}
	cr_assert(enters(BASE, 100000, &offset));
}

Test(shadow, clearing_a_block_leaves_its_neighbours)
{
	uint64_t offset;

	enters(BASE, 512, &offset);
	enters(BASE + 512, 520, &offset);
	enters(BASE + 1032, 8, &offset);
	hq_shadow_clear(&shadow, at(BASE + 512), 520);
	cr_assert_not(enters(BASE + 504, 8, &offset));
	cr_assert_not(enters(BASE + 1032, 8, &offset));
	cr_assert(enters(BASE + 512, 520, &offset));
}

Test(shadow, a_block_across_leaves_is_whole)
{
	const uint64_t start_address = BASE + (3ull << 24) - 512;
	const uint64_t size = (5ull << 24) + 1024;
	uint64_t offset = 0;

	cr_assert(enters(start_address, size, &offset));
	for (uint64_t i = 0; i < size; i += size / 97)
		cr_assert_not(enters(start_address + i, 8, &offset), "at %lu", i);
	hq_shadow_clear(&shadow, at(start_address), size);
	cr_assert(enters(start_address, size, &offset));
	cr_assert_eq(hq_load_relaxed(&shadow.unchecked), 0);
}

static uint64_t mappings(void)
{
	uint64_t count = 0;
	FILE *const file = fopen("/proc/self/maps", "re");

	cr_assert_not_null(file);
	for (int byte; (byte = fgetc(file)) != EOF;)
		count += byte == '\n';
	fclose(file);
	return count;
}

Test(shadow, blocks_that_are_far_apart_do_not_take_a_mapping_each)
{
	const uint64_t before = mappings();
	uint64_t offset;

	for (uint64_t i = 0; i < 1000; i++)
		cr_assert(enters(BASE + (i << 26), 64, &offset));
	cr_expect_lt(mappings() - before, 40);
	for (uint64_t i = 0; i < 1000; i++)
		cr_expect(!enters(BASE + (i << 26), 64, &offset));
	cr_assert_eq(hq_load_relaxed(&shadow.unchecked), 0);
}

Test(shadow, a_block_outside_the_address_space_counts_as_unchecked)
{
	uint64_t offset;

	cr_assert(enters(1ull << HQ_SHADOW_ADDRESS_BITS, 64, &offset));
	cr_assert(enters((1ull << HQ_SHADOW_ADDRESS_BITS) - 64, 65, &offset));
	cr_assert(enters(UINT64_MAX - 10, 8, &offset));
	cr_assert_eq(hq_load_relaxed(&shadow.unchecked), 3);
	hq_shadow_clear(&shadow, at(UINT64_MAX - 10), 8);
}

Test(shadow, an_empty_block_never_overlaps)
{
	uint64_t offset;

	cr_assert(enters(BASE, 16, &offset));
	cr_assert(enters(BASE, 0, &offset));
}

/* ---- threads ---- */

#define ROUNDS 200000u

struct neighbour {
	uint64_t address;
	uint64_t overlaps;
};

static void *set_and_clear(void *argument)
{
	struct neighbour *const self = argument;
	uint64_t offset;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (!enters(self->address, 24, &offset))
			self->overlaps++;
		hq_shadow_clear(&shadow, at(self->address), 24);
	}
	return NULL;
}

Test(shadow, threads_that_share_a_word_do_not_disturb_each_other)
{
	struct neighbour pair[2] = { { .address = BASE }, { .address = BASE + 24 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, set_and_clear, &pair[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(pair[0].overlaps + pair[1].overlaps, 0);
}

static void *make_leaves(void *argument)
{
	struct neighbour *const self = argument;
	uint64_t offset;

	for (uint64_t leaf = 0; leaf < 64; leaf++) {
		if (!enters(self->address + (leaf << 24), 24, &offset))
			self->overlaps++;
	}
	return NULL;
}

Test(shadow, threads_that_need_the_same_new_leaf_share_one)
{
	struct neighbour pair[2] = { { .address = BASE }, { .address = BASE + 24 } };
	pthread_t threads[2];
	uint64_t offset;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, make_leaves, &pair[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(pair[0].overlaps + pair[1].overlaps, 0);
	for (uint64_t leaf = 0; leaf < 64; leaf++) {
		cr_assert_not(enters(BASE + (leaf << 24), 8, &offset));
		cr_assert_not(enters(BASE + 24 + (leaf << 24), 8, &offset));
	}
}

/* An allocator of one block: the word says whether it is free. */
struct one_block {
	_Atomic uint32_t taken;
	bool clear_first;
	_Atomic uint64_t overlaps;
};

static void *take_turns(void *argument)
{
	struct one_block *const one = argument;
	uint64_t offset;

	for (uint32_t i = 0; i < 3 * ROUNDS; i++) {
		uint32_t no = 0;

		if (!hq_cas_acq_rel(&one->taken, &no, 1))
			continue;
		if (!enters(BASE, 64, &offset))
			hq_fetch_add_relaxed(&one->overlaps, 1);
		if (one->clear_first)
			hq_shadow_clear(&shadow, at(BASE), 64);
		hq_store_release(&one->taken, 0);
		if (!one->clear_first)
			hq_shadow_clear(&shadow, at(BASE), 64);
	}
	return NULL;
}

static uint64_t overlaps_with(bool clear_first)
{
	struct one_block one = { .clear_first = clear_first };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, take_turns, &one), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return hq_load_relaxed(&one.overlaps);
}

Test(shadow, a_free_recorded_before_the_call_makes_no_false_overlap)
{
	cr_assert_eq(overlaps_with(true), 0);
}

Test(shadow, a_free_recorded_after_the_call_makes_false_overlaps)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		cr_skip_test("needs two processors");
	uint64_t seen = 0;

	for (int attempt = 0; attempt < 20 && seen == 0; attempt++)
		seen = overlaps_with(false);
	cr_assert_gt(seen, 0);
}

Test(shadow, the_nearest_live_bytes_on_both_sides_are_found)
{
	uint64_t offset, found;

	enters(BASE + 64, 40, &offset);
	cr_assert(hq_shadow_next(&shadow, BASE, BASE + 4096, &found));
	cr_assert_eq(found, BASE + 64);
	cr_assert(hq_shadow_next(&shadow, BASE + 70, BASE + 4096, &found));
	cr_assert_eq(found, BASE + 70);
	cr_assert(hq_shadow_last(&shadow, BASE + 200, BASE, &found));
	cr_assert_eq(found, BASE + 64 + 40 - 1);
}

Test(shadow, nothing_is_found_beyond_the_end_of_the_search_or_of_all_addresses)
{
	uint64_t offset, found;

	enters(BASE + 64, 40, &offset);
	cr_assert(!hq_shadow_next(&shadow, BASE, BASE + 64, &found));
	cr_assert(!hq_shadow_next(&shadow, BASE + 104, BASE + 4096, &found));
	cr_assert(!hq_shadow_last(&shadow, BASE + 64, BASE, &found));
	cr_assert(!hq_shadow_last(&shadow, BASE + 200, BASE + 104, &found));
	cr_assert(!hq_shadow_next(&shadow, UINT64_MAX - 100, UINT64_MAX, &found));
}
