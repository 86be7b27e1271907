/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pthread.h>

#include "stress/guard/origin.h"

#define BLOCK 0x7f0000001000ull

static struct hq_origins origins;
static struct hq_origin found;

Test(guard_origin, of_a_live_block_size_place_and_thread_are_known)
{
	hq_origins_allocated(&origins, BLOCK, 100, 0x5555deadbeef, 4194303);
	cr_assert(hq_origins_find(&origins, BLOCK, &found));
	cr_expect_eq(found.size, 100);
	cr_expect_eq(found.allocated_at, 0x5555deadbeef);
	cr_expect_eq(found.allocated_by, 4194303);
	cr_expect_eq(found.freed_by, 0);
	cr_expect_eq(found.freed_at, 0);
}

Test(guard_origin, of_a_freed_block_both_ends_of_its_life_are_known)
{
	hq_origins_allocated(&origins, BLOCK, 100, 0x1111, 7);
	hq_origins_freed(&origins, BLOCK, 0x2222, 8);
	cr_assert(hq_origins_find(&origins, BLOCK, &found));
	cr_expect_eq(found.allocated_at, 0x1111);
	cr_expect_eq(found.freed_at, 0x2222);
	cr_expect_eq(found.freed_by, 8);
}

Test(guard_origin, who_freed_a_place_stays_known_when_it_is_used_again)
{
	hq_origins_allocated(&origins, BLOCK, 100, 0x1111, 7);
	hq_origins_freed(&origins, BLOCK, 0x2222, 8);
	hq_origins_allocated(&origins, BLOCK, 50, 0x3333, 9);
	cr_assert(hq_origins_find(&origins, BLOCK, &found));
	cr_expect_eq(found.allocated_by, 9);
	cr_expect_eq(found.freed_by, 8);
	cr_expect_eq(found.freed_at, 0x2222);
}

Test(guard_origin, of_an_address_that_was_never_seen_nothing_is_known)
{
	cr_expect_not(hq_origins_find(&origins, BLOCK, &found));
	cr_expect_not(hq_origins_find(&origins, 0, &found));
	hq_origins_freed(&origins, BLOCK, 0x2222, 8);
	cr_expect_not(hq_origins_find(&origins, BLOCK, &found));
}

/* Another address that goes into the same entry. */
static uint64_t rival_of(uint64_t address)
{
	uint64_t rival = address;

	do
		rival += 16;
	while (hq_origin_index(hq_origin_hash(rival)) != hq_origin_index(hq_origin_hash(address)));
	return rival;
}

Test(guard_origin, newer_address_takes_the_place_of_an_older_one)
{
	const uint64_t rival = rival_of(BLOCK);

	hq_origins_allocated(&origins, BLOCK, 100, 0x1111, 7);
	hq_origins_freed(&origins, BLOCK, 0x4444, 5);
	hq_origins_allocated(&origins, rival, 200, 0x2222, 8);
	cr_expect_not(hq_origins_find(&origins, BLOCK, &found));
	cr_assert(hq_origins_find(&origins, rival, &found));
	cr_expect_eq(found.size, 200);
	cr_expect_eq(found.freed_by, 0);
	hq_origins_freed(&origins, BLOCK, 0x3333, 9);
	cr_assert(hq_origins_find(&origins, rival, &found));
	cr_expect_eq(found.freed_by, 0);
}

Test(guard_origin, size_that_does_not_fit_is_not_told)
{
	hq_origins_allocated(&origins, BLOCK, 1ull << 32, 0x1111, 7);
	cr_assert(hq_origins_find(&origins, BLOCK, &found));
	cr_expect_eq(found.size, 0);
}

/* Two threads write one entry for two addresses; each place tells of which it is. */
static void *write_often(void *argument)
{
	const uint64_t address = (uintptr_t)argument;

	for (int i = 0; i < 200000; i++)
		hq_origins_allocated(&origins, address, address % 1000, address & 0xffffffff,
				     (uint32_t)(address >> 3 & 0xffff));
	return NULL;
}

Test(guard_origin, nothing_is_told_that_was_mixed_from_two_addresses)
{
	const uint64_t rival = rival_of(BLOCK);
	pthread_t threads[2];

	cr_assert_eq(pthread_create(&threads[0], NULL, write_often, (void *)(uintptr_t)BLOCK), 0);
	cr_assert_eq(pthread_create(&threads[1], NULL, write_often, (void *)(uintptr_t)rival), 0);
	for (int i = 0; i < 100000; i++) {
		if (!hq_origins_find(&origins, BLOCK, &found))
			continue;
		cr_assert_eq(found.allocated_at, BLOCK & 0xffffffff);
		if (found.allocated_by)
			cr_assert_eq(found.allocated_by, BLOCK >> 3 & 0xffff);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}
