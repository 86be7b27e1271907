/* SPDX-License-Identifier: MIT */
/*
 * Caches change hands; and what a thread does after a thief has been to its own.
 */
#include "allocator/bedrock/owner.h"

#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/slab.h"

/* A cache that never was one before; from now on it is known to who looks after idle ones. */
static struct bedrock_cache *bedrock_owner_make_cache(struct bedrock_heap *heap)
{
	struct bedrock_cache *cache = bedrock_meta_alloc(&heap->meta, sizeof(*cache));

	if (!cache)
		return NULL;
	bedrock_lock_init(&cache->lock, BEDROCK_RANK_CACHE);
	cache->next_known = bedrock_load_relaxed(&heap->known_caches);
	/* Pairs with the load in bedrock_idle_take. */
	while (!bedrock_cas_weak_release(&heap->known_caches, &cache->next_known, cache))
		continue;
	return cache;
}

static struct bedrock_cache *bedrock_owner_pop(struct bedrock_cache **list)
{
	struct bedrock_cache *cache = *list;

	if (cache)
		*list = cache->next_spare;
	return cache;
}

struct bedrock_cache *bedrock_owner_get_cache(struct bedrock_heap *heap)
{
	bedrock_lock_take(&heap->meta.lock);
	struct bedrock_cache *cache = bedrock_owner_pop(&heap->left_caches);

	if (cache)
		bedrock_sub_relaxed(&heap->left_bytes, cache->left_bytes);
	else
		cache = bedrock_owner_pop(&heap->spare_caches);
	bedrock_lock_give(&heap->meta.lock);
	return cache ? cache : bedrock_owner_make_cache(heap);
}

void bedrock_owner_put_cache(struct bedrock_heap *heap, struct bedrock_cache *cache)
{
	bedrock_lock_take(&heap->meta.lock);
	struct bedrock_cache **list =
		cache->left_bytes > 0 ? &heap->left_caches : &heap->spare_caches;

	cache->next_spare = *list;
	*list = cache;
	bedrock_add_relaxed(&heap->left_bytes, cache->left_bytes);
	bedrock_lock_give(&heap->meta.lock);
}

/* Under left_lock. -> how many bytes one ended thread had left, or 0: there is no such. */
static uint64_t bedrock_owner_drain_one(struct bedrock_heap *heap)
{
	struct bedrock_cache *cache;
	uint64_t bytes;

	bedrock_lock_take(&heap->meta.lock);
	cache = bedrock_owner_pop(&heap->left_caches);
	bedrock_lock_give(&heap->meta.lock);
	if (!cache)
		return 0;
	bytes = cache->left_bytes;
	bedrock_cache_finish(cache);
	bedrock_owner_put_cache(heap, cache);
	/* Pairs with the load in bedrock_owner_has_left. */
	bedrock_sub_acq_rel(&heap->left_bytes, bytes);
	return bytes;
}

static bool bedrock_owner_has_left(struct bedrock_heap *heap)
{
	return bedrock_unlikely(bedrock_load_acquire(&heap->left_bytes) > 0);
}

void bedrock_owner_drain_left(struct bedrock_heap *heap)
{
	if (!bedrock_owner_has_left(heap))
		return;
	bedrock_lock_take(&heap->left_lock);
	while (bedrock_owner_drain_one(heap) > 0)
		continue;
	bedrock_lock_give(&heap->left_lock);
}

bool bedrock_owner_drain_some(struct bedrock_heap *heap, uint64_t bytes)
{
	uint64_t done_bytes = 0;
	uint64_t more_bytes;

	if (!bedrock_owner_has_left(heap) || !bedrock_lock_try(&heap->left_lock))
		return false;
	do {
		more_bytes = bedrock_owner_drain_one(heap);
		done_bytes += more_bytes;
	} while (more_bytes > 0 && done_bytes < bytes);
	bedrock_lock_give(&heap->left_lock);
	return done_bytes > 0;
}

void bedrock_owner_set(struct bedrock_cache *cache, struct bedrock_front *front)
{
	bedrock_lock_take(&cache->lock);
	cache->front = front;
	if (front)
		cache->thread_id = bedrock_os_thread_id();
	bedrock_lock_give(&cache->lock);
}

void bedrock_owner_forget_others(struct bedrock_heap *heap, struct bedrock_cache *own)
{
	struct bedrock_cache *cache = bedrock_load_acquire(&heap->known_caches);

	for (; cache; cache = cache->next_known) {
		/*
		 * A thief that does not exist here may have held it; the own one as well, to find
		 * that its owner was about to fork.
		 */
		bedrock_lock_init(&cache->lock, BEDROCK_RANK_CACHE);
		if (cache == own)
			own->thread_id = bedrock_os_thread_id();
		else
			cache->front = NULL;
	}
}

/* A list that may have been taken: see idle.h. -> how many blocks it had, if it was. */
static uint32_t bedrock_owner_settle_doubt(struct bedrock_cache *cache, unsigned class_index)
{
	const struct bedrock_cache_side *side = &cache->sides[class_index];
	uint32_t missing = bedrock_cache_hot_count(cache, class_index);

	for (void *block = bedrock_cache_hot(class_index)->head; block; block = *(void **)block)
		missing--;
	if (missing > 0)
		bedrock_slab_return(class_index, side->doubtful);
	return missing;
}

void bedrock_owner_settle(struct bedrock_cache *cache)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_cache_side *side = &cache->sides[i];

		if (side->doubtful)
			side->taken += bedrock_owner_settle_doubt(cache, i);
		side->doubtful = NULL;
		bedrock_cache_magazine(cache, i)->room += (int32_t)side->taken;
		side->taken = 0;
	}
	cache->is_robbed = false;
}

void bedrock_owner_wait(struct bedrock_cache *cache)
{
	bedrock_lock_take(&cache->lock);
	bedrock_lock_give(&cache->lock);
}
