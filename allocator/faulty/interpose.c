/* SPDX-License-Identifier: MIT */
/*
 * The names that programs call. Nothing but forwarding, to what a call from a signal handler does
 * if it is one, so that tests can link the rest without replacing their own malloc.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define EXPORT __attribute__((visibility("default")))

static void *aligned(size_t alignment, size_t size)
{
	void *block;

	if (!faulty_enter())
		return faulty_nested_take(size, alignment);
	block = faulty_aligned(alignment, size);
	faulty_leave();
	return block;
}

EXPORT void *malloc(size_t size)
{
	void *block;

	if (!faulty_enter())
		return faulty_nested_take(size, FAULTY_ALIGNMENT);
	block = faulty_malloc(size);
	faulty_leave();
	return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block;

	if (!faulty_enter())
		return faulty_nested_take(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX
										      : bytes,
					  FAULTY_ALIGNMENT);
	block = faulty_calloc(count, size);
	faulty_leave();
	return block;
}

EXPORT void *realloc(void *block, size_t size)
{
	void *resized;

	if (!faulty_enter())
		return faulty_nested_resize(block, size);
	resized = faulty_realloc(block, size);
	faulty_leave();
	return resized;
}

EXPORT void free(void *block)
{
	if (!faulty_enter()) {
		faulty_nested_give(block);
		return;
	}
	faulty_free(block);
	faulty_leave();
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	int error;

	if (!faulty_enter()) {
		void *const given = faulty_nested_take(size, alignment);

		if (given != NULL)
			*block = given;
		return given != NULL ? 0 : ENOMEM;
	}
	error = faulty_memalign(block, alignment, size);
	faulty_leave();
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return aligned(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return aligned(alignment, size);
}

EXPORT void *valloc(size_t size)
{
	return aligned((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *pvalloc(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return aligned(page, (size + page - 1) & -page);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return faulty_usable_size(block);
}
