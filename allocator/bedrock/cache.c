/* SPDX-License-Identifier: MIT */
/*
 * The slow half of the thread caches: filling, emptying and sizing.
 *
 * Magazines start small and double each time they turn out too small, out of the thread's budget.
 * Classes that have had no slow path for a while give their magazines and their share back.
 */
#include "allocator/bedrock/cache.h"

#include "allocator/bedrock/budget.h"
#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/link.h"
#include "allocator/bedrock/misuse.h"
#include "allocator/bedrock/owner.h"
#include "allocator/bedrock/thread.h"

#define BEDROCK_CACHE_TRIM_EVERY 16u
/* First magazine of a class: a page's worth, but not more blocks than this. */
#define BEDROCK_CACHE_FIRST_BLOCKS 16u
#define BEDROCK_CACHE_UNUSED_SHARE 16u
/* So many blocks are returned by one free at most, if they are of one slab. */
#define BEDROCK_CACHE_RETURN_BLOCKS 32u
/* After so many have gone back, more is looked after: limits, idle classes, the clock. */
#define BEDROCK_CACHE_LOOK_BLOCKS 256
/* So many fresh blocks are linked at a time. */
#define BEDROCK_CACHE_LINK_BLOCKS 64u

__thread struct bedrock_front bedrock_front = {
	.key_of_tiny = { BEDROCK_TINY_ROWS(BEDROCK_KEY_SHIFT) },
};

__thread struct bedrock_cache *bedrock_cache_current;

static void bedrock_cache_return_spare(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	void *head = side->head;

	bedrock_cache_magazine(cache, class_index)->room += (int32_t)side->count;
	side->head = NULL;
	side->count = 0;
	if (head)
		bedrock_slab_return(class_index, head);
}

/* Put a list in the place of the hot magazine, whose own list is forgotten. */
static void bedrock_cache_set_hot(struct bedrock_cache *cache, unsigned class_index, void *head,
				  uint32_t count)
{
	const struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	hot->head = head;
	hot->room = (int32_t)(2 * side->limit) - (int32_t)(side->count + side->fresh_count + count);
}

/* The hot magazine, and what is fresh. */
static void bedrock_cache_return_hot(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	void *head = bedrock_cache_magazine(cache, class_index)->head;
	uint32_t fresh_count = side->fresh_count;

	side->fresh_count = 0;
	bedrock_cache_set_hot(cache, class_index, NULL, 0);
	if (head)
		bedrock_slab_return(class_index, head);
	if (fresh_count > 0)
		bedrock_slab_return_fresh(class_index, side->fresh, fresh_count);
}

/* Shrink the next class if it has been idle since the last time round. */
static void bedrock_cache_trim_next(struct bedrock_cache *cache, unsigned busy_class)
{
	unsigned class_index = cache->trim_class;
	struct bedrock_cache_side *side = &cache->sides[class_index];

	cache->trim_class = class_index + 1 < BEDROCK_CLASS_COUNT ? class_index + 1 : 1;
	if (class_index == busy_class || side->limit == 0)
		return;
	if (side->is_touched) {
		side->is_touched = false;
		return;
	}
	side->has_missed = false;
	bedrock_cache_return_spare(cache, class_index);
	bedrock_budget_set_limit(cache, class_index, side->limit / 2);
	if (bedrock_cache_magazine(cache, class_index)->room < 0)
		bedrock_cache_return_hot(cache, class_index);
	bedrock_budget_lower(cache, BEDROCK_BUDGET_STEP_BYTES);
}

static bool bedrock_cache_empty(struct bedrock_cache *cache)
{
	bool had_any = false;

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		had_any |= bedrock_cache_magazine(cache, i)->head || cache->sides[i].head ||
			   cache->sides[i].fresh_count > 0;
		bedrock_cache_return_spare(cache, i);
		bedrock_cache_return_hot(cache, i);
	}
	return had_any;
}

/* Memory is short: give back all blocks, and half of what may be held from now on. */
static void bedrock_cache_shrink(struct bedrock_cache *cache, uint32_t epoch)
{
	cache->shrink_epoch = epoch;
	bedrock_cache_empty(cache);
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		bedrock_budget_set_limit(cache, i, cache->sides[i].limit / 2);
	bedrock_budget_lower(cache, 0);
}

