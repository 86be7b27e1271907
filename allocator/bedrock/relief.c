/* SPDX-License-Identifier: MIT */
/*
 * The steps of relief, the soft limit, and the public functions around the limit.
 */
#include "allocator/bedrock/relief.h"

#include <errno.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"

#define BEDROCK_NS_PER_MS UINT64_C(1000000)

/* What one refused request has purged at least, so that its successors find some as well. */
#define BEDROCK_RELIEF_PURGE_BYTES ((uint64_t)1 << 20)
/* The same for one look at the soft limit, and the time between two looks. */
#define BEDROCK_RELIEF_SOFT_BYTES ((uint64_t)4 << 20)
#define BEDROCK_RELIEF_SOFT_NS    (10 * BEDROCK_NS_PER_MS)
/* After purges that gained nothing: twice as long each time. */
#define BEDROCK_RELIEF_BACKOFF_NS        (10 * BEDROCK_NS_PER_MS)
#define BEDROCK_RELIEF_BACKOFF_SHIFT_MAX 7u
/* Callbacks are not called more often than this. */
#define BEDROCK_RELIEF_HARD_CALL_NS (10 * BEDROCK_NS_PER_MS)
#define BEDROCK_RELIEF_SOFT_CALL_NS (100 * BEDROCK_NS_PER_MS)
/* How long deregistration sleeps between looks at a callback that is running. */
#define BEDROCK_RELIEF_SLICE_NS (100 * BEDROCK_NS_PER_MS)

/* This thread is inside a callback: its own requests are not helped by callbacks. */
static __thread bool bedrock_relief_is_inside __attribute__((tls_model("initial-exec")));

void bedrock_relief_init(struct bedrock_relief *relief)
{
	bedrock_lock_init(&relief->lock, BEDROCK_RANK_RELIEF);
}

/* What a purge could give back at most. */
static uint64_t bedrock_relief_reclaimable_bytes(struct bedrock_heap *heap)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (arena)
			pages += bedrock_load_relaxed(&arena->pending_pages) +
				 bedrock_load_relaxed(&arena->pages.rest_pages[0]) +
				 bedrock_load_relaxed(&arena->pages.rest_pages[1]);
	}
	return (pages << BEDROCK_PAGE_SHIFT) + bedrock_load_relaxed(&heap->huge.kept.bytes) +
	       bedrock_load_relaxed(&heap->huge.spare_bytes);
}

static void bedrock_relief_note_futile(struct bedrock_heap *heap, uint64_t now_ns)
{
	struct bedrock_relief *relief = &heap->relief;
	uint32_t failures = bedrock_load_relaxed(&relief->futile_purges);
	uint32_t shift = failures < BEDROCK_RELIEF_BACKOFF_SHIFT_MAX
				 ? failures
				 : BEDROCK_RELIEF_BACKOFF_SHIFT_MAX;

	bedrock_store_relaxed(&relief->futile_bytes, bedrock_relief_reclaimable_bytes(heap));
	bedrock_store_relaxed(&relief->futile_purges, failures + 1);
	bedrock_store_relaxed(&relief->purge_again_ns,
			      now_ns + (BEDROCK_RELIEF_BACKOFF_NS << shift));
}

/* Purge up to about `bytes`, if there is anything to gain. -> was there? */
static bool bedrock_relief_purge(struct bedrock_heap *heap, uint64_t bytes)
{
	struct bedrock_relief *relief = &heap->relief;
	uint64_t reclaimable_bytes = bedrock_relief_reclaimable_bytes(heap);
	uint64_t now_ns = bedrock_os_now_ns();

	if (reclaimable_bytes == 0)
		return false;
	if (reclaimable_bytes <= bedrock_load_relaxed(&relief->futile_bytes) &&
	    now_ns < bedrock_load_relaxed(&relief->purge_again_ns))
		return false;
	if (bedrock_decay_relieve(heap, now_ns, bytes) == 0) {
		bedrock_relief_note_futile(heap, now_ns);
		return false;
	}
	bedrock_store_relaxed(&relief->futile_bytes, 0);
	bedrock_store_relaxed(&relief->futile_purges, 0);
	return true;
}

static bool bedrock_relief_step_credit(struct bedrock_heap *heap, uint64_t wanted_bytes)
{
	uint64_t returned_bytes = 0;

	(void)wanted_bytes;
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (arena)
			returned_bytes += bedrock_pages_return_credit(&arena->pages);
	}
	return returned_bytes > 0;
}

