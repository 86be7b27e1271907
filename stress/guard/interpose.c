/* SPDX-License-Identifier: MIT */
/*
 * The functions of C that the guard puts before the allocator's. Those that come while the
 * allocator is being looked for are served from the arena.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "stress/guard/guard.h"

#define PAGE 4096u /* no machine has smaller ones */

void *hq_guard_next_malloc(void);

/* For the preloaded library, which reports whose malloc it is; NULL: the guard stands aside. */
HQ_GUARD_EXPORT void *hq_guard_next_malloc(void)
{
	return hq_guard_ready() && hq_guard.watches ? (void *)hq_guard.next.malloc : NULL;
}

HQ_GUARD_EXPORT void *malloc(size_t size)
{
	if (!hq_guard_ready())
		return hq_guard_arena_alloc(16, size);
	return hq_guard_malloc(size, HQ_GUARD_CALLER);
}

HQ_GUARD_EXPORT void free(void *block)
{
	/* A free that early can only be of a block from the arena. */
	if (hq_guard_ready())
		hq_guard_free(block, HQ_GUARD_CALLER);
}

HQ_GUARD_EXPORT void *calloc(size_t count, size_t size)
{
	size_t total;

	if (hq_guard_ready())
		return hq_guard_calloc(count, size, HQ_GUARD_CALLER);
	/* The arena is fresh memory of the kernel, and used once. */
	return __builtin_mul_overflow(count, size, &total) ? NULL : hq_guard_arena_alloc(16, total);
}

HQ_GUARD_EXPORT void *realloc(void *block, size_t size)
{
	const size_t room = block ? hq_guard_arena_room(block) : 0;
	void *moved;

	if (hq_guard_ready())
		return hq_guard_realloc(block, size, HQ_GUARD_CALLER);
	moved = hq_guard_arena_alloc(16, size);
	if (moved && block)
		memcpy(moved, block, size < room ? size : room);
	return moved;
}

HQ_GUARD_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return hq_guard_ready() ? hq_guard_realloc(block, total, HQ_GUARD_CALLER)
				: realloc(block, total);
}

HQ_GUARD_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	struct hq_guard_call call;
	void *block = NULL;
	int failure;

	if (!hq_guard_ready()) {
		*result = hq_guard_arena_alloc(alignment, size);
		return *result ? 0 : ENOMEM;
	}
	call = hq_guard_begin(size, hq_guard_sound(alignment), HQ_GUARD_CALLER);
	failure = hq_guard.next.posix_memalign(&block, alignment, call.ask);
	block = failure ? NULL : block;
	hq_guard_end(&call, block, hq_guard_failure(block, failure));
	if (!failure)
		*result = block;
	return failure;
}

HQ_GUARD_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (!hq_guard_ready())
		return hq_guard_arena_alloc(alignment, size);
	/* Some allocators refuse sizes that are no multiple, which one with a tail would be. */
	return hq_guard_aligned(hq_guard.tails ? hq_guard.next.memalign
					       : hq_guard.next.aligned_alloc,
				alignment, size, HQ_GUARD_CALLER);
}

HQ_GUARD_EXPORT void *memalign(size_t alignment, size_t size)
{
	if (!hq_guard_ready())
		return hq_guard_arena_alloc(alignment, size);
	return hq_guard_aligned(hq_guard.next.memalign, alignment, size, HQ_GUARD_CALLER);
}

HQ_GUARD_EXPORT void *valloc(size_t size)
{
	struct hq_guard_call call;
	void *block;

	if (!hq_guard_ready())
		return hq_guard_arena_alloc(PAGE, size);
	call = hq_guard_begin(size, PAGE, HQ_GUARD_CALLER);
	block = hq_guard.next.valloc(call.ask);
	return hq_guard_end(&call, block, block ? 0 : errno);
}

HQ_GUARD_EXPORT void *pvalloc(size_t size)
{
	struct hq_guard_call call;
	void *block;

	if (!hq_guard_ready())
		return hq_guard_arena_alloc(PAGE, size);
	call = hq_guard_begin(size, PAGE, HQ_GUARD_CALLER);
	block = hq_guard.next.pvalloc(call.ask);
	return hq_guard_end(&call, block, block ? 0 : errno);
}

HQ_GUARD_EXPORT size_t malloc_usable_size(void *block)
{
	return hq_guard_ready() ? hq_guard_usable_size(block) : 0;
}
