/* SPDX-License-Identifier: MIT */
/*
 * Piles of blocks: see pile.h.
 */
#include "stress/workload/pile.h"

#include <errno.h>

#define ALIVE_EVERY 1024u /* blocks freed at the end between two signs of life */

struct hq_pile *hq_piles_make(uint32_t count, uint64_t room)
{
	struct hq_pile *const piles = hq_host_map(count * sizeof(*piles));

	for (uint32_t i = 0; piles != NULL && i < count; i++) {
		piles[i].blocks = hq_host_map(room * sizeof(*piles[i].blocks));
		piles[i].room = room;
		if (piles[i].blocks == NULL)
			return NULL;
	}
	return piles;
}

int hq_piles_prepare(struct hq_work *work, uint64_t room)
{
	work->shared = hq_piles_make(work->thread_count, room);
	return work->shared == NULL ? -ENOMEM : 0;
}

struct hq_pile *hq_pile_of(const struct hq_work *work, uint32_t thread)
{
	return &((struct hq_pile *)work->shared)[thread];
}

void hq_pile_empty(struct hq_pile *pile, struct hq_heap *heap)
{
	for (uint64_t i = 0; i < pile->used; i++) {
		hq_block_free(heap, &pile->blocks[i]);
		if (i % ALIVE_EVERY == 0)
			hq_heap_alive(heap);
	}
	pile->used = 0;
	pile->bytes = 0;
}

void hq_piles_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	hq_pile_empty(hq_pile_of(work, thread), heap);
}

bool hq_pile_add(struct hq_pile *pile, struct hq_heap *heap, uint64_t size)
{
	if (pile->used == pile->room)
		return false;
	hq_heap_op_begin(heap);
	const bool given = hq_block_alloc(heap, &pile->blocks[pile->used], size);

	hq_heap_op_end(heap);
	if (!given) {
		hq_heap_missed(heap);
		return false;
	}
	pile->used++;
	pile->bytes += size;
	return true;
}

static void free_one(struct hq_pile *pile, struct hq_heap *heap, struct hq_block *block)
{
	pile->bytes -= block->size;
	hq_heap_op_begin(heap);
	hq_block_free(heap, block);
	hq_heap_op_end(heap);
}

void hq_pile_drop(struct hq_pile *pile, struct hq_heap *heap, uint64_t index)
{
	struct hq_block *const last = &pile->blocks[pile->used - 1];

	free_one(pile, heap, &pile->blocks[index]);
	pile->blocks[index] = *last;
	*last = (struct hq_block){ .address = NULL };
	pile->used--;
}

void hq_pile_thin(struct hq_pile *pile, struct hq_heap *heap, uint64_t first, uint64_t keep,
		  uint64_t row)
{
	uint64_t kept = first;

	for (uint64_t i = first; i < pile->used; i++) {
		struct hq_block block = pile->blocks[i];

		pile->blocks[i] = (struct hq_block){ .address = NULL };
		if ((i - first) % row < keep)
			pile->blocks[kept++] = block;
		else
			free_one(pile, heap, &block);
	}
	pile->used = kept;
}

void hq_pile_weigh(const struct hq_pile *pile, struct hq_heap *heap)
{
	for (uint64_t i = 0; i < pile->used; i++)
		hq_heap_weigh(heap, &pile->blocks[i]);
}

void hq_turnover_run(const struct hq_turnover *turnover, struct hq_heap *heap, uint64_t operations)
{
	struct hq_pile *const pile = turnover->pile;

	pile->used = pile->room;
	for (uint64_t i = 0; i < operations && !hq_host_stopping(); i++) {
		struct hq_block *const block =
			&pile->blocks[hq_random_below(turnover->random, pile->room)];

		if (turnover->arrivals != NULL)
			hq_arrivals_begin(turnover->arrivals, heap);
		else
			hq_heap_op_begin(heap);
		if (!turnover->turn(turnover->context, heap, block, turnover->random))
			hq_heap_missed(heap);
		hq_heap_op_end(heap);
	}
}

void hq_piles_turn_over(struct hq_work *work, uint32_t thread, struct hq_heap *heap,
			bool (*turn)(const void *options, struct hq_heap *heap,
				     struct hq_block *block, struct hq_random *random),
			uint64_t operations)
{
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	hq_turnover_run(&(struct hq_turnover){ .pile = hq_pile_of(work, thread),
					       .random = &random,
					       .turn = turn,
					       .context = work->options },
			heap, operations);
}
