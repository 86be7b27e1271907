/* SPDX-License-Identifier: MIT */
/*
 * One look at the caches of other threads.
 */
#include "allocator/bedrock/idle.h"

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/nap.h"
#include "allocator/bedrock/os.h"

/* How long a kernel or sandbox that does not let us see is not asked again. */
#define BEDROCK_IDLE_HOLIDAY_NS UINT64_C(60000000000)

/* What is taken of one cache, by class; `hot` may be a list that was in doubt. */
struct bedrock_idle_haul {
	void *hot[BEDROCK_CLASS_COUNT];
	void *spare[BEDROCK_CLASS_COUNT];
	void *fresh[BEDROCK_CLASS_COUNT];
	uint32_t fresh_count[BEDROCK_CLASS_COUNT];
};

struct bedrock_idle_look {
	bool is_forced;
	/* Through which memory is read, or negative: nobody can be known to sleep. */
	int memory;
	struct bedrock_cache *cache;
	struct bedrock_hot hot[BEDROCK_CLASS_COUNT];
	/* The classes of which something is to be taken, and how long the hot list of each is. */
	bool is_hot_wanted[BEDROCK_CLASS_COUNT];
	bool is_spare_wanted[BEDROCK_CLASS_COUNT];
	uint32_t length[BEDROCK_CLASS_COUNT];
	struct bedrock_idle_haul haul;
};

/* What something looked like, in 32 bits. */
static uint32_t bedrock_idle_print(const void *head, uint32_t number)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)head + number) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32);
}

/* Does it look as it did last time? */
static bool bedrock_idle_is_same(uint32_t *seen, uint32_t print)
{
	bool is_same = *seen == print;

	*seen = print;
	return is_same;
}

static bool bedrock_idle_read_front(struct bedrock_idle_look *look)
{
	return bedrock_os_peek(look->memory, look->cache->front, look->hot, sizeof(look->hot)) == 0;
}

/*
 * Choose the classes. What the owner may be changing meanwhile is read, as a hint: whether it looks
 * as it did last time. -> is there anything to take?
 */
BEDROCK_UNWATCHED static bool bedrock_idle_choose(struct bedrock_idle_look *look)
{
	bool is_any = false;

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		struct bedrock_cache_side *side = &look->cache->sides[i];
		const struct bedrock_hot *hot = &look->hot[i];
		uint32_t spare = bedrock_idle_print(side->head, side->count + side->fresh_count);
		bool is_hot_idle = bedrock_idle_is_same(
			&side->seen_hot, bedrock_idle_print(hot->head, (uint32_t)hot->room));
		bool is_spare_idle = bedrock_idle_is_same(&side->seen_spare, spare);

		look->is_hot_wanted[i] =
			(is_hot_idle || look->is_forced) && (hot->head || side->doubtful);
		look->is_spare_wanted[i] =
			(is_spare_idle || look->is_forced) && (side->head || side->fresh_count > 0);
		is_any |= look->is_hot_wanted[i] || look->is_spare_wanted[i];
	}
	return is_any;
}

/* The spare magazine, and blocks that were never handed out. */
static void bedrock_idle_take_spare(struct bedrock_idle_look *look, unsigned class_index)
{
	struct bedrock_cache_side *side = &look->cache->sides[class_index];

	look->haul.spare[class_index] = side->head;
	look->haul.fresh[class_index] = side->fresh;
	look->haul.fresh_count[class_index] = side->fresh_count;
	side->taken += side->count + side->fresh_count;
	side->head = NULL;
	side->count = 0;
	side->fresh_count = 0;
	look->cache->is_robbed = true;
}

/* How many blocks the owner believes to have in its hot magazine. */
static uint32_t bedrock_idle_believed(const struct bedrock_idle_look *look, unsigned class_index)
{
	const struct bedrock_cache_side *side = &look->cache->sides[class_index];

	return 2 * side->limit - side->count - side->fresh_count - side->taken -
	       (uint32_t)look->hot[class_index].room;
}

/* Count the blocks of a hot magazine, up to `most`. -> false if there are more, or memory is gone.
 */
static bool bedrock_idle_measure(struct bedrock_idle_look *look, unsigned class_index,
				 uint32_t most)
{
	void *block = look->hot[class_index].head;
	uint32_t length = 0;

	while (block) {
		if (length++ >= most || bedrock_lock_is_wanted(&look->cache->lock) ||
		    bedrock_os_peek(look->memory, block, &block, sizeof(void *)))
			return false;
	}
	look->length[class_index] = length;
	return true;
}

/* Replace the head, unless it has changed. */
BEDROCK_UNWATCHED static bool bedrock_idle_swap(struct bedrock_hot *hot, void *head)
{
	return bedrock_cas_plain(&hot->head, &head, NULL);
}

/*
 * Does the number of blocks tell whether the list in doubt is missing? It is one off while the
 * owner is in the middle of a fast path: so not by a single block, and not of a list of one.
 */
static bool bedrock_idle_can_tell(const struct bedrock_idle_look *look, unsigned class_index,
				  uint32_t believed)
{
	const struct bedrock_cache_side *side = &look->cache->sides[class_index];
	void *second = NULL;

	return believed - look->length[class_index] != 1 &&
	       bedrock_os_peek(look->memory, side->doubtful, &second, sizeof(second)) == 0 &&
	       second;
}

