/* SPDX-License-Identifier: MIT */
/*
 * The public functions, but for statistics: argument checks, errno, and which part serves what.
 */
#include "allocator/bedrock/bedrock.h"

#include <errno.h>
#include <string.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/fast.h"
#include "allocator/bedrock/harden.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/large.h"

const char bedrock_version_string[] = "bedrock 0.1";

const char *bedrock_version(void)
{
	return bedrock_version_string;
}

static inline bool bedrock_is_power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static void *bedrock_fail(int error)
{
	errno = error;
	return NULL;
}

/* One try. A class says which blocks serve the request, or none that it is a large one. */
static inline void *bedrock_alloc_once(const struct bedrock_large_request *request,
				       unsigned class_index)
{
	if (class_index == BEDROCK_CLASS_NONE)
		return bedrock_large_alloc(request);
	return bedrock_cache_alloc(class_index);
}

/* The first try failed: more of them, as long as something is done about it in between. */
static __attribute__((noinline)) void *
bedrock_alloc_again(const struct bedrock_large_request *request, unsigned class_index)
{
	struct bedrock_relief_course course = { .wanted_bytes = request->bytes };
	void *block = NULL;

	while (!block && bedrock_relief_next(&bedrock_heap, &course))
		block = bedrock_alloc_once(request, class_index);
	return block;
}

static inline void *bedrock_alloc(const struct bedrock_large_request *request, unsigned class_index)
{
	void *block = bedrock_alloc_once(request, class_index);

	return bedrock_likely(block != NULL) ? block : bedrock_alloc_again(request, class_index);
}

/* The end of every slow path. */
static inline void bedrock_tick(void)
{
	bedrock_decay_tick(&bedrock_heap);
	bedrock_relief_tick(&bedrock_heap, &bedrock_heap.space.limit);
}

/* The end of every slow allocation. */
static void *bedrock_finish(void *block)
{
	bedrock_tick();
	return bedrock_likely(block != NULL) ? block : bedrock_fail(ENOMEM);
}

/* Which class serves the request, or none. */
static unsigned bedrock_class_of_request(const struct bedrock_large_request *request)
{
	if (request->align_bytes > 1)
		return bedrock_class_for_aligned(request->bytes, request->align_bytes);
	return request->bytes <= BEDROCK_SMALL_MAX_BYTES ? bedrock_class_for(request->bytes)
							 : BEDROCK_CLASS_NONE;
}

/* The same under a tool that looks on. It is zeroed here, where the tool can be told before. */
static __attribute__((noinline)) void *
bedrock_alloc_watched(const struct bedrock_large_request *request)
{
	struct bedrock_large_request longer = {
		.bytes = request->bytes + BEDROCK_WATCH_TAIL_BYTES,
		.align_bytes = request->align_bytes,
	};
	unsigned class_index = bedrock_class_of_request(&longer);
	void *block = bedrock_alloc_once(&longer, class_index);

	if (!block) {
		bedrock_watch_release(&bedrock_heap.watch, 0);
		block = bedrock_alloc(&longer, class_index);
	}
	if (block)
		bedrock_watch_give(block, request->bytes, request->is_zero_wanted);
	return block;
}

/* A block above the size classes. */
static void *bedrock_alloc_large(const struct bedrock_large_request *request)
{
	bedrock_heap_ensure(&bedrock_heap);
	if (bedrock_unlikely(bedrock_heap.space.is_watched))
		return bedrock_finish(bedrock_alloc_watched(request));
	return bedrock_harden_filled(bedrock_finish(bedrock_alloc(request, BEDROCK_CLASS_NONE)),
				     request->bytes);
}

__attribute__((noinline)) void *bedrock_malloc_slow(size_t bytes)
{
	const struct bedrock_large_request request = { .bytes = bytes, .align_bytes = 1 };

	if (bytes > PTRDIFF_MAX)
		return bedrock_fail(ENOMEM);
	if (bytes > BEDROCK_SMALL_MAX_BYTES)
		return bedrock_alloc_large(&request);
	unsigned class_index = bedrock_class_for(bytes);

	bedrock_cache_hot(class_index)->room--;
	void *block = bedrock_cache_alloc_own(class_index);

	if (bedrock_likely(block != NULL))
		return bedrock_harden_filled(block, bytes);
	bedrock_heap_ensure(&bedrock_heap);
	if (bedrock_unlikely(bedrock_heap.space.is_watched))
		return bedrock_finish(bedrock_alloc_watched(&request));
	return bedrock_harden_filled(bedrock_finish(bedrock_alloc(&request, class_index)), bytes);
}

