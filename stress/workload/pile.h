/* SPDX-License-Identifier: MIT */
/*
 * A pile: the stamped blocks that one thread holds, and what classic workloads do with them. It
 * grows at its end, loses blocks by index or in a pattern, or keeps its length while the blocks at
 * random places are replaced by others.
 */
#ifndef HQ_STRESS_WORKLOAD_PILE_H
#define HQ_STRESS_WORKLOAD_PILE_H

#include <stdbool.h>
#include <stdint.h>

#include "stress/workload/arrivals.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

struct hq_pile {
	struct hq_block *blocks; /* `room` of them in memory of the host */
	uint64_t room;
	uint64_t used;  /* the first so many are in the pile; each may be no block */
	uint64_t bytes; /* of the blocks that were added and not dropped */
};

/* Empty ones, in memory of the host; NULL: there is none. */
struct hq_pile *hq_piles_make(uint32_t count, uint64_t room);

/* One for each thread is all that the workload shares. 0 or -errno. */
int hq_piles_prepare(struct hq_work *work, uint64_t room);
struct hq_pile *hq_pile_of(const struct hq_work *work, uint32_t thread);
/* Hook of a workload that has nothing but piles. */
void hq_piles_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap);

/* Frees all blocks. */
void hq_pile_empty(struct hq_pile *pile, struct hq_heap *heap);

/* One operation that puts a new block at the end. False: there is no room, or it was refused. */
bool hq_pile_add(struct hq_pile *pile, struct hq_heap *heap, uint64_t size);

/* One operation that frees a block; the last one takes its place. */
void hq_pile_drop(struct hq_pile *pile, struct hq_heap *heap, uint64_t index);

/* Of each `row` blocks from `first` on, only the first `keep` stay; their order does as well. */
void hq_pile_thin(struct hq_pile *pile, struct hq_heap *heap, uint64_t first, uint64_t keep,
		  uint64_t row);

/* At the end of the work: how much of them is beyond what was asked for. */
void hq_pile_weigh(const struct hq_pile *pile, struct hq_heap *heap);

/* Blocks at random places are replaced, or changed, one an operation. */
struct hq_turnover {
	struct hq_pile *pile; /* all of its room is in use from then on */
	struct hq_random *random;
	struct hq_arrivals *arrivals; /* NULL: a closed loop */
	/*
	 * Changes one block. All draws come before anything is done: a NULL must not shift the
	 * stream. False: refused.
	 */
	bool (*turn)(const void *context, struct hq_heap *heap, struct hq_block *block,
		     struct hq_random *random);
	const void *context;
};

void hq_turnover_run(const struct hq_turnover *turnover, struct hq_heap *heap, uint64_t operations);

/* The same in a closed loop on the pile of a thread, with the options of the work as context. */
void hq_piles_turn_over(struct hq_work *work, uint32_t thread, struct hq_heap *heap,
			bool (*turn)(const void *options, struct hq_heap *heap,
				     struct hq_block *block, struct hq_random *random),
			uint64_t operations);

#endif
