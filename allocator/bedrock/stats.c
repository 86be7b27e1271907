/* SPDX-License-Identifier: MIT */
/*
 * The statistics snapshot: sums over counters that others keep.
 *
 * Blocks that were freed but that no arena has collected yet, or that ended threads have left in
 * their caches, count as allocated, so they are returned first, and collected bin by bin. The
 * counters are then read without a lock, one after the other. What moves from one to another in
 * between could turn their order round; bedrock_stats_put_in_order raises the larger figure to the
 * smaller one then. Without movement it changes nothing.
 */
#include "allocator/bedrock/bedrock.h"

#include <string.h>

#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/owner.h"
#include "allocator/bedrock/thread.h"

static uint64_t bedrock_pages_to_bytes(uint64_t pages)
{
	return pages << BEDROCK_PAGE_SHIFT;
}

static void bedrock_stats_add_arena(struct bedrock_stats *out, struct bedrock_arena *arena)
{
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		out->allocated_bytes +=
			bedrock_load_relaxed(&arena->bins[i].blocks_out) * bedrock_class_bytes(i);
	out->allocated_bytes += bedrock_pages_to_bytes(bedrock_load_relaxed(&arena->large_pages));
	out->active_bytes += bedrock_pages_to_bytes(bedrock_load_relaxed(&arena->pages.used_pages));
	out->dirty_bytes += bedrock_pages_to_bytes(
		bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_DIRTY]));
	out->muzzy_bytes += bedrock_pages_to_bytes(
		bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_MUZZY]));
	out->resident_bytes +=
		bedrock_pages_to_bytes(bedrock_load_relaxed(&arena->pages.charged_pages));
	out->arena_count++;
}

static void bedrock_stats_add_heap(struct bedrock_stats *out, struct bedrock_heap *heap)
{
	uint64_t live_bytes = bedrock_load_relaxed(&heap->huge.live_bytes);

	out->huge_bytes = live_bytes;
	out->huge_count = bedrock_load_relaxed(&heap->huge.live_count);
	out->allocated_bytes += live_bytes;
	out->active_bytes += live_bytes;
	out->dirty_bytes += bedrock_load_relaxed(&heap->huge.kept.bytes) +
			    bedrock_load_relaxed(&heap->huge.spare_bytes);
	out->mapped_bytes += bedrock_space_mapped_bytes(&heap->space);
	out->metadata_bytes = bedrock_load_relaxed(&heap->meta.mapped_bytes);
	out->resident_bytes += bedrock_load_relaxed(&heap->huge.charged_bytes) +
			       bedrock_load_relaxed(&heap->meta.charged_bytes) +
			       bedrock_load_relaxed(&heap->space.owed_bytes);
	out->purge_calls = bedrock_load_relaxed(&heap->purges.calls);
	out->purge_bytes = bedrock_load_relaxed(&heap->purges.bytes);
	out->lazy_purge_calls = bedrock_load_relaxed(&heap->purges.lazy_calls);
	out->lazy_purge_bytes = bedrock_load_relaxed(&heap->purges.lazy_bytes);
	out->failed_purge_calls = bedrock_load_relaxed(&heap->purges.failures);
	out->failed_unmap_calls = bedrock_load_relaxed(&heap->space.unmap_failures);
	out->failed_thread_starts = bedrock_load_relaxed(&heap->background.failed_starts);
	out->thread_cache_count = bedrock_load_relaxed(&heap->live_caches);
	out->background_thread_count = bedrock_load_relaxed(&heap->background.is_running);
}

static uint64_t bedrock_at_least(uint64_t bytes, uint64_t least_bytes)
{
	return bytes > least_bytes ? bytes : least_bytes;
}

/* allocated <= active <= resident <= mapped, and mapped is the sum of its parts. */
static void bedrock_stats_put_in_order(struct bedrock_stats *out)
{
	out->active_bytes = bedrock_at_least(out->active_bytes, out->allocated_bytes);
	out->resident_bytes = bedrock_at_least(out->resident_bytes, out->active_bytes);
	uint64_t known_bytes =
		out->active_bytes + out->dirty_bytes + out->muzzy_bytes + out->metadata_bytes;

	out->mapped_bytes += out->metadata_bytes;
	out->mapped_bytes = bedrock_at_least(out->mapped_bytes, out->resident_bytes);
	out->mapped_bytes = bedrock_at_least(out->mapped_bytes, known_bytes);
	out->retained_bytes = out->mapped_bytes - known_bytes;
}

void bedrock_stats_read(struct bedrock_stats *out)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_heap_ensure(heap);
	bedrock_owner_drain_left(heap);
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		bedrock_arena_collect(arena, true);
		bedrock_stats_add_arena(out, arena);
	}
	bedrock_stats_add_heap(out, heap);
	bedrock_stats_put_in_order(out);
}

uint32_t bedrock_thread_arena(uint32_t *arena_count)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_heap_ensure(heap);
	*arena_count = bedrock_load_relaxed(&heap->arena_count);
	return bedrock_heap_arena(heap, bedrock_thread_index())->index;
}