__attribute__((noinline)) void *bedrock_calloc_slow(size_t bytes)
{
	const struct bedrock_large_request request = {
		.bytes = bytes,
		.align_bytes = 1,
		.is_zero_wanted = true,
	};

	if (bytes > PTRDIFF_MAX)
		return bedrock_fail(ENOMEM);
	bedrock_heap_ensure(&bedrock_heap);
	if (bedrock_unlikely(bedrock_heap.space.is_watched)) {
		if (bytes <= BEDROCK_SMALL_MAX_BYTES)
			bedrock_cache_hot(bedrock_class_for(bytes))->room--;
		return bedrock_finish(bedrock_alloc_watched(&request));
	}
	if (bytes <= BEDROCK_SMALL_MAX_BYTES) {
		void *block = bedrock_malloc_slow(bytes);

		return block ? memset(block, 0, bytes) : NULL;
	}
	return bedrock_harden_given(bedrock_finish(bedrock_alloc(&request, BEDROCK_CLASS_NONE)),
				    bytes);
}

__attribute__((noinline)) void bedrock_free_slow(void *block)
{
	unsigned class_index = bedrock_chunk_class_of(block);

	bedrock_cache_hot(class_index)->room++;
	bedrock_harden_freed(block);
	if (bedrock_unlikely(bedrock_heap.space.is_watched))
		bedrock_watch_free(&bedrock_heap.watch, block);
	else if (class_index == BEDROCK_CLASS_NONE || class_index == BEDROCK_CLASS_LARGE)
		bedrock_large_free(block);
	else if (bedrock_unlikely(!bedrock_slab_holds(class_index, block)))
		bedrock_slab_refuse(block);
	else if (bedrock_cache_free_own(block, class_index))
		return;
	else
		bedrock_cache_free(block, class_index);
	bedrock_tick();
}

BEDROCK_FAST void *bedrock_malloc(size_t bytes)
{
	return bedrock_fast_malloc(bytes);
}

BEDROCK_FAST void *bedrock_calloc(size_t count, size_t item_bytes)
{
	return bedrock_fast_calloc(count, item_bytes);
}

BEDROCK_FAST void bedrock_free(void *block)
{
	bedrock_fast_free(block);
}

void bedrock_free_sized(void *block, size_t bytes)
{
	bedrock_assert(!block || bytes <= bedrock_malloc_usable_size(block));
	(void)bytes;
	bedrock_fast_free(block);
}

void bedrock_free_aligned_sized(void *block, size_t align_bytes, size_t bytes)
{
	bedrock_assert(((uintptr_t)block & (align_bytes - 1)) == 0);
	(void)align_bytes;
	bedrock_free_sized(block, bytes);
}

size_t bedrock_malloc_usable_size(void *block)
{
	if (!block)
		return 0;
	if (bedrock_unlikely(bedrock_heap.space.is_watched))
		return bedrock_watch_expect(block) ? bedrock_watch_bytes(block) : 0;
	bedrock_live_asked("size", block);
	bedrock_harden_asked("size", block);
	return bedrock_fast_bytes(block);
}

static void *bedrock_alloc_aligned_slow(unsigned class_index, size_t align_bytes, size_t bytes)
{
	const struct bedrock_large_request request = { .bytes = bytes, .align_bytes = align_bytes };

	bedrock_cache_hot(class_index)->room--;
	if (bytes > PTRDIFF_MAX || align_bytes > PTRDIFF_MAX)
		return NULL;
	bedrock_heap_ensure(&bedrock_heap);
	void *block = bedrock_unlikely(bedrock_heap.space.is_watched)
			      ? bedrock_alloc_watched(&request)
			      : bedrock_alloc(&request, class_index);

	bedrock_tick();
	return bedrock_harden_filled(block, align_bytes <= BEDROCK_GUARDED_ALIGN_BYTES
						    ? bytes
						    : BEDROCK_HARDEN_ORDINARY);
}

/* An aligned block, without touching errno. align_bytes is a power of two. */
static inline void *bedrock_alloc_aligned(size_t align_bytes, size_t bytes)
{
	unsigned class_index = bedrock_class_for_aligned(bytes, align_bytes);

	/* The magazine of no class is always empty. */
	void *block = bedrock_fast_pop(bedrock_cache_hot(class_index));

	if (bedrock_unlikely(!block))
		block = bedrock_alloc_aligned_slow(class_index, align_bytes, bytes);
	return bedrock_live_filled(block);
}

int bedrock_posix_memalign(void **out, size_t align_bytes, size_t bytes)
{
	if (!bedrock_is_power_of_two(align_bytes) || align_bytes % sizeof(void *) != 0)
		return EINVAL;
	void *block = bedrock_alloc_aligned(align_bytes, bytes);

	if (!block)
		return ENOMEM;
	*out = block;
	return 0;
}

void *bedrock_aligned_alloc(size_t align_bytes, size_t bytes)
{
	if (!bedrock_is_power_of_two(align_bytes))
		return bedrock_fail(EINVAL);
	void *block = bedrock_alloc_aligned(align_bytes, bytes);

	return bedrock_likely(block != NULL) ? block : bedrock_fail(ENOMEM);
}

void *bedrock_memalign(size_t align_bytes, size_t bytes)
{
	return bedrock_aligned_alloc(align_bytes, bytes);
}

void *bedrock_valloc(size_t bytes)
{
	bedrock_heap_ensure(&bedrock_heap);
	return bedrock_aligned_alloc(bedrock_heap.os_page_bytes, bytes);
}