/* Take what is whole; what is not, or cannot be told, is wanted no more. */
static void bedrock_idle_swap_all(struct bedrock_idle_look *look)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		const struct bedrock_cache_side *side = &look->cache->sides[i];
		uint32_t believed;

		if (!look->is_hot_wanted[i])
			continue;
		believed = bedrock_idle_believed(look, i);
		look->is_hot_wanted[i] =
			believed <= 2 * side->limit && bedrock_idle_measure(look, i, believed);
		if (!look->is_hot_wanted[i])
			continue;
		/* While something is in doubt, that comes first. */
		if (side->doubtful)
			look->is_hot_wanted[i] = bedrock_idle_can_tell(look, i, believed);
		else
			look->is_hot_wanted[i] =
				look->length[i] == believed &&
				bedrock_idle_swap(&look->cache->front->hot[i], look->hot[i].head);
	}
}

static uint32_t bedrock_idle_count(void *block)
{
	uint32_t count = 0;

	for (; block; block = *(void **)block)
		count++;
	return count;
}

/* The nap has lasted: everything is as it was read. */
static void bedrock_idle_keep(struct bedrock_idle_look *look, unsigned class_index)
{
	struct bedrock_cache_side *side = &look->cache->sides[class_index];
	uint32_t believed = bedrock_idle_believed(look, class_index);

	bedrock_handover_acquire(&look->cache->front->hot[class_index]);
	if (!side->doubtful) {
		look->haul.hot[class_index] = look->hot[class_index].head;
		side->taken += look->length[class_index];
	} else if (look->length[class_index] < believed) {
		look->haul.hot[class_index] = side->doubtful;
		side->taken += bedrock_idle_count(side->doubtful);
	}
	side->doubtful = NULL;
	look->cache->is_robbed = true;
}

/* It has not: what was taken may have been put back by the owner. */
static void bedrock_idle_doubt(struct bedrock_idle_look *look, unsigned class_index)
{
	struct bedrock_cache_side *side = &look->cache->sides[class_index];

	if (!side->doubtful)
		side->doubtful = look->hot[class_index].head;
	look->cache->is_robbed = true;
}

/* Is the owner asleep, and not in a slow path? Then it enters none before the lock is given. */
static bool bedrock_idle_nap_begin(const struct bedrock_cache *cache, struct bedrock_nap *nap)
{
	return bedrock_nap_begin(nap, cache->thread_id) && !bedrock_load_acquire(&cache->is_inside);
}

static void bedrock_idle_take_what_is_wanted(struct bedrock_idle_look *look)
{
	struct bedrock_nap nap;

	if (!bedrock_idle_read_front(look) || !bedrock_idle_choose(look))
		return;
	/* What was read so far may be old. The choice stands. */
	if (!bedrock_idle_nap_begin(look->cache, &nap) || !bedrock_idle_read_front(look))
		return;
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		if (look->is_spare_wanted[i])
			bedrock_idle_take_spare(look, i);
	}
	bedrock_idle_swap_all(look);
	bool is_sure = bedrock_nap_lasts(&nap);

	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		if (look->is_hot_wanted[i] && is_sure)
			bedrock_idle_keep(look, i);
		else if (look->is_hot_wanted[i])
			bedrock_idle_doubt(look, i);
	}
}

static void bedrock_idle_return(struct bedrock_idle_haul *haul)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		if (haul->hot[i])
			bedrock_slab_return(i, haul->hot[i]);
		if (haul->spare[i])
			bedrock_slab_return(i, haul->spare[i]);
		if (haul->fresh_count[i] > 0)
			bedrock_slab_return_fresh(i, haul->fresh[i], haul->fresh_count[i]);
	}
	*haul = (struct bedrock_idle_haul){ .hot = { NULL } };
}

static void bedrock_idle_look_at(struct bedrock_idle_look *look)
{
	struct bedrock_cache *cache = look->cache;

	/* Another thief is there. */
	if (!bedrock_lock_try(&cache->lock))
		return;
	if (cache->front && cache->front != &bedrock_front)
		bedrock_idle_take_what_is_wanted(look);
	bedrock_lock_give(&cache->lock);
	bedrock_idle_return(&look->haul);
}

/* A descriptor to read memory through, or negative: then no thread can be known to sleep. */
static int bedrock_idle_open(struct bedrock_heap *heap, uint64_t now_ns)
{
	if (now_ns < bedrock_load_relaxed(&heap->nap_again_ns))
		return -1;
	int memory = bedrock_nap_is_possible() ? bedrock_os_peek_open() : -1;

	if (memory < 0)
		bedrock_store_relaxed(&heap->nap_again_ns, now_ns + BEDROCK_IDLE_HOLIDAY_NS);
	return memory;
}

void bedrock_idle_take(struct bedrock_heap *heap, uint64_t now_ns, bool is_forced)
{
	struct bedrock_idle_look look = {
		.is_forced = is_forced,
		.memory = bedrock_idle_open(heap, now_ns),
	};

	if (look.memory < 0)
		return;
	/* Pairs with the release in bedrock_owner_make_cache. */
	look.cache = bedrock_load_acquire(&heap->known_caches);
	for (; look.cache; look.cache = look.cache->next_known)
		bedrock_idle_look_at(&look);
	bedrock_os_close(look.memory);
}
