/* SPDX-License-Identifier: MIT */
/*
 * A four-byte lock on a futex, and the order in which locks may be taken.
 *
 * Our own rather than pthread's, because it must be valid as all-zero memory, small, and free of
 * owners: the child of a fork gives the locks that its parent took.
 * The order is the enum below: a thread may only take a lock whose rank is above every
 * rank it holds. Debug builds assert it; fork takes all locks, in this order.
 */
#ifndef BEDROCK_LOCK_H
#define BEDROCK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/debug.h"

enum bedrock_rank {
	BEDROCK_RANK_INIT,
	BEDROCK_RANK_CTL,
	BEDROCK_RANK_RELIEF,
	BEDROCK_RANK_CACHE,
	BEDROCK_RANK_LEFT,
	BEDROCK_RANK_ARENAS,
	BEDROCK_RANK_WATCH,
	BEDROCK_RANK_DECAY,
	BEDROCK_RANK_BIN,
	BEDROCK_RANK_PAGES,
	BEDROCK_RANK_HUGE,
	BEDROCK_RANK_SPACE,
	BEDROCK_RANK_META,
	BEDROCK_RANK_COUNT,
};

/* word: 0 free, 1 held, 2 held and somebody may be sleeping. */
struct bedrock_lock {
	_Atomic(uint32_t) word;
	uint32_t rank;
};

void bedrock_lock_init(struct bedrock_lock *lock, enum bedrock_rank rank);

/* The part of bedrock_lock_take for a lock that is held by somebody else. */
void bedrock_lock_wait(struct bedrock_lock *lock);

#if BEDROCK_DEBUG >= 1
void bedrock_lock_note_taken(const struct bedrock_lock *lock);
void bedrock_lock_note_given(const struct bedrock_lock *lock);
/* While true, this thread may hold several locks of one rank: only fork does. */
void bedrock_lock_allow_many(bool allowed);
/* No lock at all is held by this thread: true before anything that may call back into us. */
bool bedrock_lock_none_held(void);
#else
static inline void bedrock_lock_note_taken(const struct bedrock_lock *lock)
{
	(void)lock;
}
static inline void bedrock_lock_note_given(const struct bedrock_lock *lock)
{
	(void)lock;
}
static inline void bedrock_lock_allow_many(bool allowed)
{
	(void)allowed;
}
static inline bool bedrock_lock_none_held(void)
{
	return true;
}
#endif

static inline bool bedrock_lock_try(struct bedrock_lock *lock)
{
	uint32_t expected = 0;

	if (!bedrock_cas_acquire(&lock->word, &expected, 1))
		return false;
	bedrock_lock_note_taken(lock);
	return true;
}

static inline void bedrock_lock_take(struct bedrock_lock *lock)
{
	uint32_t expected = 0;

	if (!bedrock_cas_acquire(&lock->word, &expected, 1))
		bedrock_lock_wait(lock);
	bedrock_lock_note_taken(lock);
}

/* Does anybody hold the lock? If not, what its last holder did is visible. */
static inline bool bedrock_lock_is_held(const struct bedrock_lock *lock)
{
	return bedrock_load_acquire(&lock->word) != 0;
}

/* Does somebody sleep until the lock is given? It is held by the caller. */
static inline bool bedrock_lock_is_wanted(const struct bedrock_lock *lock)
{
	return bedrock_load_relaxed(&lock->word) == 2;
}

void bedrock_lock_give(struct bedrock_lock *lock);

#endif