void *bedrock_pvalloc(size_t bytes)
{
	bedrock_heap_ensure(&bedrock_heap);
	size_t mask = bedrock_heap.os_page_bytes - 1;

	if (bytes > PTRDIFF_MAX)
		return bedrock_fail(ENOMEM);
	size_t whole_bytes = bytes ? (bytes + mask) & ~mask : mask + 1;

	return bedrock_aligned_alloc(mask + 1, whole_bytes);
}

/*
 * Is the small block good enough for the new size as it is? A shrink by more than half is
 * worth a copy, a smaller one is not.
 */
static bool bedrock_realloc_fits(unsigned class_index, size_t bytes)
{
	size_t usable_bytes = bedrock_class_bytes(class_index);

	if (bytes > usable_bytes)
		return false;
	return bytes >= usable_bytes / 2 || bedrock_class_for(bytes) == class_index;
}

/* Where a block goes that cannot be resized where it is. */
static void *bedrock_realloc_target(size_t usable_bytes, size_t bytes)
{
	const struct bedrock_large_request request = {
		.bytes = bytes,
		.align_bytes = 1,
		.is_growing = true,
	};

	if (bytes <= BEDROCK_SMALL_MAX_BYTES || bytes <= usable_bytes)
		return bedrock_fast_malloc(bytes);
	return bedrock_live_filled(bedrock_alloc_large(&request));
}

static void *bedrock_realloc_copy(void *block, size_t usable_bytes, size_t bytes)
{
	int saved_errno = errno;
	void *copy = bedrock_realloc_target(usable_bytes, bytes);

	if (!copy) {
		/* The old block is still large enough for a smaller size. */
		if (bytes > usable_bytes)
			return NULL;
		errno = saved_errno;
		return block;
	}
	memcpy(copy, block, usable_bytes < bytes ? usable_bytes : bytes);
	bedrock_fast_free(block);
	return copy;
}

/* Resize a large or huge block where it is. Under a limit, room for what is more is made first. */
static void *bedrock_resize(void *block, size_t usable_bytes, size_t bytes)
{
	const struct bedrock_limit *limit = &bedrock_heap.space.limit;
	struct bedrock_relief_course course = { .wanted_bytes = bytes - usable_bytes };
	void *resized = bedrock_large_resize(block, bytes);

	if (bytes <= usable_bytes)
		return resized;
	/* With room enough it is not the limit that is in the way. */
	while (!resized && !bedrock_limit_has_room(limit, course.wanted_bytes) &&
	       bedrock_relief_next(&bedrock_heap, &course))
		resized = bedrock_large_resize(block, bytes);
	return resized;
}

/* Under a tool that looks on a block always moves, so that pointers to the old one are found. */
static __attribute__((noinline)) void *bedrock_realloc_watched(void *block, size_t bytes)
{
	if (!bedrock_watch_expect(block))
		return NULL;
	return bedrock_realloc_copy(block, bedrock_watch_bytes(block), bytes);
}

static void *bedrock_realloc_block(void *block, size_t bytes)
{
	if (bedrock_unlikely(bedrock_heap.space.is_watched))
		return bedrock_realloc_watched(block, bytes);
	bedrock_live_asked("realloc", block);
	bedrock_harden_asked("realloc", block);
	unsigned class_index = bedrock_chunk_class_of(block);
	size_t usable_bytes = bedrock_fast_bytes(block);

	if (class_index == BEDROCK_CLASS_NONE || class_index == BEDROCK_CLASS_LARGE) {
		/* What it leaves when it moves may be somebody else's at once. */
		bedrock_live_taken("realloc", block);
		bedrock_harden_resizing(block, bytes, usable_bytes);
		void *resized = bedrock_resize(block, usable_bytes, bytes);

		(void)bedrock_live_given(resized ? resized : block);
		bedrock_harden_resized(resized ? resized : block, usable_bytes);
		if (resized)
			return resized;
	} else if (bedrock_realloc_fits(class_index, bytes)) {
		bedrock_harden_shortened(block, bytes, usable_bytes);
		return block;
	}
	return bedrock_realloc_copy(block, usable_bytes, bytes);
}

void *bedrock_realloc(void *block, size_t bytes)
{
	if (!block)
		return bedrock_fast_malloc(bytes);
	if (bytes == 0 && bedrock_heap.options.zero_realloc == BEDROCK_ZERO_REALLOC_FREE) {
		bedrock_fast_free(block);
		return NULL;
	}
	if (bytes > PTRDIFF_MAX)
		return bedrock_fail(ENOMEM);
	return bedrock_realloc_block(block, bytes);
}

void *bedrock_reallocarray(void *block, size_t count, size_t item_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, item_bytes, &bytes))
		return bedrock_fail(ENOMEM);
	return bedrock_realloc(block, bytes);
}

uint64_t bedrock_purge(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_cache_flush();
	bedrock_watch_release(&bedrock_heap.watch, 0);
	return bedrock_decay_purge(&bedrock_heap);
}

int bedrock_malloc_trim(size_t keep_bytes)
{
	(void)keep_bytes;
	return bedrock_purge() > 0;
}