static void bedrock_cache_note_slow(struct bedrock_cache *cache, unsigned class_index)
{
	uint32_t epoch = bedrock_load_relaxed(&bedrock_heap.relief.shrink_epoch);

	cache->sides[class_index].is_touched = true;
	if (bedrock_unlikely(cache->shrink_epoch != epoch))
		bedrock_cache_shrink(cache, epoch);
	if (--cache->trim_left > 0)
		return;
	cache->trim_left = BEDROCK_CACHE_TRIM_EVERY;
	bedrock_cache_trim_next(cache, class_index);
}

static uint32_t bedrock_cache_first_limit(size_t block_bytes)
{
	size_t blocks = BEDROCK_PAGE_BYTES / block_bytes;

	if (blocks > BEDROCK_CACHE_FIRST_BLOCKS)
		return BEDROCK_CACHE_FIRST_BLOCKS;
	return blocks > 0 ? (uint32_t)blocks : 1;
}

/*
 * How large the magazine may become. A class that a thread only frees gains nothing from a large
 * one, and each block it holds may keep a whole slab from becoming empty.
 */
static uint32_t bedrock_cache_most(const struct bedrock_cache *cache, unsigned class_index)
{
	uint32_t most = bedrock_class_magazine_max(class_index);

	if (cache->sides[class_index].has_missed)
		return most;
	return most > BEDROCK_CACHE_UNUSED_SHARE ? most / BEDROCK_CACHE_UNUSED_SHARE : 1;
}

/* The magazine was too small: double it if the budget allows, at others' expense if not. */
static void bedrock_cache_grow(struct bedrock_cache *cache, unsigned class_index)
{
	size_t block_bytes = bedrock_class_bytes(class_index);
	uint32_t limit = cache->sides[class_index].limit;
	uint32_t most = bedrock_cache_most(cache, class_index);
	uint32_t wanted = limit ? 2 * limit : bedrock_cache_first_limit(block_bytes);

	if (block_bytes > (size_t)bedrock_heap.options.tcache_max_bytes)
		return;
	if (wanted > most)
		wanted = most;
	if (wanted <= limit)
		return;
	int64_t cost_bytes = 2 * (int64_t)block_bytes * ((int64_t)wanted - (int64_t)limit);

	if (cache->spare_bytes < cost_bytes && !bedrock_budget_raise(cache)) {
		for (int i = 0; i < 4 && cache->spare_bytes < cost_bytes; i++)
			bedrock_cache_trim_next(cache, class_index);
	}
	if (cache->spare_bytes >= cost_bytes)
		bedrock_budget_set_limit(cache, class_index, wanted);
}

/*
 * As the fast path does it, but that the link is looked at. Nobody gets to see one that may be made
 * of a secret.
 */
static void *bedrock_cache_pop(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);
	void *block = hot->head;
	void *next = bedrock_link_next(block);

	if (bedrock_unlikely(next && !bedrock_slab_holds(class_index, next)))
		bedrock_slab_accuse(block);
	if (bedrock_likely(!cache->is_closed))
		return bedrock_fast_pop(hot);
	hot->head = next;
	hot->room++;
	*(void **)block = NULL;
	return block;
}

static void bedrock_cache_push(struct bedrock_cache *cache, void *block, unsigned class_index)
{
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	hot->room--;
	if (bedrock_likely(!cache->is_closed)) {
		bedrock_fast_push(hot, block);
		return;
	}
	bedrock_link_set(block, hot->head);
	hot->head = block;
}

/*
 * Make a chain of the first fresh blocks. Of pages that may not be in memory, only one is touched,
 * and that was most likely touched by whoever had the block before.
 */
static void bedrock_cache_link_fresh(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);
	size_t block_bytes = bedrock_class_bytes(class_index);
	uint32_t most = side->fresh_count < BEDROCK_CACHE_LINK_BLOCKS ? side->fresh_count
								      : BEDROCK_CACHE_LINK_BLOCKS;
	char *block = side->fresh;
	char *last = block + (most - 1) * block_bytes;
	char *page_last = (char *)((uintptr_t)block | (BEDROCK_PAGE_BYTES - 1));
	uint32_t count = 1;

	if (last > page_last)
		last = page_last;
	hot->head = block;
	for (; block + block_bytes <= last; block += block_bytes, count++)
		bedrock_link_set(block, block + block_bytes);
	bedrock_link_set(block, NULL);
	side->fresh = block + block_bytes;
	side->fresh_count -= count;
}

