/* SPDX-License-Identifier: MIT */
/*
 * When passes are made over which arenas, by whom, and what else is looked after.
 */
#include "allocator/bedrock/decay.h"

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/idle.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/owner.h"
#include "allocator/bedrock/pass.h"
#include "allocator/bedrock/thread.h"

#define BEDROCK_NS_PER_MS             UINT64_C(1000000)
#define BEDROCK_DECAY_INTERVAL_MIN_NS (5 * BEDROCK_NS_PER_MS)
#define BEDROCK_DECAY_NEVER_NS        UINT64_MAX
/* Turns in an interval, at each of which a part of the chunks is looked at. */
#define BEDROCK_DECAY_TURNS 8u

/* How often mappings outside of arenas are looked after. */
#define BEDROCK_DECAY_MAPPINGS_NS (100 * BEDROCK_NS_PER_MS)

/* How often caches are looked at, per decay time, but no more often than this. */
#define BEDROCK_DECAY_IDLE_LOOKS  4u
#define BEDROCK_DECAY_IDLE_MIN_NS (25 * BEDROCK_NS_PER_MS)

/* What a slow path may give back in one go, so as not to stall its caller for long. */
#define BEDROCK_DECAY_TICK_BYTES ((uint64_t)4 << 20)
/* And how much it returns of what threads have left. */
#define BEDROCK_DECAY_LEFT_BYTES ((uint64_t)64 << 10)
/* Below this much resting memory no thread is started for it. */
#define BEDROCK_DECAY_THREAD_PAGES 256u
/* Advising fewer pages than this at a time is what a kernel is slowest at. */
#define BEDROCK_DECAY_AT_ONCE_PAGES 34u
/* When the background thread is this many intervals late, slow paths step in. */
#define BEDROCK_DECAY_LATE_INTERVALS 4u

static int64_t bedrock_decay_ms(const struct bedrock_heap *heap, enum bedrock_rest kind)
{
	return kind == BEDROCK_REST_DIRTY ? bedrock_load_relaxed(&heap->options.dirty_decay_ms)
					  : bedrock_load_relaxed(&heap->options.muzzy_decay_ms);
}

static uint64_t bedrock_decay_stage_ns(const struct bedrock_heap *heap, enum bedrock_rest kind)
{
	int64_t ms = bedrock_decay_ms(heap, kind);

	if (ms < 0)
		return BEDROCK_DECAY_NEVER_NS;
	uint64_t interval_ns = (uint64_t)ms * BEDROCK_NS_PER_MS / 2;

	return interval_ns > BEDROCK_DECAY_INTERVAL_MIN_NS ? interval_ns
							   : BEDROCK_DECAY_INTERVAL_MIN_NS;
}

/* A part of the interval, but no less than the shortest one. */
static uint64_t bedrock_decay_turn_of(uint64_t interval_ns)
{
	uint64_t turn_ns = interval_ns / BEDROCK_DECAY_TURNS;

	return turn_ns > BEDROCK_DECAY_INTERVAL_MIN_NS ? turn_ns : BEDROCK_DECAY_INTERVAL_MIN_NS;
}

uint64_t bedrock_decay_turn_ns(const struct bedrock_heap *heap)
{
	return bedrock_decay_turn_of(bedrock_decay_interval_ns(heap));
}

uint64_t bedrock_decay_interval_ns(const struct bedrock_heap *heap)
{
	uint64_t dirty_ns = bedrock_decay_stage_ns(heap, BEDROCK_REST_DIRTY);
	uint64_t muzzy_ns = bedrock_load_relaxed(&heap->options.muzzy_decay_ms) == 0
				    ? BEDROCK_DECAY_NEVER_NS
				    : bedrock_decay_stage_ns(heap, BEDROCK_REST_MUZZY);

	return dirty_ns < muzzy_ns ? dirty_ns : muzzy_ns;
}

/* When this stage looks again. */
static void bedrock_decay_schedule(const struct bedrock_pass *pass,
				   struct bedrock_decay_stage *stage)
{
	struct bedrock_decay *decay = &pass->arena->decay;
	uint64_t interval_ns = bedrock_decay_stage_ns(pass->heap, pass->from);
	uint64_t wait_ns = pass->turn_ns - pass->now_ns % pass->turn_ns;

