/* SPDX-License-Identifier: MIT */
/*
 * Large and huge blocks.
 *
 * Zeroed memory is believed to be zero only when it is fresh from the kernel and was never
 * handed out. What has been through madvise is cleared by hand, as that call may lie.
 */
#include "allocator/bedrock/large.h"

#include <string.h>

#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/misuse.h"
#include "allocator/bedrock/thread.h"

static inline bool bedrock_block_is_huge(const void *block)
{
	return bedrock_chunk_class_of(block) == BEDROCK_CLASS_NONE;
}

/*
 * Blocks are looked at before they are freed or resized. The page map knows a large one by its
 * first page, and not any more once it is freed; a header knows where its huge block begins. A huge
 * block whose mapping is gone cannot be asked.
 */
void bedrock_large_expect(const char *call, const void *block)
{
	bool begins_here = bedrock_block_is_huge(block)
				   ? bedrock_huge_begins(block)
				   : ((uintptr_t)block & (BEDROCK_PAGE_BYTES - 1)) == 0;

	if (bedrock_unlikely(!begins_here))
		bedrock_misuse_no_block(call, block);
}

static uint32_t bedrock_large_pages(size_t bytes)
{
	return (uint32_t)((bytes + BEDROCK_PAGE_BYTES - 1) >> BEDROCK_PAGE_SHIFT);
}

static void *bedrock_huge_block(const struct bedrock_large_request *request, bool *is_zero)
{
	struct bedrock_heap *heap = &bedrock_heap;
	void *block;
	int rc = bedrock_huge_alloc(&heap->huge, request->bytes, request->align_bytes, &block,
				    is_zero);

	if (rc) {
		bedrock_heap_relieve(heap);
		rc = bedrock_huge_alloc(&heap->huge, request->bytes, request->align_bytes, &block,
					is_zero);
	}
	return rc ? NULL : block;
}

static void *bedrock_large_block(const struct bedrock_large_request *request, bool *is_zero)
{
	struct bedrock_heap *heap = &bedrock_heap;
	struct bedrock_arena *arena = bedrock_heap_arena(heap, bedrock_thread_index());
	struct bedrock_run *run;
	size_t least_bytes = request->bytes ? request->bytes : 1;
	const struct bedrock_pages_request pages = {
		.page_count = bedrock_large_pages(least_bytes),
		.align_pages = bedrock_large_pages(request->align_bytes),
		.class_index = BEDROCK_CLASS_LARGE,
		.is_growing = request->is_growing,
	};

	if (bedrock_heap_take_run(heap, arena, pages, &run, is_zero))
		return NULL;
	arena = bedrock_run_chunk(run)->arena;
	bedrock_add_relaxed(&arena->large_pages, pages.page_count);
	return bedrock_run_start(run);
}

void *bedrock_large_alloc(const struct bedrock_large_request *request)
{
	bool is_huge = request->bytes > BEDROCK_LARGE_MAX_BYTES ||
		       request->align_bytes >= BEDROCK_LARGE_MAX_BYTES;
	bool is_zero;
	void *block = is_huge ? bedrock_huge_block(request, &is_zero)
			      : bedrock_large_block(request, &is_zero);

	if (block && request->is_zero_wanted && !is_zero)
		memset(block, 0, request->bytes);
	return block;
}

void bedrock_large_free(void *block)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_large_expect("free", block);
	if (bedrock_block_is_huge(block) && bedrock_guarded_holds(block)) {
		bedrock_guarded_free(&heap->guarded, block);
		return;
	}
	if (bedrock_block_is_huge(block)) {
		bedrock_huge_free(&heap->huge, block,
				  bedrock_load_relaxed(&heap->options.dirty_decay_ms) != 0);
		return;
	}
	struct bedrock_run *run = bedrock_chunk_run_at(block);
	struct bedrock_arena *arena = bedrock_chunk_of(block)->arena;

	bedrock_sub_relaxed(&arena->large_pages, run->page_count);
	bedrock_pages_free(&arena->pages, run);
	bedrock_decay_after_free(heap, arena);
}

/*
 * Move a block down into the free pages before it. As much is copied as when it moves elsewhere,
 * but fewer pages are touched, and what it leaves is at its end and not between others.
 */
static void *bedrock_run_slide(struct bedrock_arena *arena, struct bedrock_run *run, uint32_t count)
{
	void *block = bedrock_run_start(run);
	size_t old_bytes = (size_t)run->page_count << BEDROCK_PAGE_SHIFT;

	if (bedrock_pages_extend_down(&arena->pages, &run, count))
		return NULL;
	memmove(bedrock_run_start(run), block, old_bytes);
	if (run->page_count > count) {
		bedrock_pages_shrink(&arena->pages, run, count);
		bedrock_decay_after_free(&bedrock_heap, arena);
	}
	return bedrock_run_start(run);
}

static void *bedrock_run_resize(void *block, size_t bytes)
{
	struct bedrock_run *run = bedrock_chunk_run_at(block);
	struct bedrock_arena *arena = bedrock_chunk_of(block)->arena;
	uint32_t old_pages = run->page_count;

	if (bytes <= BEDROCK_SMALL_MAX_BYTES || bytes > BEDROCK_LARGE_MAX_BYTES)
		return NULL;
	uint32_t new_pages = bedrock_large_pages(bytes);

	if (new_pages == old_pages)
		return block;
	if (new_pages > old_pages) {
		if (bedrock_pages_extend(&arena->pages, run, new_pages))
			block = bedrock_run_slide(arena, run, new_pages);
		if (block)
			bedrock_add_relaxed(&arena->large_pages, new_pages - old_pages);
		return block;
	}
	bedrock_sub_relaxed(&arena->large_pages, old_pages - new_pages);
	bedrock_pages_shrink(&arena->pages, run, new_pages);
	bedrock_decay_after_free(&bedrock_heap, arena);
	return block;
}

void *bedrock_large_resize(void *block, size_t bytes)
{
	bedrock_large_expect("realloc", block);
	if (!bedrock_block_is_huge(block))
		return bedrock_run_resize(block, bytes);
	if (bedrock_guarded_holds(block))
		return bedrock_guarded_fits(block, bytes) ? block : NULL;
	/* What fits a run now had better become one. */
	if (bytes <= BEDROCK_LARGE_MAX_BYTES)
		return NULL;
	return bedrock_huge_resize(&bedrock_heap.huge, block, bytes);
}

size_t bedrock_large_usable_bytes(const void *block)
{
	if (bedrock_block_is_huge(block))
		return bedrock_huge_usable_bytes(block);
	return (size_t)bedrock_chunk_run_at(block)->page_count << BEDROCK_PAGE_SHIFT;
}
