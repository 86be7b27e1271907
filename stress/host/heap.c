/* SPDX-License-Identifier: MIT */
/*
 * Timed and checked calls of the malloc family. Each call is measured alone: whatever the host does
 * to check it happens before the first or after the second reading of the counter.
 *
 * What is checked here: alignment, overlap, errno, usable size, zeroes from calloc. Content is
 * checked where it is known: in heap_block.c for stamps, in a workload for its own structures.
 */
#include "stress/host/heap_private.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "injectors/syscall/wake.h"
#include "stress/host/clock.h"

#define ERRNO_SENTINEL EDOM  /* no allocator has a reason to set it */
#define BESIDE_BYTES   4096u /* how far a neighbour is looked for */
#define USABLE_EVERY   64u   /* requests between two looks at the usable size */
#define ARENA_EVERY    64u   /* ... and at the arena of the thread */

void hq_heap_init(struct hq_heap *heap, const struct hq_allocator *allocator,
		  struct hq_shadow *shadow, struct hq_wire *wire, uint32_t index)
{
	*heap = (struct hq_heap){
		.allocator = allocator,
		.shadow = shadow,
		.worker = &wire->workers[index],
		.seed = wire->config.seed,
		.ns_per_tick = wire->config.ns_per_tick,
		.faulted_until = &wire->plane.faulted_until,
		.touch_bytes = UINT64_MAX,
		.next_id = (uint64_t)index << HQ_HEAP_ID_SHIFT,
		.index = index,
		.worker_count = wire->config.worker_count,
		.notes_refusals = wire->config.notes_refusals != 0,
	};
	hq_retry_init(&heap->retry, &wire->plane);
}

/* Who lies next to a block tells whose write it may have been. */
static void look_beside(const struct hq_heap *heap, struct hq_event *event)
{
	const uint64_t end = event->address + event->size;
	const uint64_t first = event->address > BESIDE_BYTES ? event->address - BESIDE_BYTES : 0;
	/* The rest of its last granule is the block's own. */
	const uint64_t behind = (end + HQ_SHADOW_GRANULE - 1) & -(uint64_t)HQ_SHADOW_GRANULE;
	uint64_t found;

	if (event->address == 0 || event->size == 0 || end < event->address)
		return;
	if (hq_shadow_last(heap->shadow, event->address, first, &found))
		event->gap_before = (uint32_t)(event->address - found);
	if (hq_shadow_next(heap->shadow, behind, behind + BESIDE_BYTES, &found))
		event->gap_behind = (uint32_t)(found - end) + 1;
}

/* Damage is found by a look at the block, whatever was called last. */
static bool is_of_a_call(uint32_t kind)
{
	return kind != HQ_EVENT_CONTENT && kind != HQ_EVENT_DATA;
}

void hq_heap_event(struct hq_heap *heap, struct hq_event event)
{
	struct hq_wire_worker *const worker = heap->worker;
	const int64_t slot = hq_ring_reserve(&worker->ring, HQ_WIRE_EVENTS);

	if (slot < 0)
		return;
	if (event.asked == HQ_ASKED_UNKNOWN && is_of_a_call(event.kind))
		event.asked = heap->asked;
	look_beside(heap, &event);
	event.time_ns = hq_now_ns();
	event.op = hq_load_relaxed(&worker->ops);
	event.worker = heap->index;
	worker->events[slot] = event;
	hq_ring_publish(&worker->ring);
}

static uint64_t ticks(const struct hq_heap *heap)
{
	return hq_clock_ticks(heap->ns_per_tick);
}

static void record(struct hq_heap *heap, enum hq_latency kind, uint64_t start, uint64_t end)
{
	struct hq_wire_worker *const worker = heap->worker;
	struct hq_hist *const hist =
		hq_wake_holds(heap->faulted_until, start) ? worker->faulted_hist : worker->hist;

	hq_hist_record(&hist[kind], hq_clock_between(start, end, heap->ns_per_tick));
}

/* Of a call that is about so many bytes. */
static void record_sized(struct hq_heap *heap, enum hq_latency kind, uint64_t size, uint64_t start,
			 uint64_t end)
{
	const uint64_t ns = hq_clock_between(start, end, heap->ns_per_tick);

	struct hq_wire_worker *const worker = heap->worker;
	const enum hq_band band = hq_band_of(size);

	if (hq_wake_holds(heap->faulted_until, start)) {
		hq_hist_record(&worker->faulted_hist[kind], ns);
		hq_coarse_record(&worker->faulted_bands[kind][band], ns);
		return;
	}
	hq_hist_record(&worker->hist[kind], ns);
	hq_coarse_record(&worker->bands[kind][band], ns);
}

