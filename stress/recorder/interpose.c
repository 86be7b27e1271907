/* SPDX-License-Identifier: MIT */
/*
 * The malloc family of C, as the program sees it: before the allocator is found the arena serves
 * it; then every call is handed on, and noted if it is the program's own.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/recorder/recorder.h"

#define PAGE 4096u

static inline uint64_t shift_of(size_t alignment)
{
	return alignment ? (uint64_t)__builtin_ctzl(alignment) : 0;
}

void *hq_recorder_malloc(size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	const bool notes = hq_recorder_enter(self);
	void *const block = hq_recorder.next.malloc(size);

	if (notes)
		hq_recorder_gave(self, HQ_SEEN_MALLOC, block, size, 0);
	hq_recorder_leave(self);
	return block;
}

void hq_recorder_free(void *block)
{
	struct hq_recorder_self *const self = &hq_recorder_self;

	if (HQ_BETWEEN_UNLIKELY(!block || hq_between_arena_owns(block)))
		return;
	if (hq_recorder_enter(self))
		hq_recorder_takes(self, HQ_SEEN_FREE, block);
	hq_recorder.next.free(block);
	hq_recorder_leave(self);
}

static void *aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	const bool notes = hq_recorder_enter(self);
	void *const block = function(alignment, size);

	if (notes)
		hq_recorder_gave(self, HQ_SEEN_ALIGNED, block, size, shift_of(alignment));
	hq_recorder_leave(self);
	return block;
}

void *hq_recorder_memalign(size_t alignment, size_t size)
{
	return aligned(hq_recorder.next.memalign, alignment, size);
}

static void *paged(void *(*function)(size_t), size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	const bool notes = hq_recorder_enter(self);
	void *const block = function(size);

	if (notes)
		hq_recorder_gave(self, HQ_SEEN_ALIGNED, block, size, shift_of(PAGE));
	hq_recorder_leave(self);
	return block;
}

static void *move_from_arena(void *block, size_t size)
{
	void *const moved = hq_recorder_malloc(size);
	const size_t room = hq_between_arena_room(block);

	if (moved)
		memcpy(moved, block, size < room ? size : room);
	return moved;
}

static void *resize(void *block, size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	const bool notes = hq_recorder_enter(self);
	void *moved;

	if (notes && block)
		hq_recorder_takes(self, HQ_SEEN_RESIZE_FROM, block);
	moved = hq_recorder.next.realloc(block, size);
	if (notes)
		hq_recorder_gave(self, HQ_SEEN_RESIZE_TO, moved, size, 0);
	hq_recorder_leave(self);
	return moved;
}

HQ_BETWEEN_EXPORT void *malloc(size_t size)
{
	if (HQ_BETWEEN_UNLIKELY(!hq_recorder_ready()))
		return hq_between_arena_alloc(16, size);
	return hq_recorder_malloc(size);
}

HQ_BETWEEN_EXPORT void free(void *block)
{
	/* A free that early can only be of a block from the arena. */
	if (hq_recorder_ready())
		hq_recorder_free(block);
}

HQ_BETWEEN_EXPORT void *calloc(size_t count, size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	size_t total = 0;
	void *block;
	bool notes;

	if (__builtin_mul_overflow(count, size, &total))
		total = SIZE_MAX;
	if (HQ_BETWEEN_UNLIKELY(!hq_recorder_ready()))
		return hq_between_arena_alloc(16, total);
	notes = hq_recorder_enter(self);
	block = hq_recorder.next.calloc(count, size);
	if (notes)
		hq_recorder_gave(self, HQ_SEEN_CALLOC, block, total, 0);
	hq_recorder_leave(self);
	return block;
}

HQ_BETWEEN_EXPORT void *realloc(void *block, size_t size)
{
	void *moved;

	if (HQ_BETWEEN_UNLIKELY(!hq_recorder_ready())) {
		const size_t room = block ? hq_between_arena_room(block) : 0;

		moved = hq_between_arena_alloc(16, size);
		if (moved && block)
			memcpy(moved, block, size < room ? size : room);
		return moved;
	}
	if (HQ_BETWEEN_UNLIKELY(hq_between_arena_owns(block)))
		return move_from_arena(block, size);
	return resize(block, size);
}

HQ_BETWEEN_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total))
		return realloc(block, total);
	errno = ENOMEM;
	return NULL;
}

HQ_BETWEEN_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	int failure;
	bool notes;

	if (HQ_BETWEEN_UNLIKELY(!hq_recorder_ready())) {
		*result = hq_between_arena_alloc(alignment, size);
		return *result ? 0 : ENOMEM;
	}
	notes = hq_recorder_enter(self);
	failure = hq_recorder.next.posix_memalign(result, alignment, size);
	if (notes)
		hq_recorder_gave(self, HQ_SEEN_ALIGNED, failure ? NULL : *result, size,
				 shift_of(alignment));
	hq_recorder_leave(self);
	return failure;
}

HQ_BETWEEN_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return hq_recorder_ready() ? aligned(hq_recorder.next.aligned_alloc, alignment, size)
				   : hq_between_arena_alloc(alignment, size);
}

HQ_BETWEEN_EXPORT void *memalign(size_t alignment, size_t size)
{
	return hq_recorder_ready() ? hq_recorder_memalign(alignment, size)
				   : hq_between_arena_alloc(alignment, size);
}

HQ_BETWEEN_EXPORT void *valloc(size_t size)
{
	return hq_recorder_ready() ? paged(hq_recorder.next.valloc, size)
				   : hq_between_arena_alloc(PAGE, size);
}

/* All of the last page is the program's. */
HQ_BETWEEN_EXPORT void *pvalloc(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t whole = size > SIZE_MAX - page ? size : (size + page - 1) & -page;

	return hq_recorder_ready() ? paged(hq_recorder.next.pvalloc, whole)
				   : hq_between_arena_alloc(PAGE, whole);
}

HQ_BETWEEN_EXPORT size_t malloc_usable_size(void *block)
{
	if (!block || !hq_recorder_ready())
		return 0;
	return hq_between_arena_owns(block) ? hq_between_arena_room(block)
					    : hq_recorder.next.usable_size(block);
}
