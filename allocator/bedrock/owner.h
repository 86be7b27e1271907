/* SPDX-License-Identifier: MIT */
/*
 * Which thread has which cache, and the owner's part in what idle.h says.
 *
 * Caches are made when no thread that has ended has left one, are known to thieves from then on,
 * and never unmapped. A slow path enters the thread's own cache before it touches anything but the
 * hot magazine of one pop or push, and leaves it after.
 */
#ifndef BEDROCK_OWNER_H
#define BEDROCK_OWNER_H

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/fast.h"

struct bedrock_heap;

/* A cache that nobody owns, one that is not empty first, or NULL; and the reverse. */
struct bedrock_cache *bedrock_owner_get_cache(struct bedrock_heap *heap);
void bedrock_owner_put_cache(struct bedrock_heap *heap, struct bedrock_cache *cache);

/*
 * Return what threads that have ended have left in their caches. All of it, when it returns, also
 * what another thread was just returning.
 */
void bedrock_owner_drain_left(struct bedrock_heap *heap);

/*
 * One cache after the other, until it was so many bytes; nothing while another thread is at it.
 * -> was there anything?
 */
bool bedrock_owner_drain_some(struct bedrock_heap *heap, uint64_t bytes);

/* From now on the cache is the calling thread's, whose front it is, or with NULL nobody's. */
void bedrock_owner_set(struct bedrock_cache *cache, struct bedrock_front *front);

/* In the child of a fork: only `own` has an owner, if it is not NULL. */
void bedrock_owner_forget_others(struct bedrock_heap *heap, struct bedrock_cache *own);

/* A thief is here: wait until it has gone. */
void bedrock_owner_wait(struct bedrock_cache *cache);

/* A thief was here: bring `room` up to date. */
void bedrock_owner_settle(struct bedrock_cache *cache);

/*
 * Keep thieves out, in a slow path. No fence between the store and the load: a thief that has not
 * seen the store has seen this thread asleep with the lock held, so this thread sees the lock.
 */
static inline void bedrock_owner_enter(struct bedrock_cache *cache)
{
	bedrock_store_relaxed(&cache->is_inside, true);
	bedrock_fast_order();
	if (bedrock_unlikely(bedrock_lock_is_held(&cache->lock)))
		bedrock_owner_wait(cache);
	if (bedrock_unlikely(cache->is_robbed))
		bedrock_owner_settle(cache);
}

static inline void bedrock_owner_leave(struct bedrock_cache *cache)
{
	/* Pairs with the load in bedrock_idle_nap_begin. */
	bedrock_store_release(&cache->is_inside, false);
}

#endif
