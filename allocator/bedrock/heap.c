/* SPDX-License-Identifier: MIT */
/*
 * Initialisation, the choice of an arena, and what to try when an arena has no memory.
 */
#include "allocator/bedrock/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator/bedrock/cgroup.h"
#include "allocator/bedrock/conf.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/harden.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/owner.h"
#include "allocator/bedrock/report.h"
#include "allocator/bedrock/thread.h"

struct bedrock_heap bedrock_heap;

/* What stands for no hard limit beside a soft one: nobody has so much. */
#define BEDROCK_HEAP_BOUNDLESS (UINT64_C(1) << 60)

/* The control group's limits, or the share of them that is asked for. 0 for each that is not set.
 */
static void bedrock_heap_ask_group(uint64_t percent, uint64_t *hard_bytes, uint64_t *high_bytes)
{
	*hard_bytes = bedrock_cgroup_bytes(BEDROCK_CGROUP_MAX) / 100 * percent;
	*high_bytes = bedrock_cgroup_bytes(BEDROCK_CGROUP_HIGH) / 100 * percent;
	if (*hard_bytes == 0 && *high_bytes == 0)
		bedrock_debug_warn("BEDROCK_CONF: the control group has no limit, "
				   "memory_limit ignored",
				   "", 0, "");
	else if (*hard_bytes == 0)
		*hard_bytes = BEDROCK_HEAP_BOUNDLESS;
}

/* The limits that the options ask for. */
static void bedrock_heap_set_limits(struct bedrock_heap *heap)
{
	int64_t hard = heap->options.memory_limit;
	int64_t soft = heap->options.soft_limit;
	uint64_t hard_bytes = (uint64_t)hard;
	uint64_t high_bytes = 0;

	if (hard < 0)
		bedrock_heap_ask_group((uint64_t)-hard, &hard_bytes, &high_bytes);
	uint64_t whole_bytes = hard_bytes == BEDROCK_HEAP_BOUNDLESS ? high_bytes : hard_bytes;
	uint64_t soft_bytes = soft < 0 ? whole_bytes / 100 * (uint64_t)-soft : (uint64_t)soft;

	/* Where nothing else is said, begin before the kernel makes us wait. */
	if (soft == 0 && high_bytes != 0 && high_bytes < hard_bytes)
		soft_bytes = high_bytes - high_bytes / BEDROCK_LIMIT_NEAR_SHARE;
	bedrock_limit_set(&heap->space.limit, hard_bytes, soft == -100 ? hard_bytes : soft_bytes);
}

/* One arena per core or CPU that may be used. Without knowledge of cores it is one per CPU. */
static uint32_t bedrock_heap_natural_count(struct bedrock_heap *heap)
{
	uint32_t count = bedrock_os_cpu_count();

	if (heap->options.percpu_arena != BEDROCK_PERCPU_CORE)
		return count;
	if (bedrock_topology_read(&heap->topology))
		heap->options.percpu_arena = BEDROCK_PERCPU_CPU;
	else if (heap->topology.core_count < count)
		count = heap->topology.core_count;
	return count;
}

static void bedrock_heap_configure(struct bedrock_heap *heap)
{
	if (heap->is_configured || !environ)
		return;
	heap->is_configured = true;
	bedrock_conf_read(&heap->options);
	uint32_t count = bedrock_heap_natural_count(heap);

	if (heap->options.arena_count != 0)
		count = (uint32_t)heap->options.arena_count;
	if (count > BEDROCK_ARENAS_MAX)
		count = BEDROCK_ARENAS_MAX;
	heap->space.thp = (enum bedrock_thp)heap->options.thp;
	heap->huge.oversize_bytes = (uint64_t)heap->options.oversize_threshold_bytes;
	heap->space.is_purge_trusted = heap->options.is_trust_madvise;
	bedrock_store_relaxed(&heap->arena_count, count);
	bedrock_heap_set_limits(heap);
}

static void bedrock_heap_init_parts(struct bedrock_heap *heap)
{
	bedrock_lock_init(&heap->arenas_lock, BEDROCK_RANK_ARENAS);
	bedrock_lock_init(&heap->left_lock, BEDROCK_RANK_LEFT);
	heap->os_page_bytes = bedrock_os_page_bytes();
	bedrock_options_init(&heap->options);
	bedrock_relief_init(&heap->relief);
	bedrock_ctl_init(&heap->ctl);
	bedrock_watch_init(&heap->watch);
	bedrock_space_init(&heap->space);
	bedrock_meta_init(&heap->meta);
	heap->meta.limit = &heap->space.limit;
	bedrock_huge_init(&heap->huge, &heap->space);
	heap->guarded.huge = &heap->huge;
	bedrock_arena_init(&heap->first_arena, 0, &heap->space);
	bedrock_store_relaxed(&heap->arena_count, 1);
	bedrock_store_release(&heap->arenas[0], &heap->first_arena);
	bedrock_heap_configure(heap);
	heap->space.is_watched = heap->options.is_annotate && bedrock_tell_is_heard();
	bedrock_harden_start(heap);
	heap->has_thread_key = bedrock_os_key_create(&heap->thread_key, bedrock_thread_end) == 0;
}

