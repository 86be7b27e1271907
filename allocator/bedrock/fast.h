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

/* The slow paths, in api.c. They set errno, keep the heap initialised and the clock watched. */
void *bedrock_malloc_slow(size_t bytes);
void *bedrock_calloc_slow(size_t bytes);
void bedrock_free_slow(void *block);

/* Pop a block of a class, or NULL. */
static inline void *bedrock_fast_pop(unsigned class_index)
{
	struct bedrock_cache_bin *bin = &bedrock_cache_current->bins[class_index];
	void *block = bin->head;

	if (bedrock_unlikely(!block))
		return NULL;
	bin->head = *(void **)block;
	bin->count--;
	return block;
}

static inline void *bedrock_fast_malloc(size_t bytes)
{
	if (bedrock_likely(bytes <= BEDROCK_SMALL_MAX_BYTES)) {
		void *block = bedrock_fast_pop(bedrock_class_for(bytes));

		if (bedrock_likely(block != NULL))
			return block;
	}
	return bedrock_malloc_slow(bytes);
}

static inline void *bedrock_fast_calloc(size_t count, size_t item_bytes)
{
	size_t bytes;

	if (bedrock_unlikely(__builtin_mul_overflow(count, item_bytes, &bytes)))
		bytes = SIZE_MAX;
	if (bedrock_likely(bytes <= BEDROCK_SMALL_MAX_BYTES)) {
		void *block = bedrock_fast_pop(bedrock_class_for(bytes));

		if (bedrock_likely(block != NULL))
			return memset(block, 0, bytes);
	}
	return bedrock_calloc_slow(bytes);
}

static inline void bedrock_fast_free(void *block)
{
	if (bedrock_unlikely(!block))
		return;
	struct bedrock_cache_bin *bin = &bedrock_cache_current->bins[bedrock_chunk_class_of(block)];

	if (bedrock_unlikely(bin->count >= bin->limit)) {
		bedrock_free_slow(block);
		return;
	}
	*(void **)block = bin->head;
	bin->head = block;
	bin->count++;
}

#endif
