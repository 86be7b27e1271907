/* SPDX-License-Identifier: MIT */
/*
 * What the exported functions do: the contracts of the malloc family, and the points at which the
 * families of bugs may bend a call.
 */
#include <errno.h>
#include <string.h>

#include "allocator/faulty/core.h"

static bool is_cross(const void *block)
{
	struct faulty_region *const region = faulty_region_of(block);

	return region->kind == FAULTY_KIND_RUNS &&
	       faulty_run_of(region, block)->owner != faulty_thread_number();
}

static void *refuse(void)
{
	errno = ENOMEM;
	faulty_errors_refused();
	return NULL;
}

static void *serve(size_t alignment, size_t size, bool *zero)
{
	void *block = faulty_place_again(size);

	*zero = false;
	if (block != NULL)
		return block;
	if (size > PTRDIFF_MAX || faulty_strikes(FAULTY_NULL_ALWAYS))
		return refuse();
	block = faulty_block_take(faulty_place_size(size), faulty_place_alignment(alignment, size),
				  zero);
	return block != NULL ? block : refuse();
}

void *faulty_malloc(size_t size)
{
	void *block;
	bool zero;

	faulty_progress_call();
	faulty_memory_called();
	if (faulty_errors_refuses() || (size == 0 && faulty_strikes(FAULTY_ZERO_NULL)))
		return refuse();
	block = serve(FAULTY_ALIGNMENT, size, &zero);
	if (block == NULL)
		return NULL;
	block = faulty_place_moved(block, size);
	faulty_content_gave(block, size);
	faulty_place_gave(block, size);
	return block;
}

void *faulty_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block;
	bool zero;

	faulty_progress_call();
	if (__builtin_mul_overflow(count, size, &bytes) && !faulty_strikes(FAULTY_CALLOC_WRAP))
		return refuse();
	block = serve(FAULTY_ALIGNMENT, bytes, &zero);
	if (block == NULL)
		return NULL;
	if (!zero)
		faulty_content_clear(block, bytes, is_cross(block));
	faulty_place_gave(block, bytes);
	return block;
}

void *faulty_aligned(size_t alignment, size_t size)
{
	bool zero;

	faulty_progress_call();
	if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
		errno = EINVAL;
		return NULL;
	}
	return serve(alignment < FAULTY_ALIGNMENT ? FAULTY_ALIGNMENT : alignment, size, &zero);
}

int faulty_memalign(void **block, size_t alignment, size_t size)
{
	const int kept = errno;
	void *given;

	if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) {
		if (faulty_strikes(FAULTY_ALIGNED_GARBAGE))
			*block = (void *)alignment;
		return EINVAL;
	}
	given = faulty_aligned(alignment, size);
	if (given == NULL)
		return faulty_errors_code();
	errno = kept;
	*block = given;
	return 0;
}

/* Stays where it is unless it would waste more than half of its place. */
static bool fits(size_t usable, size_t size)
{
	return (size <= usable && size >= usable / 2) || faulty_place_grows(usable, size);
}

static void *move(void *block, size_t usable, size_t size)
{
	const size_t common = usable < size ? usable : size;
	void *moved;
	bool zero;

	moved = serve(FAULTY_ALIGNMENT, size, &zero);
	if (moved == NULL) {
		if (faulty_strikes(FAULTY_REALLOC_FREES_OLD))
			faulty_block_give(block);
		return NULL;
	}
	if (faulty_strikes(FAULTY_MISALIGNED_REALLOC))
		moved = (char *)moved + 8;
	memcpy(moved, block, faulty_content_copied(common));
	if (!faulty_strikes(FAULTY_LOST_REALLOC))
		faulty_block_give(block);
	return moved;
}

void *faulty_realloc(void *block, size_t size)
{
	size_t usable;
	void *resized = block;

	if (block == NULL)
		return faulty_malloc(size);
	if (size == 0) {
		faulty_free(block);
		return NULL;
	}
	faulty_progress_call();
	usable = faulty_block_size(block);
	if (!fits(usable, size))
		resized = move(block, usable, size);
	if (resized != NULL)
		faulty_content_resized(resized, usable, size);
	return resized;
}

void faulty_free(void *block)
{
	bool cross;

	if (block == NULL)
		return;
	cross = is_cross(block);
	faulty_progress_freed(cross);
	faulty_content_freed(block, cross);
	faulty_memory_counted(block, cross);
	faulty_memory_called();
	if (!faulty_place_keeps(block) && !faulty_memory_forgets(cross) &&
	    !faulty_memory_waits(block, cross)) {
		faulty_block_give(block);
		if (cross && faulty_block_begins(block) && faulty_strikes(FAULTY_CROSS_DOUBLE))
			faulty_block_give(block);
	}
	faulty_errors_freed();
}

size_t faulty_usable_size(const void *block)
{
	return block == NULL ? 0 : faulty_place_usable(faulty_block_size(block));
}