/* The next fresh block. The hot magazine is empty. */
static void *bedrock_cache_take_fresh(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);
	size_t block_bytes = bedrock_class_bytes(class_index);
	char *block = side->fresh;

	/* In a page that no other block begins in this one may be the first to be touched. */
	if (side->is_resident || (uintptr_t)block % BEDROCK_PAGE_BYTES >= block_bytes) {
		bedrock_cache_link_fresh(cache, class_index);
		return bedrock_cache_pop(cache, class_index);
	}
	side->fresh = block + block_bytes;
	side->fresh_count--;
	hot->room++;
	return block;
}

/* Fill the empty hot magazine from an arena. */
static int bedrock_cache_fill(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_heap *heap = &bedrock_heap;
	struct bedrock_list list;

	side->has_missed = true;
	bedrock_cache_grow(cache, class_index);
	uint32_t want = side->limit > 0 ? side->limit : 1;
	int rc = bedrock_heap_take(heap, bedrock_heap_arena(heap, cache->thread_index), class_index,
				   want, &list);

	if (rc)
		return rc;
	if (list.is_fresh) {
		side->fresh = list.head;
		side->fresh_count = list.count;
		side->is_resident = list.is_resident;
		bedrock_cache_set_hot(cache, class_index, NULL, 0);
	} else {
		bedrock_cache_set_hot(cache, class_index, list.head, list.count);
	}
	return 0;
}

/* For threads without a cache. */
static void *bedrock_cache_alloc_direct(unsigned class_index)
{
	struct bedrock_heap *heap = &bedrock_heap;
	struct bedrock_arena *arena = bedrock_heap_arena(heap, bedrock_thread_index());
	struct bedrock_list list;

	if (bedrock_heap_take(heap, arena, class_index, 1, &list))
		return NULL;
	return list.head;
}

/* A block that the cache has, or NULL. */
static inline void *bedrock_cache_pick(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	side->is_touched = true;
	if (!hot->head) {
		if (bedrock_unlikely(cache->is_closed &&
				     bedrock_cache_hot_count(cache, class_index) != 0))
			bedrock_misuse_list(bedrock_class_bytes(class_index));
		if (!side->head)
			return side->fresh_count > 0 ? bedrock_cache_take_fresh(cache, class_index)
						     : NULL;
		/* The number of blocks is the same, and so is the room. */
		hot->head = side->head;
		side->head = NULL;
		side->count = 0;
	}
	return bedrock_cache_pop(cache, class_index);
}

void *bedrock_cache_alloc_own(unsigned class_index)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	if (!cache)
		return NULL;
	bedrock_owner_enter(cache);
	void *block = bedrock_cache_pick(cache, class_index);

	bedrock_owner_leave(cache);
	return block;
}

void *bedrock_cache_alloc(unsigned class_index)
{
	struct bedrock_cache *cache = bedrock_thread_cache();

	if (!cache)
		return bedrock_cache_alloc_direct(class_index);
	bedrock_owner_enter(cache);
	bedrock_cache_note_slow(cache, class_index);
	void *block = bedrock_cache_pick(cache, class_index);

	if (!block && bedrock_cache_fill(cache, class_index) == 0)
		block = bedrock_cache_pick(cache, class_index);
	bedrock_owner_leave(cache);
	return block;
}

/* What is returned comes out of the spare magazine, which is the hot one if there is none. */
static void bedrock_cache_provide_spare(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	if (side->head)
		return;
	side->count = bedrock_cache_hot_count(cache, class_index);
	side->head = hot->head;
	hot->head = NULL;
}

/* Return blocks of the spare magazine to one slab. */
static void bedrock_cache_return_some(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	uint32_t count;

	side->head = bedrock_slab_return_first(class_index, side->head, BEDROCK_CACHE_RETURN_BLOCKS,
					       &count);
	side->count -= count;
	side->returns_left -= (int32_t)count;
	bedrock_cache_magazine(cache, class_index)->room += (int32_t)count;
}

static void bedrock_cache_make_room(struct bedrock_cache *cache, unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];

	side->returns_left = BEDROCK_CACHE_LOOK_BLOCKS;
	bedrock_cache_provide_spare(cache, class_index);
	if (side->head)
		bedrock_cache_return_some(cache, class_index);
	else
		bedrock_cache_return_hot(cache, class_index);
}

static inline bool bedrock_cache_free_within(struct bedrock_cache *cache, void *block,
					     unsigned class_index)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	if (cache->is_closed && hot->room > 0) {
		bedrock_cache_push(cache, block, class_index);
		return true;
	}
	if (side->returns_left <= 0 || hot->room < 0)
		return false;
	bedrock_cache_provide_spare(cache, class_index);
	if (!side->head)
		return false;
	side->is_touched = true;
	bedrock_cache_return_some(cache, class_index);
	bedrock_cache_push(cache, block, class_index);
	return true;
}