void bedrock_heap_init(struct bedrock_heap *heap)
{
	bool is_mine;

	/* The lock needs no initialisation: it is zero, and its rank is the lowest. */
	bedrock_lock_take(&heap->init_lock);
	is_mine = !bedrock_load_relaxed(&heap->is_ready);
	if (is_mine) {
		bedrock_heap_init_parts(heap);
		bedrock_store_release(&heap->is_ready, true);
	}
	bedrock_lock_give(&heap->init_lock);
	/* Outside of the lock, since libc may allocate to register handlers. */
	if (is_mine)
		bedrock_fork_register();
}

__attribute__((constructor)) static void bedrock_heap_construct(void)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_heap_ensure(heap);
	if (!heap->is_configured) {
		bedrock_heap_configure(heap);
		bedrock_harden_start(heap);
	}
	bedrock_store_release(&heap->is_constructed, true);
}

__attribute__((destructor)) static void bedrock_heap_destruct(void)
{
	bedrock_report_at_exit();
}

/* Arena 0 stands in when there is no memory for another. */
static struct bedrock_arena *bedrock_heap_create_arena(struct bedrock_heap *heap, uint32_t index)
{
	bedrock_lock_take(&heap->arenas_lock);
	struct bedrock_arena *arena = bedrock_load_relaxed(&heap->arenas[index]);

	if (!arena) {
		arena = bedrock_meta_alloc(&heap->meta, sizeof(*arena));
		if (arena) {
			bedrock_arena_init(arena, index, &heap->space);
			/* Pairs with the load in bedrock_heap_arena_at. */
			bedrock_store_release(&heap->arenas[index], arena);
		}
	}
	bedrock_lock_give(&heap->arenas_lock);
	return arena ? arena : &heap->first_arena;
}

struct bedrock_arena *bedrock_heap_arena(struct bedrock_heap *heap, uint32_t thread_index)
{
	uint32_t choice = thread_index;

	if (heap->options.percpu_arena != BEDROCK_PERCPU_DISABLED)
		choice = bedrock_os_cpu();
	if (heap->options.percpu_arena == BEDROCK_PERCPU_CORE)
		choice = bedrock_topology_core(&heap->topology, choice);
	uint32_t index = choice % bedrock_load_relaxed(&heap->arena_count);
	struct bedrock_arena *arena = bedrock_heap_arena_at(heap, index);

	return bedrock_likely(arena != NULL) ? arena : bedrock_heap_create_arena(heap, index);
}

void bedrock_heap_relieve(struct bedrock_heap *heap)
{
	bedrock_guarded_relieve(&heap->guarded);
	bedrock_owner_drain_left(heap);
	bedrock_huge_relieve(&heap->huge);
}

static int bedrock_heap_take_anywhere(struct bedrock_heap *heap, unsigned class_index,
				      uint32_t want, struct bedrock_list *out)
{
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		/* What other size classes gave back may become a slab of this one. */
		bedrock_arena_collect(arena, false);
		if (bedrock_slab_take(arena, class_index, want, BEDROCK_EFFORT_SLAB, out) == 0)
			return 0;
	}
	return -ENOMEM;
}

/*
 * What other arenas have lying idle. Asked before this arena makes a slab: a thread that moves
 * between CPUs would otherwise leave free blocks behind in each arena it has been to.
 */
static int bedrock_heap_take_idle(struct bedrock_heap *heap, const struct bedrock_arena *but,
				  unsigned class_index, uint32_t want, struct bedrock_list *out)
{
	uint32_t count = bedrock_load_relaxed(&heap->arena_count);

	for (uint32_t i = 1; i < count; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, (but->index + i) % count);

		if (!arena || !bedrock_bin_has_some(&arena->bins[class_index]))
			continue;
		if (bedrock_slab_take(arena, class_index, want, BEDROCK_EFFORT_REUSE, out) == 0)
			return 0;
	}
	return -ENOMEM;
}

/*
 * One arena after the other in which so many pages rest, the own one first; then those in which
 * they do when what came back is collected. NULL: that was all. Before memory is touched that never
 * was, this is asked: threads come and go between CPUs, and size classes come and go in favour, and
 * each of them would otherwise have to have as much as it ever needs.
 */
static struct bedrock_arena *bedrock_heap_next_rested(struct bedrock_heap *heap,
						      const struct bedrock_arena *first,
						      uint32_t pages, uint32_t *turn)
{
	uint32_t count = bedrock_load_relaxed(&heap->arena_count);

	while (*turn < 2 * count) {
		bool is_second = *turn >= count;
		uint32_t index = (first->index + (*turn)++) % count;
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, index);

		if (!arena || (is_second && bedrock_load_relaxed(&arena->pending_pages) < pages))
			continue;
		if (is_second)
			bedrock_arena_collect_pages(arena, pages);
		if (bedrock_arena_rest_pages(arena) >= pages)
			return arena;
	}
	return NULL;
}