static bool bedrock_relief_step_purge(struct bedrock_heap *heap, uint64_t wanted_bytes)
{
	return bedrock_relief_purge(heap, wanted_bytes > BEDROCK_RELIEF_PURGE_BYTES
						  ? wanted_bytes
						  : BEDROCK_RELIEF_PURGE_BYTES);
}

static bool bedrock_relief_step_flush(struct bedrock_heap *heap, uint64_t wanted_bytes)
{
	/* How much that costs is bounded by the frees that have filled the cache. */
	bool is_flushed = bedrock_cache_flush();

	return bedrock_relief_step_purge(heap, wanted_bytes) || is_flushed;
}

/* May this thread call now? If so, nobody else does until bedrock_relief_end_call. */
static bool bedrock_relief_begin_call(struct bedrock_relief *relief, enum bedrock_pressure pressure)
{
	static const uint64_t pause_ns[BEDROCK_PRESSURE_COUNT] = {
		[BEDROCK_PRESSURE_SOFT] = BEDROCK_RELIEF_SOFT_CALL_NS,
		[BEDROCK_PRESSURE_HARD] = BEDROCK_RELIEF_HARD_CALL_NS,
	};
	uint64_t now_ns = bedrock_os_now_ns();
	uint32_t expected = 0;

	if (bedrock_relief_is_inside || bedrock_load_relaxed(&relief->callback_count) == 0 ||
	    now_ns < bedrock_load_relaxed(&relief->call_again_ns[pressure]))
		return false;
	if (!bedrock_cas_acquire(&relief->is_calling, &expected, 1))
		return false;
	bedrock_store_relaxed(&relief->call_again_ns[pressure], now_ns + pause_ns[pressure]);
	bedrock_relief_is_inside = true;
	return true;
}

static void bedrock_relief_end_call(struct bedrock_relief *relief)
{
	bedrock_relief_is_inside = false;
	/* Pairs with the load in bedrock_relief_wait_for_calls. */
	bedrock_store_release(&relief->is_calling, 0);
	bedrock_os_wake(&relief->is_calling, INT32_MAX);
}

/* Callback number `index` as it is now; those before it may have deregistered some. */
static bool bedrock_relief_callback_at(struct bedrock_relief *relief, uint32_t index,
				       struct bedrock_relief_callback *out)
{
	bedrock_lock_take(&relief->lock);
	bool is_there = index < bedrock_load_relaxed(&relief->callback_count);

	if (is_there)
		*out = relief->callbacks[index];
	bedrock_lock_give(&relief->lock);
	return is_there;
}

static bool bedrock_relief_call(struct bedrock_heap *heap, enum bedrock_pressure pressure,
				uint64_t wanted_bytes)
{
	struct bedrock_relief *relief = &heap->relief;
	struct bedrock_relief_callback callback;
	int saved_errno = errno;

	if (!bedrock_relief_begin_call(relief, pressure))
		return false;
	bedrock_assert(bedrock_lock_none_held());
	for (uint32_t i = 0; bedrock_relief_callback_at(relief, i, &callback); i++)
		callback.function(pressure, (size_t)wanted_bytes, callback.argument);
	bedrock_relief_end_call(relief);
	errno = saved_errno;
	return true;
}

static bool bedrock_relief_step_call(struct bedrock_heap *heap, uint64_t wanted_bytes)
{
	return bedrock_relief_call(heap, BEDROCK_PRESSURE_HARD, wanted_bytes);
}

/* After a callback what it freed may be in this thread's cache, hence another flush. */
static bool (*const bedrock_relief_steps[])(struct bedrock_heap *heap, uint64_t wanted_bytes) = {
	bedrock_relief_step_credit, bedrock_relief_step_purge, bedrock_relief_step_flush,
	bedrock_relief_step_call,   bedrock_relief_step_flush,
};

#define BEDROCK_RELIEF_STEP_COUNT (sizeof(bedrock_relief_steps) / sizeof(bedrock_relief_steps[0]))

bool bedrock_relief_next(struct bedrock_heap *heap, struct bedrock_relief_course *course)
{
	uint64_t hard_bytes = bedrock_load_relaxed(&heap->space.limit.hard_bytes);

	/* No limit, so the kernel refused; or more than anybody could ever make room for. */
	if (hard_bytes == 0 || course->wanted_bytes > hard_bytes)
		return false;
	while (course->step < BEDROCK_RELIEF_STEP_COUNT) {
		if (bedrock_relief_steps[course->step++](heap, course->wanted_bytes))
			return true;
	}
	return false;
}

