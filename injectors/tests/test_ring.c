/* SPDX-License-Identifier: MIT */
/*
 * The ring between two processes: nothing is lost but what was counted as dropped, records are
 * whole, and what was published can be read after the writer was killed.
 */
#include <criterion/criterion.h>
#include <sched.h>

#include "injectors/ring.h"
#include "injectors/tests/child.h"

#define ROOM    64u
#define RECORDS 200000ull

struct record {
	uint64_t number;
	uint64_t check; /* a function of number: a torn record shows */
};

struct shared {
	struct hq_ring ring;
	_Atomic uint64_t offered;
	struct record records[ROOM];
};

static struct shared *map_shared(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(shared, MAP_FAILED);
	return shared;
}

static uint64_t check_of(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15ull;
}

static void offer(struct shared *shared, uint64_t number)
{
	const int64_t index = hq_ring_reserve(&shared->ring, ROOM);

	hq_count_own(&shared->offered, 1);
	if (index < 0)
		return;
	shared->records[index].number = number;
	shared->records[index].check = check_of(number);
	hq_ring_publish(&shared->ring);
}

/* Takes one record; false if there is none. */
static bool take(struct shared *shared, struct record *record)
{
	const int64_t index = hq_ring_peek(&shared->ring, ROOM);

	if (index < 0)
		return false;
	*record = shared->records[index];
	hq_ring_taken(&shared->ring);
	return true;
}

static int write_all(struct child *self, void *cookie)
{
	(void)self;
	for (uint64_t number = 1; number <= RECORDS; number++)
		offer(cookie, number);
	return 0;
}

static int write_for_ever(struct child *self, void *cookie)
{
	(void)self;
	for (uint64_t number = 1;; number++) {
		offer(cookie, number);
		if (number % ROOM == 0)
			sched_yield();
	}
	return 0;
}

Test(ring, when_empty_has_nothing_to_take)
{
	struct shared *shared = map_shared();
	struct record record;

	cr_assert_not(take(shared, &record));
}

Test(ring, when_full_drops_the_new_and_keeps_the_old)
{
	struct shared *shared = map_shared();
	struct record record;

	for (uint64_t number = 1; number <= ROOM + 5; number++)
		offer(shared, number);
	cr_assert_eq(shared->ring.dropped, 5);
	for (uint64_t number = 1; number <= ROOM; number++) {
		cr_assert(take(shared, &record));
		cr_assert_eq(record.number, number);
	}
	cr_assert_not(take(shared, &record));
}

Test(ring, that_was_full_takes_records_again_after_one_was_read)
{
	struct shared *shared = map_shared();
	struct record record;

	for (uint64_t number = 1; number <= ROOM + 1; number++)
		offer(shared, number);
	cr_assert(take(shared, &record));
	offer(shared, 1000);
	cr_assert_eq(shared->ring.dropped, 1);
	while (take(shared, &record))
		;
	cr_assert_eq(record.number, 1000);
}

Test(ring, works_when_its_counters_wrap)
{
	struct shared *shared = map_shared();
	struct record record;

	shared->ring.head = shared->ring.tail = UINT64_MAX - 2;
	for (uint64_t number = 1; number <= 6; number++)
		offer(shared, number);
	for (uint64_t number = 1; number <= 6; number++) {
		cr_assert(take(shared, &record));
		cr_assert_eq(record.number, number);
	}
}

Test(ring, between_two_processes_loses_only_what_it_counts, .timeout = 90)
{
	struct shared *shared = map_shared();
	struct record record;
	struct child child;
	uint64_t taken = 0, last = 0;

	child_start(&child, write_all, shared);
	while (hq_load_acquire(&shared->offered) < RECORDS ||
	       hq_ring_peek(&shared->ring, ROOM) >= 0) {
		if (!take(shared, &record)) {
			sched_yield();
			continue;
		}
		cr_assert_eq(record.check, check_of(record.number), "torn record");
		cr_assert_gt(record.number, last, "out of order");
		last = record.number;
		taken++;
	}
	cr_assert_eq(child_end(&child), 0);
	cr_assert_eq(taken + shared->ring.dropped, RECORDS);
}

Test(ring, whose_writer_was_killed_can_be_read_to_its_last_whole_record, .timeout = 90)
{
	for (int round = 0; round < 20; round++) {
		struct shared *shared = map_shared();
		struct record record;
		struct child child;
		uint64_t taken = 0;

		child_start(&child, write_for_ever, shared);
		while (taken < 1000u + (uint64_t)round * 37)
			taken += take(shared, &record);
		child_kill(&child);
		while (take(shared, &record)) {
			cr_assert_eq(record.check, check_of(record.number));
			taken++;
		}
		cr_assert_eq(taken, shared->ring.head);
		munmap(shared, sizeof(*shared));
	}
}