static int bedrock_heap_take_rested(struct bedrock_heap *heap, const struct bedrock_arena *first,
				    unsigned class_index, uint32_t want, struct bedrock_list *out)
{
	uint32_t pages = bedrock_class_slab_pages(class_index);
	struct bedrock_arena *arena;
	uint32_t turn = 0;

	while ((arena = bedrock_heap_next_rested(heap, first, pages, &turn))) {
		if (bedrock_slab_take(arena, class_index, want, BEDROCK_EFFORT_REST, out) == 0)
			return 0;
	}
	return -ENOMEM;
}

static int bedrock_heap_take_used(struct bedrock_heap *heap, struct bedrock_arena *first,
				  unsigned class_index, uint32_t want, struct bedrock_list *out)
{
	if (bedrock_slab_take(first, class_index, want, BEDROCK_EFFORT_REUSE, out) == 0)
		return 0;
	if (bedrock_heap_take_idle(heap, first, class_index, want, out) == 0)
		return 0;
	return bedrock_heap_take_rested(heap, first, class_index, want, out);
}

int bedrock_heap_take(struct bedrock_heap *heap, struct bedrock_arena *first, unsigned class_index,
		      uint32_t want, struct bedrock_list *out)
{
	if (bedrock_heap_take_used(heap, first, class_index, want, out) == 0)
		return 0;
	/*
	 * What an ended thread has left comes before memory that was never touched; what one has,
	 * since no call is to pay for all.
	 */
	if (bedrock_owner_drain_some(heap, 1) &&
	    bedrock_heap_take_used(heap, first, class_index, want, out) == 0)
		return 0;
	if (bedrock_slab_take(first, class_index, want, BEDROCK_EFFORT_CHUNK, out) == 0)
		return 0;
	if (bedrock_heap_take_anywhere(heap, class_index, want, out) == 0)
		return 0;
	bedrock_heap_relieve(heap);
	return bedrock_slab_take(first, class_index, want, BEDROCK_EFFORT_CHUNK, out);
}

static int bedrock_heap_take_run_anywhere(struct bedrock_heap *heap,
					  const struct bedrock_pages_request *request,
					  struct bedrock_run **out, bool *is_zero)
{
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		bedrock_arena_collect(arena, false);
		if (bedrock_pages_alloc(&arena->pages, request, out, is_zero) == 0)
			return 0;
	}
	return -ENOMEM;
}

static int bedrock_heap_take_rested_run(struct bedrock_heap *heap,
					const struct bedrock_arena *first,
					struct bedrock_pages_request request,
					struct bedrock_run **out, bool *is_zero)
{
	struct bedrock_arena *arena;
	uint32_t turn = 0;

	request.may_grow = false;
	request.is_frugal = true;
	request.is_growing = false;
	while ((arena = bedrock_heap_next_rested(heap, first, request.page_count, &turn))) {
		if (bedrock_pages_alloc(&arena->pages, &request, out, is_zero) == 0)
			return 0;
	}
	return -ENOMEM;
}

/*
 * A run that may grow is worth a new chunk: it is then not copied at each step, leaving dirty pages
 * behind. What is mapped and not touched costs address space and a chunk's header.
 */
static int bedrock_heap_take_fresh_run(struct bedrock_heap *heap, struct bedrock_arena *first,
				       struct bedrock_pages_request request,
				       struct bedrock_run **out, bool *is_zero)
{
	if (request.is_growing) {
		request.may_grow = !bedrock_limit_is_near(&heap->space.limit);
		if (bedrock_pages_alloc(&first->pages, &request, out, is_zero) == 0)
			return 0;
		request.is_growing = false;
	}
	request.may_grow = true;
	return bedrock_pages_alloc(&first->pages, &request, out, is_zero);
}

int bedrock_heap_take_run(struct bedrock_heap *heap, struct bedrock_arena *first,
			  struct bedrock_pages_request request, struct bedrock_run **out,
			  bool *is_zero)
{
	/* No chunk has that much room. */
	if (2 * request.page_count > BEDROCK_RUN_PAGES_MAX)
		request.is_growing = false;
	if (bedrock_heap_take_rested_run(heap, first, request, out, is_zero) == 0)
		return 0;
	/* As in bedrock_heap_take. */
	if (bedrock_owner_drain_some(heap, 1) &&
	    bedrock_heap_take_rested_run(heap, first, request, out, is_zero) == 0)
		return 0;
	if (bedrock_likely(bedrock_heap_take_fresh_run(heap, first, request, out, is_zero) == 0))
		return 0;
	request.is_growing = false;
	request.may_grow = false;
	if (bedrock_heap_take_run_anywhere(heap, &request, out, is_zero) == 0)
		return 0;
	request.may_grow = true;
	bedrock_heap_relieve(heap);
	return bedrock_pages_alloc(&first->pages, &request, out, is_zero);
}
