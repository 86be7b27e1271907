/* SPDX-License-Identifier: MIT */
/*
 * The slow half of the futex lock, and the debug check of the lock order.
 *
 * A waiter spins briefly, since critical sections here are short, and then sleeps in slices of
 * a second: a lost wake-up could only come from a bug, and must not become a hang.
 */
#include "allocator/bedrock/lock.h"

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/os.h"

#define BEDROCK_LOCK_SPINS    64
#define BEDROCK_LOCK_SLICE_NS 1000000000u

void bedrock_lock_init(struct bedrock_lock *lock, enum bedrock_rank rank)
{
	bedrock_store_relaxed(&lock->word, 0);
	lock->rank = rank;
}

void bedrock_lock_wait(struct bedrock_lock *lock)
{
	for (int i = 0; i < BEDROCK_LOCK_SPINS; i++) {
		uint32_t expected = 0;

		if (bedrock_load_relaxed(&lock->word) == 0 &&
		    bedrock_cas_acquire(&lock->word, &expected, 1))
			return;
		bedrock_atomic_pause();
	}
	/* Taking it with 2 may cost a needless wake-up; taking it with 1 could lose one. */
	while (bedrock_exchange_acquire(&lock->word, 2) != 0)
		bedrock_os_wait(&lock->word, 2, BEDROCK_LOCK_SLICE_NS);
}

void bedrock_lock_give(struct bedrock_lock *lock)
{
	bedrock_lock_note_given(lock);
	if (bedrock_exchange_release(&lock->word, 0) == 2)
		bedrock_os_wake(&lock->word, 1);
}

#if BEDROCK_DEBUG >= 1
static __thread uint32_t bedrock_lock_held[BEDROCK_RANK_COUNT];
static __thread bool bedrock_lock_many;

void bedrock_lock_note_taken(const struct bedrock_lock *lock)
{
	bedrock_assert(lock->rank < BEDROCK_RANK_COUNT);
	for (uint32_t rank = lock->rank; rank < BEDROCK_RANK_COUNT; rank++) {
		bool is_allowed = rank == lock->rank && bedrock_lock_many;

		bedrock_assert(bedrock_lock_held[rank] == 0 || is_allowed);
	}
	bedrock_lock_held[lock->rank]++;
}

void bedrock_lock_note_given(const struct bedrock_lock *lock)
{
	bedrock_assert(bedrock_lock_held[lock->rank] > 0);
	bedrock_lock_held[lock->rank]--;
}

void bedrock_lock_allow_many(bool allowed)
{
	bedrock_lock_many = allowed;
}

bool bedrock_lock_none_held(void)
{
	for (uint32_t rank = 0; rank < BEDROCK_RANK_COUNT; rank++) {
		if (bedrock_lock_held[rank])
			return false;
	}
	return true;
}
#endif
