/* SPDX-License-Identifier: MIT */
/*
 * Calls at the borders of what can be asked for: nothing, more than there can be, alignments that
 * are none. Here a NULL is often the right answer, so these calls count neither as refused nor in
 * the latencies; and what was given by mistake is never written to, since it is smaller than it
 * claims.
 */
#include <errno.h>

#include "stress/host/heap_private.h"

/* What a refused posix_memalign must leave in the pointer. */
static char untouched;

static bool is_there(const struct hq_allocator *allocator, enum hq_asked_call call)
{
	switch (call) {
	case HQ_ASKED_REALLOCARRAY:
		return allocator->reallocarray != NULL;
	case HQ_ASKED_POSIX_MEMALIGN:
		return allocator->posix_memalign != NULL;
	case HQ_ASKED_ALIGNED_ALLOC:
		return allocator->aligned_alloc != NULL;
	default:
		return true;
	}
}

static void *ask_memalign(const struct hq_allocator *allocator, const struct hq_ask *ask,
			  int *failure)
{
	void *address = &untouched;

	*failure = allocator->posix_memalign(&address, ask->alignment, ask->size);
	return *failure == 0 ? address : NULL;
}

/* The answer as it is. reallocarray and realloc get no old block. */
static void *ask_for(struct hq_heap *heap, const struct hq_ask *ask, int *failure)
{
	const struct hq_allocator *const allocator = heap->allocator;
	void *address;

	heap->asked = ask->call;
	errno = 0;
	switch (ask->call) {
	case HQ_ASKED_CALLOC:
		address = allocator->calloc(ask->count, ask->size);
		break;
	case HQ_ASKED_REALLOC:
		address = allocator->realloc(NULL, ask->size);
		break;
	case HQ_ASKED_REALLOCARRAY:
		address = allocator->reallocarray(NULL, ask->count, ask->size);
		break;
	case HQ_ASKED_POSIX_MEMALIGN:
		return ask_memalign(allocator, ask, failure);
	case HQ_ASKED_ALIGNED_ALLOC:
		address = allocator->aligned_alloc(ask->alignment, ask->size);
		break;
	default:
		address = allocator->malloc(ask->size);
	}
	*failure = errno;
	return address;
}

static uint64_t usable_size(const struct hq_heap *heap, void *address)
{
	return heap->allocator->usable_size != NULL ? heap->allocator->usable_size(address) : 0;
}

static void served(struct hq_heap *heap, const struct hq_ask *ask, void *address)
{
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_WRAP,
					       .asked = ask->call,
					       .address = (uintptr_t)address,
					       .size = ask->size,
					       .offset = ask->alignment,
					       .expected = ask->count,
					       .got = usable_size(heap, address) });
}

/* aligned_alloc may say EINVAL of any alignment that it does not support, and no other call may. */
static void check_failure(struct hq_heap *heap, const struct hq_ask *ask, int failure)
{
	if (ask->call == HQ_ASKED_ALIGNED_ALLOC && failure == EINVAL)
		return;
	hq_heap_check_refusal(heap, ask->size, failure);
}

/* NULL where there is no such call, or it was refused: how it was refused is checked. */
static void *ask_checked(struct hq_heap *heap, const struct hq_ask *ask)
{
	int failure;

	if (!is_there(heap->allocator, ask->call))
		return NULL;
	void *const address = ask_for(heap, ask, &failure);

	if (address == NULL)
		check_failure(heap, ask, failure);
	return address;
}

void hq_heap_impossible(struct hq_heap *heap, const struct hq_ask *ask)
{
	void *const address = ask_checked(heap, ask);

	if (address == NULL)
		return;
	served(heap, ask, address);
	heap->allocator->free(address);
}

void hq_heap_vast(struct hq_heap *heap, const struct hq_ask *ask)
{
	void *const address = ask_checked(heap, ask);

	if (address == NULL)
		return;
	if (heap->allocator->usable_size != NULL && usable_size(heap, address) < ask->size)
		served(heap, ask, address);
	heap->allocator->free(address);
}

static bool is_left_alone(const void *pointer)
{
	return pointer == NULL || pointer == &untouched;
}

void hq_heap_bad_alignment(struct hq_heap *heap, uint64_t alignment, uint64_t size)
{
	const struct hq_allocator *const allocator = heap->allocator;
	void *pointer = &untouched;
	int code;

	if (allocator->posix_memalign == NULL)
		return;
	heap->asked = HQ_ASKED_POSIX_MEMALIGN;
	code = allocator->posix_memalign(&pointer, alignment, size);
	if (code != EINVAL || !is_left_alone(pointer))
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_REFUSE,
						       .address = is_left_alone(pointer)
									  ? 0
									  : (uintptr_t)pointer,
						       .size = size,
						       .offset = alignment,
						       .expected = EINVAL,
						       .got = (uint64_t)code });
	if (code == 0 && !is_left_alone(pointer))
		allocator->free(pointer);
}