	if (pass->refusals >= BEDROCK_PASS_REFUSALS_MAX) {
		wait_ns = bedrock_pass_backoff_ns(interval_ns, decay->failed_passes);
		decay->failed_passes += decay->failed_passes < 8;
	} else {
		decay->failed_passes = 0;
		if (stage->cursor)
			wait_ns = 0;
	}
	bool is_never = interval_ns == BEDROCK_DECAY_NEVER_NS;

	bedrock_store_relaxed(&stage->next_ns,
			      is_never ? BEDROCK_DECAY_NEVER_NS : pass->now_ns + wait_ns);
}

static bool bedrock_stage_is_idle(const struct bedrock_arena *arena, enum bedrock_rest kind)
{
	return bedrock_load_relaxed(&arena->pages.rest_pages[kind]) == 0 &&
	       arena->decay.failed_unmaps == 0;
}

/* One stage of decay of one arena; the decay lock is held. */
static void bedrock_decay_stage(struct bedrock_pass *pass)
{
	struct bedrock_decay *decay = &pass->arena->decay;
	struct bedrock_decay_stage *stage = &decay->stages[pass->from];
	bool is_last = pass->from == BEDROCK_REST_MUZZY || pass->is_forced ||
		       bedrock_load_relaxed(&pass->heap->options.muzzy_decay_ms) == 0;

	if (pass->is_forced) {
		stage->cursor = NULL;
		decay->failed_unmaps = 0;
	}
	pass->is_all_due = pass->is_forced || bedrock_decay_ms(pass->heap, pass->from) == 0;
	pass->to = is_last ? BEDROCK_REST_COUNT : BEDROCK_REST_MUZZY;
	pass->refusals = 0;
	pass->interval_ns = bedrock_decay_stage_ns(pass->heap, pass->from);
	pass->turn_ns = bedrock_decay_turn_of(pass->interval_ns);
	if (pass->is_forced || !bedrock_stage_is_idle(pass->arena, pass->from))
		bedrock_pass_chunks(pass, stage);
	bedrock_decay_schedule(pass, stage);
}

static bool bedrock_stage_is_due(const struct bedrock_heap *heap, const struct bedrock_arena *arena,
				 enum bedrock_rest kind, uint64_t now_ns)
{
	if (bedrock_decay_ms(heap, kind) < 0)
		return false;
	return now_ns >= bedrock_load_relaxed(&arena->decay.stages[kind].next_ns);
}

static uint64_t bedrock_decay_arena_within(struct bedrock_heap *heap, struct bedrock_arena *arena,
					   uint64_t now_ns, bool is_forced, uint64_t budget_bytes)
{
	struct bedrock_pass pass = {
		.heap = heap,
		.arena = arena,
		.is_forced = is_forced,
		.now_ns = now_ns,
		.budget_bytes = budget_bytes,
	};

	if (is_forced) {
		bedrock_owner_drain_left(heap);
		bedrock_lock_take(&arena->decay.lock);
	} else if (!bedrock_lock_try(&arena->decay.lock))
		return 0;
	bedrock_arena_collect(arena, false);
	for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++) {
		pass.from = (enum bedrock_rest)kind;
		if (is_forced || bedrock_stage_is_due(heap, arena, pass.from, now_ns))
			bedrock_decay_stage(&pass);
	}
	bedrock_lock_give(&arena->decay.lock);
	return pass.done_bytes;
}

uint64_t bedrock_decay_arena(struct bedrock_heap *heap, struct bedrock_arena *arena,
			     uint64_t now_ns, bool is_forced)
{
	return bedrock_decay_arena_within(heap, arena, now_ns, is_forced, UINT64_MAX);
}

