/* SPDX-License-Identifier: MIT */
/*
 * The names under which programs know the allocator.
 *
 * In a file of its own, so that tests can link the rest and keep the C library's malloc for
 * themselves. The whole family is here: a program must never free with one allocator what it
 * got from another.
 */
#include <errno.h>
#include <stddef.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/fast.h"

BEDROCK_API void *malloc(size_t bytes);
BEDROCK_API void free(void *block);
BEDROCK_API void *calloc(size_t count, size_t item_bytes);
BEDROCK_API void *realloc(void *block, size_t bytes);
BEDROCK_API void *reallocarray(void *block, size_t count, size_t item_bytes);
BEDROCK_API int posix_memalign(void **out, size_t align_bytes, size_t bytes);
BEDROCK_API void *aligned_alloc(size_t align_bytes, size_t bytes);
BEDROCK_API void *memalign(size_t align_bytes, size_t bytes);
BEDROCK_API void *valloc(size_t bytes);
BEDROCK_API void *pvalloc(size_t bytes);
BEDROCK_API void free_sized(void *block, size_t bytes);
BEDROCK_API void free_aligned_sized(void *block, size_t align_bytes, size_t bytes);
BEDROCK_API size_t malloc_usable_size(void *block);
BEDROCK_API int malloc_trim(size_t keep_bytes);

void *malloc(size_t bytes)
{
	return bedrock_fast_malloc(bytes);
}

void free(void *block)
{
	bedrock_fast_free(block);
}

void *calloc(size_t count, size_t item_bytes)
{
	return bedrock_fast_calloc(count, item_bytes);
}

void *realloc(void *block, size_t bytes)
{
	return bedrock_realloc(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t item_bytes)
{
	return bedrock_reallocarray(block, count, item_bytes);
}

int posix_memalign(void **out, size_t align_bytes, size_t bytes)
{
	return bedrock_posix_memalign(out, align_bytes, bytes);
}

void *aligned_alloc(size_t align_bytes, size_t bytes)
{
	return bedrock_aligned_alloc(align_bytes, bytes);
}

void *memalign(size_t align_bytes, size_t bytes)
{
	return bedrock_memalign(align_bytes, bytes);
}

void *valloc(size_t bytes)
{
	return bedrock_valloc(bytes);
}

void *pvalloc(size_t bytes)
{
	return bedrock_pvalloc(bytes);
}

void free_sized(void *block, size_t bytes)
{
	bedrock_free_sized(block, bytes);
}

void free_aligned_sized(void *block, size_t align_bytes, size_t bytes)
{
	bedrock_free_aligned_sized(block, align_bytes, bytes);
}

size_t malloc_usable_size(void *block)
{
	return bedrock_malloc_usable_size(block);
}

int malloc_trim(size_t keep_bytes)
{
	return bedrock_malloc_trim(keep_bytes);
}
