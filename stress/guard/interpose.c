/* SPDX-License-Identifier: MIT */
/*
 * The malloc family of C, as the program sees it: before the allocator is found the arena serves
 * it, a call whose turn it is not goes the short way, any other is looked at.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/guard/watch.h"

#define PAGE 4096u

void *hq_guard_next_malloc(void);

/* For the preloaded library, which reports whose malloc it is; NULL: the guard stands aside. */
HQ_BETWEEN_EXPORT void *hq_guard_next_malloc(void)
{
	return hq_guard_ready() && hq_guard.watches ? (void *)hq_guard.next.malloc : NULL;
}

HQ_BETWEEN_EXPORT void *malloc(size_t size)
{
	if (hq_guard_passes())
		return hq_guard_passed(hq_guard.next.malloc(size), size);
	if (HQ_GUARD_UNLIKELY(!hq_guard_ready()))
		return hq_between_arena_alloc(16, size);
	return hq_guard_malloc(size, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT void free(void *block)
{
	if (hq_guard_frees_pass(block))
		hq_guard.next.free(block);
	/* A free that early can only be of a block from the arena. */
	else if (hq_guard_ready())
		hq_guard_free(block, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT void *calloc(size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total) && hq_guard_passes())
		return hq_guard_passed(hq_guard.next.calloc(count, size), total);
	if (hq_guard_ready())
		return hq_guard_calloc(count, size, HQ_GUARD_CALLER);
	/* The arena is fresh memory of the kernel, and used once. */
	return __builtin_mul_overflow(count, size, &total) ? NULL
							   : hq_between_arena_alloc(16, total);
}

__attribute__((always_inline)) static inline void *resize(void *block, size_t size, uint64_t caller)
{
	const size_t room = block ? hq_between_arena_room(block) : 0;
	void *moved;

	/* A watched block, and one of the arena, is looked at whoever's turn it is. */
	if (block && hq_guard_frees_pass(block) && hq_guard_passes())
		return hq_guard_passed(hq_guard.next.realloc(block, size), size);
	if (hq_guard_ready())
		return hq_guard_realloc(block, size, caller);
	moved = hq_between_arena_alloc(16, size);
	if (moved && block)
		memcpy(moved, block, size < room ? size : room);
	return moved;
}

HQ_BETWEEN_EXPORT void *realloc(void *block, size_t size)
{
	return resize(block, size, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total))
		return resize(block, total, HQ_GUARD_CALLER);
	errno = ENOMEM;
	return NULL;
}

HQ_BETWEEN_EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	if (hq_guard_ready())
		return hq_guard_posix_memalign(result, alignment, size, HQ_GUARD_CALLER);
	*result = hq_between_arena_alloc(alignment, size);
	return *result ? 0 : ENOMEM;
}

HQ_BETWEEN_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	if (!hq_guard_ready())
		return hq_between_arena_alloc(alignment, size);
	/* Some allocators refuse sizes that are no multiple, which one with a tail would be. */
	return hq_guard_aligned(hq_guard.tails ? hq_guard.next.memalign
					       : hq_guard.next.aligned_alloc,
				alignment, size, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT void *memalign(size_t alignment, size_t size)
{
	if (!hq_guard_ready())
		return hq_between_arena_alloc(alignment, size);
	return hq_guard_aligned(hq_guard.next.memalign, alignment, size, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT void *valloc(size_t size)
{
	if (!hq_guard_ready())
		return hq_between_arena_alloc(PAGE, size);
	return hq_guard_paged(hq_guard.next.valloc, size, HQ_GUARD_CALLER);
}

/* All of the last page is the program's. */
HQ_BETWEEN_EXPORT void *pvalloc(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t whole = size > SIZE_MAX - page ? size : (size + page - 1) & -page;

	if (!hq_guard_ready())
		return hq_between_arena_alloc(PAGE, whole);
	return hq_guard_paged(hq_guard.next.pvalloc, whole, HQ_GUARD_CALLER);
}

HQ_BETWEEN_EXPORT size_t malloc_usable_size(void *block)
{
	return hq_guard_ready() ? hq_guard_usable_size(block, HQ_GUARD_CALLER) : 0;
}
