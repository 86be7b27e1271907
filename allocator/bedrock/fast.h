/* SPDX-License-Identifier: MIT */
/*
 * The fast paths: thread pointer, size class, pop; mask, page map, push.
 *
 * They are inline so that the exported malloc and bedrock_malloc both contain them. They touch
 * the calling thread's cache, the block, and for free one byte of the chunk's page map; they
 * contain no atomic operation and call nothing but the slow path, as their last act.
 */
#ifndef BEDROCK_FAST_H
#define BEDROCK_FAST_H

#include <stddef.h>
#include <string.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/classes.h"
#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/large.h"
#include "allocator/bedrock/live.h"

/*
 * Functions that begin a cache line. Where the fast paths happen to lie otherwise is worth up to an
 * eighth of their time.
 */
#define BEDROCK_FAST __attribute__((aligned(64)))

/*
 * The slow paths, in api.c. They set errno, keep the heap initialised and the clock watched. For a
 * small size malloc's and calloc's come after a pop that found nothing, and take back its count.
 */
void *bedrock_malloc_slow(size_t bytes);
void *bedrock_calloc_slow(size_t bytes);
/* The class of the block has no room, and one was taken all the same. */
void bedrock_free_slow(void *block);

/*
 * The room of a hot magazine is counted before its list is looked at, and the list is stored last:
 * a thread that is interrupted in between has a count that contradicts its list. Who takes the list
 * of a sleeping thread relies on it, see idle.h. This keeps the compiler from another order.
 */
static inline void bedrock_fast_order(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Pop a block. -> NULL if there is none, and then its room has to be taken back. */
static inline void *bedrock_fast_pop(struct bedrock_hot BEDROCK_OWN *hot)
{
	bedrock_fast_order();
	hot->room++;
	bedrock_fast_order();
	void *block = hot->head;

	if (bedrock_unlikely(!block))
		return NULL;
	hot->head = *(void **)block;
	return block;
}

/* Push a block; room for it was taken before. */
static inline void bedrock_fast_push(struct bedrock_hot BEDROCK_OWN *hot, void *block)
{
	bedrock_fast_order();
	*(void **)block = hot->head;
	bedrock_handover_release(hot);
	hot->head = block;
}

/* Pop a block for a size, or NULL. Most sizes are tiny, and pay for one comparison only. */
static inline void *bedrock_fast_take(size_t bytes)
{
	struct bedrock_front BEDROCK_OWN *front = bedrock_front_own();

	if (bedrock_likely(bytes <= BEDROCK_TINY_MAX_BYTES))
		return bedrock_fast_pop(
			bedrock_front_hot(front, front->key_of_tiny[bedrock_class_slot(bytes)]));
	if (bytes <= BEDROCK_SMALL_MAX_BYTES)
		return bedrock_fast_pop(bedrock_cache_hot(bedrock_class_for(bytes)));
	return NULL;
}

/* How long a block really is. */
static inline size_t bedrock_fast_bytes(const void *block)
{
	unsigned class_index = bedrock_chunk_class_of(block);

	if (class_index == BEDROCK_CLASS_NONE || class_index == BEDROCK_CLASS_LARGE)
		return bedrock_large_usable_bytes(block);
	return bedrock_class_bytes(class_index);
}

static inline void *bedrock_fast_malloc(size_t bytes)
{
	void *block = bedrock_fast_take(bytes);

	return bedrock_live_filled(bedrock_likely(block != NULL) ? block
								 : bedrock_malloc_slow(bytes));
}

static inline void *bedrock_fast_calloc(size_t count, size_t item_bytes)
{
	size_t bytes;

	if (bedrock_unlikely(__builtin_mul_overflow(count, item_bytes, &bytes)))
		bytes = SIZE_MAX;
	void *block = bedrock_fast_take(bytes);

	return bedrock_live_given(bedrock_likely(block != NULL) ? memset(block, 0, bytes)
								: bedrock_calloc_slow(bytes));
}

static inline void bedrock_fast_free(void *block)
{
	if (bedrock_unlikely(!block))
		return;
	bedrock_live_freed(block);
	struct bedrock_hot BEDROCK_OWN *hot =
		bedrock_front_hot(bedrock_front_own(), bedrock_chunk_key_of(block));

	/* Taken first and looked at then, in one access; the slow path gives it back. */
	bedrock_fast_order();
	if (bedrock_unlikely(--hot->room < 0)) {
		bedrock_free_slow(block);
		return;
	}
	bedrock_fast_push(hot, block);
}

#endif