void hq_block_grow_beyond(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	const struct hq_ask ask = { .call = HQ_ASKED_REALLOC, .count = 1, .size = size };
	void *moved;
	int failure;

	if (block->address == NULL ||
	    !hq_heap_expect_stamp(heap, block->address, block->size, block->id, HQ_EVENT_CONTENT))
		return;
	heap->asked = HQ_ASKED_REALLOC;
	errno = 0;
	moved = heap->allocator->realloc(block->address, size);
	failure = errno;
	if (moved == NULL) {
		hq_heap_check_refusal(heap, size, failure);
		hq_heap_expect_stamp(heap, block->address, block->size, block->id,
				     HQ_EVENT_REALLOC);
		return;
	}
	served(heap, &ask, moved);
	hq_heap_leave(heap, block->address, block->size);
	heap->allocator->free(moved);
	*block = (struct hq_block){ .address = NULL };
}

/* A block of no size lies in no other one. */
static enum hq_zero_answer judge_zero(const struct hq_heap *heap, const void *address, int failure)
{
	const uint64_t start = (uintptr_t)address;
	uint64_t found;

	if (address == NULL)
		return failure == ENOMEM ? HQ_ZERO_REFUSED : HQ_ZERO_NULL;
	return hq_shadow_next(heap->shadow, start, start + 1, &found) ? HQ_ZERO_TAKEN
								      : HQ_ZERO_BLOCK;
}

enum hq_zero_answer hq_heap_zero(struct hq_heap *heap, enum hq_asked_call call, void **address)
{
	const struct hq_ask ask = { .call = call, .alignment = 2 * sizeof(void *) };
	int failure = 0;

	*address = is_there(heap->allocator, call) ? ask_for(heap, &ask, &failure) : NULL;
	/* posix_memalign may also set nothing, and say that all is well. */
	if (*address == &untouched)
		*address = NULL;
	return judge_zero(heap, *address, failure);
}

enum hq_zero_answer hq_block_to_zero(struct hq_heap *heap, struct hq_block *block, void **address)
{
	hq_block_verify(heap, block);
	hq_heap_leave(heap, block->address, block->size);
	heap->asked = HQ_ASKED_REALLOC;
	errno = 0;
	*address = heap->allocator->realloc(block->address, 0);
	*block = (struct hq_block){ .address = NULL };
	return judge_zero(heap, *address, errno);
}

void hq_heap_zero_broken(struct hq_heap *heap, enum hq_asked_call call, const void *address,
			 enum hq_zero_answer rule, enum hq_zero_answer got)
{
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_ZERO,
					       .asked = call,
					       .address = (uintptr_t)address,
					       .expected = rule,
					       .got = got });
}

void hq_block_use_all(struct hq_heap *heap, struct hq_block *block)
{
	const uint64_t usable = block->address != NULL ? usable_size(heap, block->address) : 0;
	const uint64_t start = (uintptr_t)block->address;
	/* The rest of its last granule is the block's own. */
	const uint64_t behind =
		(start + block->size + HQ_SHADOW_GRANULE - 1) & -(uint64_t)HQ_SHADOW_GRANULE;
	uint64_t found;

	if (block->address == NULL || heap->allocator->usable_size == NULL)
		return;
	if (usable < block->size)
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_USABLE,
						       .address = start,
						       .size = block->size,
						       .expected = block->size,
						       .got = usable });
	if (usable <= block->size)
		return;
	if (hq_shadow_next(heap->shadow, behind, start + usable, &found)) {
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_SHARED,
						       .asked = HQ_ASKED_MALLOC,
						       .address = start,
						       .size = block->size,
						       .offset = found - start,
						       .got = usable });
		return;
	}
	hq_heap_leave(heap, block->address, block->size);
	hq_heap_enter(heap, block->address, usable);
	block->size = usable;
	block->id = hq_heap_stamp(heap, block->address, usable);
}

void hq_heap_weigh(struct hq_heap *heap, const struct hq_block *block)
{
	const uint64_t usable = block->address != NULL ? usable_size(heap, block->address) : 0;

	if (usable < block->size)
		return;
	hq_count_own(&heap->worker->weighed_bytes, block->size);
	hq_count_own(&heap->worker->usable_bytes, usable);
}