void bedrock_relief_soften(struct bedrock_heap *heap)
{
	struct bedrock_relief *relief = &heap->relief;
	uint64_t now_ns = bedrock_os_now_ns();
	uint64_t again_ns = bedrock_load_relaxed(&relief->soft_again_ns);

	if (now_ns < again_ns || !bedrock_cas_acquire(&relief->soft_again_ns, &again_ns,
						      now_ns + BEDROCK_RELIEF_SOFT_NS))
		return;
	bedrock_add_relaxed(&relief->shrink_epoch, 1);
	bedrock_relief_step_credit(heap, 0);
	bedrock_relief_purge(heap, BEDROCK_RELIEF_SOFT_BYTES);
	bedrock_relief_call(heap, BEDROCK_PRESSURE_SOFT, 0);
}

void bedrock_relief_forget_others(struct bedrock_relief *relief)
{
	bedrock_store_relaxed(&relief->is_calling, bedrock_relief_is_inside ? 1 : 0);
}

int bedrock_on_pressure(bedrock_pressure_function *function, void *argument)
{
	struct bedrock_relief *relief = &bedrock_heap.relief;
	int rc = ENOMEM;

	if (!function)
		return EINVAL;
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_lock_take(&relief->lock);
	uint32_t count = bedrock_load_relaxed(&relief->callback_count);

	if (count < BEDROCK_PRESSURE_CALLBACKS_MAX) {
		relief->callbacks[count].function = function;
		relief->callbacks[count].argument = argument;
		bedrock_store_relaxed(&relief->callback_count, count + 1);
		rc = 0;
	}
	bedrock_lock_give(&relief->lock);
	return rc;
}

/* Until nobody is inside a callback; who is inside itself need not wait. */
static void bedrock_relief_wait_for_calls(struct bedrock_relief *relief)
{
	while (!bedrock_relief_is_inside && bedrock_load_acquire(&relief->is_calling))
		bedrock_os_wait(&relief->is_calling, 1, BEDROCK_RELIEF_SLICE_NS);
}

int bedrock_off_pressure(bedrock_pressure_function *function, void *argument)
{
	struct bedrock_relief *relief = &bedrock_heap.relief;
	int rc = ENOENT;

	bedrock_heap_ensure(&bedrock_heap);
	bedrock_lock_take(&relief->lock);
	uint32_t count = bedrock_load_relaxed(&relief->callback_count);

	for (uint32_t i = 0; i < count && rc; i++) {
		if (relief->callbacks[i].function != function ||
		    relief->callbacks[i].argument != argument)
			continue;
		relief->callbacks[i] = relief->callbacks[count - 1];
		bedrock_store_relaxed(&relief->callback_count, count - 1);
		rc = 0;
	}
	bedrock_lock_give(&relief->lock);
	bedrock_relief_wait_for_calls(relief);
	return rc;
}

uint64_t bedrock_resident(void)
{
	return bedrock_load_relaxed(&bedrock_heap.space.limit.charged_bytes);
}

/* Chunks from before the limit; decay's lock keeps them mapped. */
static void bedrock_relief_keep_small(struct bedrock_heap *heap)
{
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		bedrock_lock_take(&arena->decay.lock);
		bedrock_lock_take(&arena->pages.lock);
		for (struct bedrock_chunk *chunk = arena->pages.all; chunk; chunk = chunk->all_next)
			bedrock_os_keep_small(chunk, BEDROCK_CHUNK_BYTES);
		bedrock_lock_give(&arena->pages.lock);
		bedrock_lock_give(&arena->decay.lock);
	}
}

uint64_t bedrock_limit_memory(uint64_t hard_bytes, uint64_t soft_bytes)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_heap_ensure(heap);
	bool is_first = hard_bytes != 0 && !bedrock_limit_is_set(&heap->space.limit);

	bedrock_limit_set(&heap->space.limit, hard_bytes, soft_bytes);
	if (is_first)
		bedrock_relief_keep_small(heap);
	/* Lowered below what is in use: the unused part of it is given back at once. */
	if (hard_bytes != 0 && bedrock_resident() > hard_bytes) {
		bedrock_relief_step_credit(heap, 0);
		bedrock_purge();
	}
	return bedrock_resident();
}
