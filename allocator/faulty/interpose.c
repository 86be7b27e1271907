/* SPDX-License-Identifier: MIT */
/*
 * The names that programs call. Nothing but forwarding, so that tests can link the rest without
 * replacing their own malloc.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	return faulty_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return faulty_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size)
{
	return faulty_realloc(block, size);
}

EXPORT void free(void *block)
{
	faulty_free(block);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	return faulty_memalign(block, alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return faulty_aligned(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return faulty_aligned(alignment, size);
}

EXPORT void *valloc(size_t size)
{
	return faulty_aligned((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *pvalloc(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return faulty_aligned(page, (size + page - 1) & -page);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return faulty_usable_size(block);
}
