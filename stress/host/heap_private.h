/* SPDX-License-Identifier: MIT */
/*
 * One thread's way to the allocator: struct hq_heap from the inside, shared by heap.c (timed and
 * checked calls) and heap_block.c (stamped blocks).
 */
#ifndef HQ_STRESS_HOST_HEAP_PRIVATE_H
#define HQ_STRESS_HOST_HEAP_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "stress/host/allocator.h"
#include "stress/host/retry.h"
#include "stress/host/shadow.h"
#include "stress/host/stamp.h"
#include "stress/wire/wire.h"
#include "stress/workload/heap.h"

#define HQ_HEAP_ID_SHIFT 48u

struct hq_heap {
	const struct hq_allocator *allocator;
	struct hq_shadow *shadow;
	struct hq_wire_worker *worker; /* this thread alone writes it */
	uint64_t seed;
	uint64_t ns_per_tick;
	const _Atomic uint64_t *faulted_until; /* of the plane */
	uint64_t next_id;  /* of a stamped block; the index is in its upper bits */
	uint64_t requests; /* allocations asked for */
	uint64_t op_start;
	uint64_t touch_bytes;                            /* of a block, stamped and looked at */
	uint64_t part_wall_ns, part_cpu_ns, part_faults; /* when it began */
	uint32_t index;                                  /* of the worker */
	uint32_t asked;        /* enum hq_asked_call: the latest call, for events */
	uint32_t worker_count; /* of the run */
	bool notes_refusals;
	struct hq_retry retry;
	/* Keeps the counters of neighbouring threads out of each other's cache lines. */
	uint64_t padding[2];
};

void hq_heap_init(struct hq_heap *heap, const struct hq_allocator *allocator,
		  struct hq_shadow *shadow, struct hq_wire *wire, uint32_t index);

enum hq_request_kind { HQ_REQUEST_MALLOC, HQ_REQUEST_CALLOC, HQ_REQUEST_ALIGNED };

struct hq_request {
	enum hq_request_kind kind;
	uint64_t alignment; /* for ALIGNED */
	uint64_t count;     /* for CALLOC */
	uint64_t size;
};

/* One timed, counted and checked call; the block is in the shadow when it returns. */
void *hq_heap_request(struct hq_heap *heap, const struct hq_request *request);

/* Into the shadow and the count of live bytes, and out of both. An overlap becomes an event. */
void hq_heap_enter(struct hq_heap *heap, const void *address, uint64_t size);
void hq_heap_leave(struct hq_heap *heap, const void *address, uint64_t size);

/* NULL with another errno than ENOMEM becomes an event. */
void hq_heap_check_refusal(struct hq_heap *heap, uint64_t size, int failure);

/* How much of a block is stamped and looked at. */
static inline uint64_t hq_heap_touched(const struct hq_heap *heap, uint64_t size)
{
	return size < heap->touch_bytes ? size : heap->touch_bytes;
}

/* Fills a block anew, and returns the id of its stamp. */
uint64_t hq_heap_stamp(struct hq_heap *heap, void *address, uint64_t size);

/* Compares the first `size` bytes with the stamp of block `id`. False: they differ, as an event. */
bool hq_heap_expect_stamp(struct hq_heap *heap, const void *address, uint64_t size, uint64_t id,
			  enum hq_event_kind kind);

/* A broken promise goes into the worker's ring, or counts as dropped. */
void hq_heap_event(struct hq_heap *heap, struct hq_event event);

#endif