bool bedrock_cache_free_own(void *block, unsigned class_index)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	if (!cache)
		return false;
	bedrock_owner_enter(cache);
	bool is_done = bedrock_cache_free_within(cache, block, class_index);

	bedrock_owner_leave(cache);
	return is_done;
}

void bedrock_cache_free(void *block, unsigned class_index)
{
	struct bedrock_cache *cache = bedrock_thread_cache();

	if (!cache) {
		bedrock_link_set(block, NULL);
		bedrock_slab_return(class_index, block);
		return;
	}
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_magazine(cache, class_index);

	bedrock_owner_enter(cache);
	bedrock_cache_note_slow(cache, class_index);
	if (hot->room <= 0) {
		bedrock_cache_grow(cache, class_index);
		if (hot->room <= 0)
			bedrock_cache_make_room(cache, class_index);
	}
	bedrock_cache_push(cache, block, class_index);
	/* A class that may not be cached at all. */
	if (cache->sides[class_index].limit == 0)
		bedrock_cache_return_hot(cache, class_index);
	bedrock_owner_leave(cache);
}

/* What the cache holds, and may hold, is nothing from now on. */
static void bedrock_cache_drain(struct bedrock_cache *cache)
{
	bedrock_cache_empty(cache);
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		bedrock_budget_set_limit(cache, i, 0);
}

void bedrock_cache_close(void)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	if (!cache)
		return;
	bedrock_owner_drain_left(&bedrock_heap);
	bedrock_owner_enter(cache);
	bedrock_cache_drain(cache);
	cache->is_closed = true;
	bedrock_owner_leave(cache);
}

bool bedrock_cache_flush(void)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	if (!cache)
		return false;
	bedrock_owner_enter(cache);
	bool had_any = bedrock_cache_empty(cache);

	bedrock_owner_leave(cache);
	return had_any;
}

/* The hot magazines, from where fast paths find them to where they are hidden, or the reverse. */
static void bedrock_cache_hide(struct bedrock_cache *cache)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_hot(i);

		cache->hidden[i] = *hot;
		*hot = (struct bedrock_hot){ .head = NULL };
	}
	cache->is_closed = true;
}

static void bedrock_cache_show(struct bedrock_cache *cache)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		*bedrock_cache_hot(i) = cache->hidden[i];
		cache->hidden[i] = (struct bedrock_hot){ .head = NULL };
	}
	cache->is_closed = false;
}

static uint64_t bedrock_cache_bytes(struct bedrock_cache *cache)
{
	uint64_t bytes = 0;

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		const struct bedrock_cache_side *side = &cache->sides[i];
		uint64_t count =
			bedrock_cache_hot_count(cache, i) + side->count + side->fresh_count;

		bytes += count * bedrock_class_bytes(i);
	}
	return bytes;
}

void bedrock_cache_begin(struct bedrock_cache *cache)
{
	cache->trim_left = BEDROCK_CACHE_TRIM_EVERY;
	cache->trim_class = 1;
	if (bedrock_heap.is_closed)
		bedrock_cache_finish(cache);
	if (cache->left_bytes > 0) {
		bedrock_cache_show(cache);
		cache->left_bytes = 0;
		return;
	}
	cache->is_closed = bedrock_heap.is_closed;
	cache->shrink_epoch = bedrock_load_relaxed(&bedrock_heap.relief.shrink_epoch);
	cache->budget_bytes = BEDROCK_BUDGET_BASE_BYTES;
	cache->spare_bytes = BEDROCK_BUDGET_BASE_BYTES;
}

void bedrock_cache_leave(struct bedrock_cache *cache)
{
	if (!cache->is_closed)
		bedrock_cache_hide(cache);
	cache->left_bytes = bedrock_cache_bytes(cache);
	/* Nothing to be found, but limits that are not those of a new one. */
	if (cache->left_bytes == 0)
		bedrock_cache_finish(cache);
}

void bedrock_cache_finish(struct bedrock_cache *cache)
{
	bedrock_cache_drain(cache);
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		cache->sides[i].is_touched = false;
		cache->sides[i].has_missed = false;
		cache->sides[i].returns_left = 0;
	}
	bedrock_budget_lower(cache, 0);
	cache->left_bytes = 0;
}