/* After a call: what it repeated in vain. */
static void check_retries(struct hq_heap *heap, uint64_t size, uint64_t start, uint64_t end)
{
	const uint64_t took_ns = hq_clock_between(start, end, heap->ns_per_tick);
	struct hq_retry_seen seen;

	if (hq_retry_end(&heap->retry, took_ns, &seen))
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_RETRY,
						       .size = size,
						       .offset = took_ns,
						       .expected = seen.call,
						       .got = seen.repeats });
}

/* C asks for alignment to every type that fits; 16 is that of max_align_t on both our machines. */
static uint64_t promised_alignment(uint64_t size)
{
	return size >= 16 ? 16 : size >= 8 ? 8 : 1;
}

static void check_alignment(struct hq_heap *heap, const void *address, uint64_t size,
			    uint64_t alignment)
{
	if ((uintptr_t)address % alignment == 0)
		return;
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_ALIGNMENT,
					       .address = (uintptr_t)address,
					       .size = size,
					       .expected = alignment,
					       .got = (uintptr_t)address % alignment });
}

static void check_usable(struct hq_heap *heap, void *address, uint64_t size)
{
	if (heap->allocator->usable_size == NULL || heap->requests % USABLE_EVERY != 0)
		return;
	const size_t usable = heap->allocator->usable_size(address);

	if (usable >= size)
		return;
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_USABLE,
					       .address = (uintptr_t)address,
					       .size = size,
					       .expected = size,
					       .got = usable });
}

/* An index beyond the count is an arena that nobody looks after, or no arena at all. */
static void check_arena(struct hq_heap *heap)
{
	const struct hq_allocator *const allocator = heap->allocator;
	uint32_t index = 0, count = 0;

	if (allocator->arena == NULL || heap->requests % ARENA_EVERY != ARENA_EVERY / 2 ||
	    !allocator->arena(allocator, &index, &count))
		return;
	hq_count_own(&heap->worker->arena_looks, 1);
	if (index < count)
		return;
	hq_heap_event(heap,
		      (struct hq_event){ .kind = HQ_EVENT_ARENA, .expected = count, .got = index });
}

static void check_zero(struct hq_heap *heap, const void *address, uint64_t size)
{
	struct hq_damage damage;

	if (hq_stamp_is_zero(address, hq_heap_touched(heap, size), &damage))
		return;
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_NONZERO,
					       .address = (uintptr_t)address,
					       .size = size,
					       .offset = damage.offset,
					       .got = damage.got });
}

void hq_heap_enter(struct hq_heap *heap, const void *address, uint64_t size)
{
	uint64_t shared_offset;

	if (!hq_shadow_set(heap->shadow, address, size, &shared_offset))
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_OVERLAP,
						       .address = (uintptr_t)address,
						       .size = size,
						       .offset = shared_offset });
	/* Pairs with the acquire in requested_for_sure: what was freed before this is gone. */
	hq_count_own_release(&heap->worker->requested_bytes, size);
}

void hq_heap_leave(struct hq_heap *heap, const void *address, uint64_t size)
{
	hq_shadow_clear(heap->shadow, address, size);
	hq_count_own(&heap->worker->freed_bytes, size);
	/* Pairs with the acquire in note_refusal: what left the sum is among what was freed. */
	hq_count_own_release(&heap->worker->requested_bytes, -size);
}

void hq_heap_check_refusal(struct hq_heap *heap, uint64_t size, int failure)
{
	if (failure == ENOMEM)
		return;
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_ERRNO_NULL,
					       .size = size,
					       .expected = ENOMEM,
					       .got = (uint64_t)failure });
}

/* What all workers have freed so far; before a call that may be refused. */
static uint64_t freed_so_far(const struct hq_heap *heap)
{
	const struct hq_wire_worker *const workers = heap->worker - heap->index;
	uint64_t sum = 0;

	if (!heap->notes_refusals)
		return 0;
	for (uint32_t i = 0; i < heap->worker_count; i++)
		sum += hq_load_relaxed(&workers[i].freed_bytes);
	return sum;
}

/*
 * Between the kernel's answer and the look at what is live, other threads may have freed all they
 * have. So what they freed since before the call counts as live: more was not at any moment of it,
 * but for a block of each of them that was on its way.
 */
