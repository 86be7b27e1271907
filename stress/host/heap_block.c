/* SPDX-License-Identifier: MIT */
/*
 * Stamped blocks: every byte that was asked for carries a stamp from the moment the allocator gave
 * it until it is freed, so that whoever else writes there is found. One event for a damaged block.
 */
#include "stress/host/heap_private.h"

/* posix_memalign takes no less. */
#define ALIGNMENT_MIN sizeof(void *)

/* Ids carry the index of the worker that asked for the block. */
static uint32_t owner_of(uint64_t id)
{
	return (uint32_t)(id >> HQ_HEAP_ID_SHIFT) + 1;
}

void hq_heap_touch(struct hq_heap *heap, uint64_t bytes)
{
	heap->touch_bytes = bytes;
}

uint64_t hq_heap_stamp(struct hq_heap *heap, void *address, uint64_t size)
{
	const uint64_t id = heap->next_id++;

	hq_stamp_fill(address, hq_heap_touched(heap, size), hq_stamp_key(heap->seed, id));
	return id;
}

bool hq_heap_expect_stamp(struct hq_heap *heap, const void *address, uint64_t size, uint64_t id,
			  enum hq_event_kind kind)
{
	struct hq_damage damage;

	if (hq_stamp_verify(address, hq_heap_touched(heap, size), hq_stamp_key(heap->seed, id),
			    &damage))
		return true;
	hq_heap_event(heap, (struct hq_event){ .kind = kind,
					       .owner = owner_of(id),
					       .address = (uintptr_t)address,
					       .size = size,
					       .offset = damage.offset,
					       .expected = damage.expected,
					       .got = damage.got });
	return false;
}

static bool block_request(struct hq_heap *heap, struct hq_block *block,
			  const struct hq_request *request)
{
	void *const address = hq_heap_request(heap, request);

	*block = (struct hq_block){ .address = address };
	if (address == NULL)
		return false;
	block->size = request->size;
	block->id = hq_heap_stamp(heap, address, request->size);
	return true;
}

bool hq_block_alloc(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	return block_request(
		heap, block,
		&(struct hq_request){ .kind = HQ_REQUEST_MALLOC, .count = 1, .size = size });
}

bool hq_block_calloc(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	return block_request(
		heap, block,
		&(struct hq_request){ .kind = HQ_REQUEST_CALLOC, .count = 1, .size = size });
}

/* Without aligned functions in the allocator there is nothing to test, and plain memory must do. */
bool hq_block_aligned(struct hq_heap *heap, struct hq_block *block, uint64_t alignment,
		      uint64_t size)
{
	if (heap->allocator->posix_memalign == NULL)
		return hq_block_alloc(heap, block, size);
	return block_request(heap, block,
			     &(struct hq_request){ .kind = HQ_REQUEST_ALIGNED,
						   .alignment = alignment < ALIGNMENT_MIN
									? ALIGNMENT_MIN
									: alignment,
						   .count = 1,
						   .size = size });
}

bool hq_block_resize(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	const struct hq_block old = *block;
	const uint64_t common = old.size < size ? old.size : size;
	/* What was damaged before the call must not be blamed on realloc. */
	const bool whole = old.address != NULL && hq_heap_expect_stamp(heap, old.address, old.size,
								       old.id, HQ_EVENT_CONTENT);
	void *const moved = hq_heap_resize(heap, old.address, old.size, size);

	if (moved == NULL) {
		if (whole)
			hq_heap_expect_stamp(heap, old.address, old.size, old.id, HQ_EVENT_REALLOC);
		return false;
	}
	if (whole)
		hq_heap_expect_stamp(heap, moved, common, old.id, HQ_EVENT_REALLOC);
	*block = (struct hq_block){ .address = moved,
				    .size = size,
				    .id = hq_heap_stamp(heap, moved, size) };
	return true;
}

void hq_block_verify(struct hq_heap *heap, const struct hq_block *block)
{
	if (block->address != NULL)
		hq_heap_expect_stamp(heap, block->address, block->size, block->id,
				     HQ_EVENT_CONTENT);
}

void hq_block_free(struct hq_heap *heap, struct hq_block *block)
{
	hq_block_verify(heap, block);
	hq_heap_free(heap, block->address, block->size);
	*block = (struct hq_block){ .address = NULL };
}