/* What is not in an arena: huge mappings and the leftovers of address space. */
static void bedrock_decay_mappings(struct bedrock_heap *heap, uint64_t now_ns)
{
	int64_t dirty_ms = bedrock_load_relaxed(&heap->options.dirty_decay_ms);
	uint64_t again_ns = bedrock_load_relaxed(&heap->space_retry_ns);

	if (now_ns < again_ns)
		return;
	bedrock_store_relaxed(&heap->space_retry_ns, now_ns + BEDROCK_DECAY_MAPPINGS_NS);
	bedrock_space_retry(&heap->space);
	bedrock_guarded_release(&heap->guarded, BEDROCK_GUARDED_HELD_MAX);
	if (dirty_ms < 0)
		return;
	uint64_t age_ns = (uint64_t)dirty_ms * BEDROCK_NS_PER_MS;

	bedrock_huge_decay(&heap->huge, now_ns > age_ns ? now_ns - age_ns : 0);
}

/* What threads have left in their caches, before it becomes pages that lie idle. */
static void bedrock_decay_left(struct bedrock_heap *heap, uint64_t budget_bytes)
{
	if (bedrock_load_relaxed(&heap->options.dirty_decay_ms) >= 0)
		bedrock_owner_drain_some(heap, budget_bytes);
}

/* What lies idle in the caches of threads, before it becomes pages that lie idle. */
static void bedrock_decay_caches(struct bedrock_heap *heap, uint64_t now_ns)
{
	int64_t dirty_ms = bedrock_load_relaxed(&heap->options.dirty_decay_ms);

	if (dirty_ms < 0 || now_ns < bedrock_load_relaxed(&heap->idle_again_ns))
		return;
	uint64_t wait_ns = (uint64_t)dirty_ms * BEDROCK_NS_PER_MS / BEDROCK_DECAY_IDLE_LOOKS;

	if (wait_ns < BEDROCK_DECAY_IDLE_MIN_NS)
		wait_ns = BEDROCK_DECAY_IDLE_MIN_NS;
	bedrock_store_relaxed(&heap->idle_again_ns, now_ns + wait_ns);
	bedrock_idle_take(heap, now_ns, false);
}

void bedrock_decay_all(struct bedrock_heap *heap, uint64_t now_ns)
{
	bedrock_decay_left(heap, UINT64_MAX);
	bedrock_decay_caches(heap, now_ns);
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (arena)
			bedrock_decay_arena(heap, arena, now_ns, false);
	}
	bedrock_decay_mappings(heap, now_ns);
}

uint64_t bedrock_decay_purge(struct bedrock_heap *heap)
{
	uint64_t now_ns = bedrock_os_now_ns();
	uint64_t before_bytes = bedrock_huge_unused_bytes(&heap->huge);
	uint64_t done_bytes = 0;

	bedrock_idle_take(heap, now_ns, true);
	bedrock_guarded_release(&heap->guarded, 0);
	bedrock_huge_decay(&heap->huge, UINT64_MAX);
	uint64_t after_bytes = bedrock_huge_unused_bytes(&heap->huge);

	if (before_bytes > after_bytes)
		done_bytes = before_bytes - after_bytes;
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (arena)
			done_bytes += bedrock_decay_arena(heap, arena, now_ns, true);
	}
	bedrock_space_retry(&heap->space);
	return done_bytes;
}

static bool bedrock_arena_has_something(struct bedrock_arena *arena)
{
	return bedrock_load_relaxed(&arena->pending_pages) > 0 ||
	       bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_DIRTY]) > 0 ||
	       bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_MUZZY]) > 0;
}

uint64_t bedrock_decay_relieve(struct bedrock_heap *heap, uint64_t now_ns, uint64_t bytes)
{
	uint64_t done_bytes = bedrock_load_relaxed(&heap->huge.kept.bytes) +
			      bedrock_load_relaxed(&heap->huge.spare_bytes);

	bedrock_heap_relieve(heap);
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (done_bytes < bytes && arena && bedrock_arena_has_something(arena))
			done_bytes += bedrock_decay_arena_within(heap, arena, now_ns, true,
								 bytes - done_bytes);
	}
	return done_bytes;
}

static uint64_t bedrock_arena_resting_pages(const struct bedrock_heap *heap,
					    struct bedrock_arena *arena)
{
	uint64_t pages = bedrock_load_relaxed(&arena->pending_pages);

