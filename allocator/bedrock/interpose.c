/* SPDX-License-Identifier: MIT */
/*
 * The names under which programs know the allocator.
 *
 * In a file of its own, so that tests can link the rest and keep the C library's malloc for
 * themselves. The whole family is here: a program must never free with one allocator what it
 * got from another.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/fast.h"

/* On cache lines of their own: else what they cost changes with whatever is linked before them. */
#define BEDROCK_ON_A_LINE __attribute__((aligned(64)))

BEDROCK_API BEDROCK_ON_A_LINE void *malloc(size_t bytes);
BEDROCK_API BEDROCK_ON_A_LINE void free(void *block);
BEDROCK_API BEDROCK_ON_A_LINE void *calloc(size_t count, size_t item_bytes);
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

BEDROCK_FAST void *malloc(size_t bytes)
{
	return bedrock_fast_malloc(bytes);
}

BEDROCK_FAST void free(void *block)
{
	bedrock_fast_free(block);
}

BEDROCK_FAST void *calloc(size_t count, size_t item_bytes)
{
	return bedrock_fast_calloc(count, item_bytes);
}

void *realloc(void *block, size_t bytes)
{
	return bedrock_realloc(block, bytes);
}

/*
 * Tools that replace malloc know the older names only. What has a newer one leads to these, so that
 * they always meet in one allocator, whoever it is.
 */
void *reallocarray(void *block, size_t count, size_t item_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, item_bytes, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
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
	size_t mask = (size_t)getpagesize() - 1;

	if (bytes > PTRDIFF_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	return memalign(mask + 1, bytes ? (bytes + mask) & ~mask : mask + 1);
}

void free_sized(void *block, size_t bytes)
{
	(void)bytes;
	free(block);
}

void free_aligned_sized(void *block, size_t align_bytes, size_t bytes)
{
	(void)align_bytes;
	free_sized(block, bytes);
}

size_t malloc_usable_size(void *block)
{
	return bedrock_malloc_usable_size(block);
}

int malloc_trim(size_t keep_bytes)
{
	return bedrock_malloc_trim(keep_bytes);
}

#ifdef __GLIBC__

/*
 * What the C library says of its own heap, said of ours. "arena" is what is mapped outside of huge
 * blocks, and the sum of uordblks and fordblks; "hblkhd" is huge blocks.
 */
static void bedrock_interpose_figures(struct bedrock_stats *stats, uint64_t *arena_bytes,
				      uint64_t *used_bytes)
{
	bedrock_stats_read(stats);
	*arena_bytes = stats->mapped_bytes - stats->huge_bytes;
	*used_bytes = stats->allocated_bytes - stats->huge_bytes;
}

#if __GLIBC_PREREQ(2, 33)
BEDROCK_API struct mallinfo2 mallinfo2(void)
{
	struct bedrock_stats stats;
	uint64_t arena_bytes;
	uint64_t used_bytes;

	bedrock_interpose_figures(&stats, &arena_bytes, &used_bytes);
	return (struct mallinfo2){
		.arena = (size_t)arena_bytes,
		.hblks = (size_t)stats.huge_count,
		.hblkhd = (size_t)stats.huge_bytes,
		.uordblks = (size_t)used_bytes,
		.fordblks = (size_t)(arena_bytes - used_bytes),
		.keepcost = (size_t)(stats.dirty_bytes + stats.muzzy_bytes),
	};
}
#endif

static int bedrock_interpose_int(uint64_t number)
{
	return number < INT_MAX ? (int)number : INT_MAX;
}

/* Figures beyond 2 GiB stop there: they would wrap otherwise. */
BEDROCK_API struct mallinfo mallinfo(void)
{
	struct bedrock_stats stats;
	uint64_t arena_bytes;
	uint64_t used_bytes;

	bedrock_interpose_figures(&stats, &arena_bytes, &used_bytes);
	return (struct mallinfo){
		.arena = bedrock_interpose_int(arena_bytes),
		.hblks = bedrock_interpose_int(stats.huge_count),
		.hblkhd = bedrock_interpose_int(stats.huge_bytes),
		.uordblks = bedrock_interpose_int(used_bytes),
		.fordblks = bedrock_interpose_int(arena_bytes - used_bytes),
		.keepcost = bedrock_interpose_int(stats.dirty_bytes + stats.muzzy_bytes),
	};
}

BEDROCK_API void malloc_stats(void)
{
	bedrock_stats_print(NULL, NULL, "ga");
}

/* In the C library's form, with its elements of the same meaning only. */
BEDROCK_API int malloc_info(int options, FILE *stream)
{
	struct bedrock_stats stats;

	if (options != 0)
		return EINVAL;
	bedrock_stats_read(&stats);
	int rc = fprintf(stream,
			 "<malloc version=\"1\">\n"
			 "<total type=\"mmap\" count=\"%ju\" size=\"%ju\"/>\n"
			 "<total type=\"rest\" count=\"%ju\" size=\"%ju\"/>\n"
			 "<system type=\"current\" size=\"%ju\"/>\n"
			 "<aspace type=\"total\" size=\"%ju\"/>\n"
			 "</malloc>\n",
			 (uintmax_t)stats.huge_count, (uintmax_t)stats.huge_bytes,
			 (uintmax_t)stats.arena_count,
			 (uintmax_t)(stats.mapped_bytes - stats.allocated_bytes),
			 (uintmax_t)stats.resident_bytes, (uintmax_t)stats.mapped_bytes);

	return rc < 0 ? EIO : 0;
}

#endif
