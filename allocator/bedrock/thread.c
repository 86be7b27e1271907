/* SPDX-License-Identifier: MIT */
/*
 * The life of a thread's cache. Its birth and end fall into those of the thread, where libc itself
 * allocates and frees: so a thread has no cache while it is getting one, and gets none after its
 * end. A thread that could have none asks again, but not each time.
 */
#include "allocator/bedrock/thread.h"

#include "allocator/bedrock/background.h"
#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/owner.h"

#define BEDROCK_THREAD_TICK_EVERY 16u
/* How often a thread that could have no cache goes without before it asks again. */
#define BEDROCK_THREAD_HOLIDAY 16u

/* Where a thread is in its life. CACHED is the same as that bedrock_cache_current is not NULL. */
enum bedrock_thread_phase {
	BEDROCK_THREAD_NEW,
	BEDROCK_THREAD_IN_BIRTH,
	BEDROCK_THREAD_CACHED,
	BEDROCK_THREAD_OVER,
};

static __thread enum bedrock_thread_phase bedrock_thread_phase
	__attribute__((tls_model("initial-exec")));

static __thread uint32_t bedrock_thread_holiday __attribute__((tls_model("initial-exec")));

/* Make the cache known to the thread's end. libc may allocate for this: see IN_BIRTH. */
static struct bedrock_cache *bedrock_thread_adopt(struct bedrock_heap *heap,
						  struct bedrock_cache *cache)
{
	if (bedrock_os_key_set(heap->thread_key, cache) != 0) {
		bedrock_owner_put_cache(heap, cache);
		bedrock_thread_phase = BEDROCK_THREAD_NEW;
		bedrock_thread_holiday = BEDROCK_THREAD_HOLIDAY;
		return NULL;
	}
	bedrock_cache_begin(cache);
	bedrock_add_relaxed(&heap->live_caches, 1);
	bedrock_owner_set(cache, &bedrock_front);
	bedrock_cache_current = cache;
	bedrock_thread_phase = BEDROCK_THREAD_CACHED;
	return cache;
}

struct bedrock_cache *bedrock_thread_make_cache(void)
{
	struct bedrock_heap *heap = &bedrock_heap;

	if (bedrock_thread_phase != BEDROCK_THREAD_NEW || !heap->has_thread_key ||
	    !bedrock_heap_caches(heap))
		return NULL;
	if (bedrock_thread_holiday > 0) {
		bedrock_thread_holiday--;
		return NULL;
	}
	struct bedrock_cache *cache = bedrock_owner_get_cache(heap);

	if (!cache)
		return NULL;
	bedrock_thread_phase = BEDROCK_THREAD_IN_BIRTH;
	cache->thread_index = bedrock_add_relaxed(&heap->next_thread_arena, 1);
	cache->tick_left = BEDROCK_THREAD_TICK_EVERY;
	return bedrock_thread_adopt(heap, cache);
}

void bedrock_thread_end(void *argument)
{
	struct bedrock_heap *heap = &bedrock_heap;
	struct bedrock_cache *cache = argument;

	bedrock_thread_phase = BEDROCK_THREAD_OVER;
	bedrock_cache_current = NULL;
	bedrock_owner_enter(cache);
	bedrock_cache_leave(cache);
	bedrock_owner_set(cache, NULL);
	bedrock_owner_leave(cache);
	bedrock_owner_put_cache(heap, cache);
	/* Pairs with the load in bedrock_background_is_alone. */
	if (bedrock_sub_acq_rel(&heap->live_caches, 1) == 1)
		bedrock_background_wake(&heap->background);
}

void bedrock_thread_forgo_cache(void)
{
	bedrock_thread_phase = BEDROCK_THREAD_OVER;
}

uint32_t bedrock_thread_index(void)
{
	const struct bedrock_cache *cache = bedrock_cache_current;

	return cache ? cache->thread_index : (uint32_t)((uintptr_t)&bedrock_thread_phase >> 12);
}

bool bedrock_thread_set_index(uint32_t index)
{
	struct bedrock_cache *cache = bedrock_thread_cache();

	if (cache)
		cache->thread_index = index;
	return cache != NULL;
}

bool bedrock_thread_is_tick(void)
{
	/* A thread that only has large blocks counts as a user of the allocator as well. */
	struct bedrock_cache *cache = bedrock_thread_cache();

	if (!cache)
		return true;
	if (--cache->tick_left > 0)
		return false;
	cache->tick_left = BEDROCK_THREAD_TICK_EVERY;
	return true;
}

bool bedrock_thread_is_settled(void)
{
	return bedrock_thread_phase == BEDROCK_THREAD_CACHED ||
	       (bedrock_thread_phase == BEDROCK_THREAD_NEW && !bedrock_heap_caches(&bedrock_heap));
}

void bedrock_thread_lock_cache(void)
{
	if (bedrock_cache_current)
		bedrock_owner_enter(bedrock_cache_current);
}

void bedrock_thread_unlock_cache(void)
{
	if (bedrock_cache_current)
		bedrock_owner_leave(bedrock_cache_current);
}

void bedrock_thread_forget_others(void)
{
	struct bedrock_cache *own = bedrock_cache_current;

	bedrock_store_relaxed(&bedrock_heap.live_caches, own ? 1 : 0);
	int64_t used_bytes = own ? own->budget_bytes - BEDROCK_BUDGET_BASE_BYTES : 0;

	for (struct bedrock_cache *left = bedrock_heap.left_caches; left; left = left->next_spare)
		used_bytes += left->budget_bytes - BEDROCK_BUDGET_BASE_BYTES;
	bedrock_store_relaxed(&bedrock_heap.cache_pool_used_bytes, used_bytes);
	bedrock_owner_forget_others(&bedrock_heap, own);
}