static void note_refusal(struct hq_heap *heap, uint64_t size, uint64_t freed_before)
{
	const struct hq_wire_worker *const workers = heap->worker - heap->index;

	if (!heap->notes_refusals)
		return;
	const uint64_t live = hq_wire_live_bytes(workers, heap->worker_count);
	const uint64_t at = live + freed_so_far(heap) - freed_before + size;
	const uint64_t least = hq_load_relaxed(&heap->worker->refused_at_bytes);

	if (least == 0 || at < least)
		hq_store_relaxed(&heap->worker->refused_at_bytes, at);
}

static void refused(struct hq_heap *heap, uint64_t size, int failure)
{
	hq_count_own(&heap->worker->nulls, 1);
	hq_store_relaxed(&heap->worker->last_null_ns, hq_now_ns());
	hq_heap_check_refusal(heap, size, failure);
}

/* Both functions for aligned memory take turns; one of them wants a multiple of the alignment. */
static void *ask_aligned(struct hq_heap *heap, const struct hq_request *request, int *failure)
{
	const struct hq_allocator *const allocator = heap->allocator;
	void *address = NULL;

	if (allocator->aligned_alloc != NULL && request->size % request->alignment == 0 &&
	    heap->requests % 2 == 0) {
		heap->asked = HQ_ASKED_ALIGNED_ALLOC;
		address = allocator->aligned_alloc(request->alignment, request->size);
		*failure = errno;
		return address;
	}
	heap->asked = HQ_ASKED_POSIX_MEMALIGN;
	*failure = allocator->posix_memalign(&address, request->alignment, request->size);
	return *failure == 0 ? address : NULL;
}

static void *ask(struct hq_heap *heap, const struct hq_request *request, int *failure)
{
	void *address;

	errno = 0;
	switch (request->kind) {
	case HQ_REQUEST_ALIGNED:
		return ask_aligned(heap, request, failure);
	case HQ_REQUEST_CALLOC:
		heap->asked = HQ_ASKED_CALLOC;
		address = heap->allocator->calloc(request->count, request->size);
		break;
	default:
		heap->asked = HQ_ASKED_MALLOC;
		address = heap->allocator->malloc(request->size);
	}
	*failure = errno;
	return address;
}

void *hq_heap_request(struct hq_heap *heap, const struct hq_request *request)
{
	const uint64_t size = request->size * request->count;
	int failure;

	heap->requests++;
	const uint64_t freed_before = freed_so_far(heap);

	hq_retry_begin(&heap->retry);
	const uint64_t start = ticks(heap);
	void *const address = ask(heap, request, &failure);
	const uint64_t end = ticks(heap);

	record_sized(heap, HQ_LATENCY_MALLOC, size, start, end);
	check_retries(heap, size, start, end);
	hq_count_own(&heap->worker->mallocs, 1);
	if (address == NULL) {
		note_refusal(heap, size, freed_before);
		refused(heap, size, failure);
		return NULL;
	}
	hq_heap_enter(heap, address, size);
	check_alignment(heap, address, size,
			request->kind == HQ_REQUEST_ALIGNED ? request->alignment
							    : promised_alignment(size));
	check_usable(heap, address, size);
	check_arena(heap);
	if (request->kind == HQ_REQUEST_CALLOC)
		check_zero(heap, address, size);
	return address;
}

void *hq_heap_resize(struct hq_heap *heap, void *address, uint64_t old_size, uint64_t size)
{
	if (address != NULL)
		hq_heap_leave(heap, address, old_size);
	heap->requests++;
	heap->asked = HQ_ASKED_REALLOC;
	const uint64_t freed_before = freed_so_far(heap);

	hq_retry_begin(&heap->retry);
	errno = 0;
	const uint64_t start = ticks(heap);
	void *const moved = heap->allocator->realloc(address, size);
	const uint64_t end = ticks(heap);
	const int failure = errno;

	record_sized(heap, HQ_LATENCY_REALLOC, size, start, end);
	check_retries(heap, size, start, end);
	/* Pairs with the acquire in taken_away: the old block is not in the sum. */
	hq_count_own_release(&heap->worker->reallocs, 1);
	if (moved == NULL) {
		/* Old and new block would have been there at one time. */
		note_refusal(heap, size + (address != NULL ? old_size : 0), freed_before);
		refused(heap, size, failure);
		if (address != NULL)
			hq_heap_enter(heap, address, old_size);
		return NULL;
	}
	hq_heap_enter(heap, moved, size);
	check_alignment(heap, moved, size, promised_alignment(size));
	check_usable(heap, moved, size);
	return moved;
}

void *hq_heap_alloc(struct hq_heap *heap, uint64_t size)
{
	return hq_heap_request(
		heap, &(struct hq_request){ .kind = HQ_REQUEST_MALLOC, .count = 1, .size = size });
}