	for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++) {
		if (bedrock_decay_ms(heap, (enum bedrock_rest)kind) >= 0)
			pages += bedrock_load_relaxed(&arena->pages.rest_pages[kind]);
	}
	return pages;
}

/* How many pages are waiting for their time. */
static uint64_t bedrock_decay_resting_pages(struct bedrock_heap *heap)
{
	uint64_t bytes =
		bedrock_huge_unused_bytes(&heap->huge) + bedrock_load_relaxed(&heap->left_bytes);
	uint64_t pages = bedrock_load_relaxed(&heap->options.dirty_decay_ms) < 0
				 ? 0
				 : bytes >> BEDROCK_PAGE_SHIFT;

	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (arena)
			pages += bedrock_arena_resting_pages(heap, arena);
	}
	return pages;
}

bool bedrock_decay_is_needed(struct bedrock_heap *heap)
{
	return bedrock_decay_resting_pages(heap) > 0;
}

/* The next arena in turn, or NULL if that one does not exist. */
static struct bedrock_arena *bedrock_decay_next_arena(struct bedrock_heap *heap)
{
	uint32_t turn = bedrock_add_relaxed(&heap->tick_arena, 1);

	return bedrock_heap_arena_at(heap, turn % bedrock_load_relaxed(&heap->arena_count));
}

/* With a thread of our own, slow paths only step in where it does not get to run. */
static bool bedrock_decay_is_ours(const struct bedrock_heap *heap, uint64_t now_ns)
{
	uint64_t due_ns = bedrock_load_relaxed(&heap->background.due_ns);

	if (!bedrock_load_relaxed(&heap->background.is_running))
		return true;
	uint64_t grace_ns = BEDROCK_DECAY_LATE_INTERVALS * bedrock_decay_interval_ns(heap);

	return now_ns > due_ns && now_ns - due_ns > grace_ns;
}

void bedrock_decay_tick(struct bedrock_heap *heap)
{
	if (bedrock_likely(!bedrock_thread_is_tick()))
		return;
	uint64_t now_ns = bedrock_os_now_ns();
	struct bedrock_arena *arena = bedrock_decay_next_arena(heap);

	if (bedrock_load_relaxed(&heap->options.is_background_thread) &&
	    bedrock_thread_is_settled() && !bedrock_load_relaxed(&heap->background.is_running) &&
	    bedrock_decay_resting_pages(heap) >= BEDROCK_DECAY_THREAD_PAGES)
		bedrock_background_start(heap, now_ns);
	if (!arena || !bedrock_decay_is_ours(heap, now_ns))
		return;
	if (bedrock_stage_is_due(heap, arena, BEDROCK_REST_DIRTY, now_ns) ||
	    bedrock_stage_is_due(heap, arena, BEDROCK_REST_MUZZY, now_ns))
		bedrock_decay_arena_within(heap, arena, now_ns, false, BEDROCK_DECAY_TICK_BYTES);
	bedrock_decay_left(heap, BEDROCK_DECAY_LEFT_BYTES);
	bedrock_decay_mappings(heap, now_ns);
}

void bedrock_decay_after_free(struct bedrock_heap *heap, struct bedrock_arena *arena)
{
	uint64_t dirty = bedrock_load_relaxed(&arena->pages.rest_pages[BEDROCK_REST_DIRTY]);

	if (bedrock_likely(bedrock_load_relaxed(&heap->options.dirty_decay_ms) != 0) ||
	    dirty < BEDROCK_DECAY_AT_ONCE_PAGES)
		return;
	uint64_t now_ns = bedrock_os_now_ns();
	uint64_t next_ns = bedrock_load_relaxed(&arena->decay.stages[BEDROCK_REST_DIRTY].next_ns);

	/* A next look further away than an interval means back-off. */
	if (next_ns > now_ns + BEDROCK_DECAY_INTERVAL_MIN_NS)
		return;
	bedrock_store_relaxed(&arena->decay.stages[BEDROCK_REST_DIRTY].next_ns, 0);
	bedrock_decay_arena(heap, arena, now_ns, false);
}