void *hq_heap_calloc(struct hq_heap *heap, uint64_t count, uint64_t size)
{
	return hq_heap_request(
		heap,
		&(struct hq_request){ .kind = HQ_REQUEST_CALLOC, .count = count, .size = size });
}

void hq_heap_free(struct hq_heap *heap, void *address, uint64_t size)
{
	if (address == NULL)
		return;
	hq_heap_leave(heap, address, size);
	heap->asked = HQ_ASKED_FREE;
	hq_retry_begin(&heap->retry);
	errno = ERRNO_SENTINEL;
	const uint64_t start = ticks(heap);

	heap->allocator->free(address);
	const uint64_t end = ticks(heap);
	const int after = errno;

	record_sized(heap, HQ_LATENCY_FREE, size, start, end);
	check_retries(heap, size, start, end);
	/* Pairs with the acquire in taken_away: the block is not in the sum. */
	hq_count_own_release(&heap->worker->frees, 1);
	if (after != ERRNO_SENTINEL)
		hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_ERRNO_FREE,
						       .address = (uintptr_t)address,
						       .size = size,
						       .expected = ERRNO_SENTINEL,
						       .got = (uint64_t)after });
}

void hq_heap_op_begin(struct hq_heap *heap)
{
	heap->op_start = ticks(heap);
}

void hq_heap_op_begin_late(struct hq_heap *heap, uint64_t late_ns)
{
	const uint64_t late =
		heap->ns_per_tick == 0
			? late_ns
			: (uint64_t)(((unsigned __int128)late_ns << 32) / heap->ns_per_tick);

	heap->op_start = ticks(heap) - late;
}

void hq_heap_op_end(struct hq_heap *heap)
{
	record(heap, HQ_LATENCY_OP, heap->op_start, ticks(heap));
	hq_count_own(&heap->worker->ops, 1);
}

void hq_heap_alive(struct hq_heap *heap)
{
	hq_count_own(&heap->worker->ops, 1);
}

void hq_heap_missed(struct hq_heap *heap)
{
	hq_count_own(&heap->worker->faults_missed, 1);
}

void hq_heap_had(struct hq_heap *heap, uint64_t bytes)
{
	struct hq_wire_worker *const worker = heap->worker;

	hq_store_relaxed(&worker->had_last_bytes, bytes);
	if (bytes > hq_load_relaxed(&worker->had_most_bytes))
		hq_store_relaxed(&worker->had_most_bytes, bytes);
}

void hq_heap_limit(struct hq_heap *heap, enum hq_limit_word word, uint64_t value)
{
	hq_store_relaxed(&heap->worker->limit[word], value);
}

void hq_heap_wrong_data(struct hq_heap *heap, const void *address, uint64_t expected, uint64_t got)
{
	hq_heap_event(heap, (struct hq_event){ .kind = HQ_EVENT_DATA,
					       .address = (uintptr_t)address,
					       .expected = expected,
					       .got = got });
}

/* Of the calling thread. */
static void part_now(uint64_t *wall_ns, uint64_t *cpu_ns, uint64_t *faults)
{
	struct rusage usage = { .ru_minflt = 0 };

	getrusage(RUSAGE_THREAD, &usage);
	*faults = (uint64_t)usage.ru_minflt;
	*cpu_ns = hq_host_cpu_ns();
	*wall_ns = hq_host_now_ns();
}

void hq_heap_part_begin(struct hq_heap *heap)
{
	part_now(&heap->part_wall_ns, &heap->part_cpu_ns, &heap->part_faults);
}

void hq_heap_part_end(struct hq_heap *heap, uint32_t part)
{
	struct hq_wire_part *const of = &heap->worker->parts[part];
	uint64_t wall_ns, cpu_ns, faults;

	part_now(&wall_ns, &cpu_ns, &faults);
	hq_count_own(&of->wall_ns, wall_ns - heap->part_wall_ns);
	hq_count_own(&of->cpu_ns, cpu_ns - heap->part_cpu_ns);
	hq_count_own(&of->faults, faults - heap->part_faults);
	hq_count_own(&of->runs, 1);
}

void hq_heap_cost(struct hq_heap *heap, uint32_t step, uint64_t scale, uint64_t cpu_ns)
{
	if (step >= HQ_WIRE_COSTS)
		return;
	hq_store_relaxed(&heap->worker->costs[step].cpu_ns, cpu_ns);
	hq_store_relaxed(&heap->worker->costs[step].scale, scale);
}
