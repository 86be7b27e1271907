/* SPDX-License-Identifier: MIT */
/*
 * Growth through realloc: strings that are as long as what they hold, so that each piece resizes
 * them, and vectors that double when they are full. Many grow at the same time, in each other's
 * way. What has reached its length lives on until it is chosen again, and is freed then; a share of
 * the vectors is cut to what they hold first.
 */
#include <errno.h>

#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define VECTOR_FIRST 4u /* pieces of the smallest size that a new vector has room for */

struct growth_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	double strings;
	double fit;
	struct hq_sizes piece;
	struct hq_sizes length;
};

/* What grows, beside its block. */
struct growth_object {
	uint64_t used;   /* bytes that it holds; 0: it has not begun */
	uint64_t length; /* that it grows to */
	bool is_string, fits;
};

/* One thread's. */
struct growth {
	const struct growth_options *chosen;
	struct hq_pile *pile;
	struct growth_object *objects; /* one for each block of the pile */
};

#define AT(field) offsetof(struct growth_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "ops", HQ_OPTION_COUNT, AT(ops), "100k", 1, 1000000000000, NULL,
	  "pieces that each thread appends" },
	{ "live", HQ_OPTION_COUNT, AT(live), "200", 1, 10000000, NULL,
	  "strings and vectors of each thread that grow at the same time" },
	{ "strings", HQ_OPTION_SHARE, AT(strings), "50%", 0, 0, NULL,
	  "share of strings; the others are vectors" },
	{ "fit", HQ_OPTION_SHARE, AT(fit), "25%", 0, 0, NULL,
	  "share of vectors that are cut to what they hold at their end" },
	{ "piece", HQ_OPTION_SIZES, AT(piece), "8B..1KiB log", 1, 1ull << 30, NULL,
	  "bytes that are appended" },
	{ "length", HQ_OPTION_SIZES, AT(length), "64B..64KiB log", 1, 1ull << 36, NULL,
	  "bytes that a string or a vector grows to" },
	{ .name = NULL },
};

static uint32_t growth_threads(const void *values)
{
	return (uint32_t)((const struct growth_options *)values)->threads;
}

static int growth_prepare(struct hq_work *work)
{
	const struct growth_options *const chosen = work->options;
	struct growth *const threads = hq_host_map(work->thread_count * sizeof(*threads));
	struct hq_pile *const piles = hq_piles_make(work->thread_count, chosen->live);

	if (threads == NULL || piles == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		threads[i] = (struct growth){ .chosen = chosen, .pile = &piles[i] };
		threads[i].objects = hq_host_map(chosen->live * sizeof(*threads[i].objects));
		if (threads[i].objects == NULL)
			return -ENOMEM;
	}
	work->shared = threads;
	return 0;
}

/* Room for so much more: exactly that in a string, twice as much as there is in a vector. */
static bool make_room(const struct growth_options *chosen, const struct growth_object *object,
		      struct hq_heap *heap, struct hq_block *block, uint64_t needed)
{
	uint64_t room = block->size;

	if (needed <= room)
		return true;
	if (object->is_string)
		return hq_block_resize(heap, block, needed);
	if (room == 0)
		room = VECTOR_FIRST * chosen->piece.min_bytes;
	while (room < needed)
		room *= 2;
	return hq_block_resize(heap, block, room);
}

/* False: refused, and the object is as long as it was. */
static bool append(const struct growth_options *chosen, struct growth_object *object,
		   struct hq_heap *heap, struct hq_block *block, uint64_t piece)
{
	if (!make_room(chosen, object, heap, block, object->used + piece))
		return false;
	object->used += piece;
	if (object->used >= object->length && object->fits && object->used < block->size)
		return hq_block_resize(heap, block, object->used);
	return true;
}

static bool grow(const void *context, struct hq_heap *heap, struct hq_block *block,
		 struct hq_random *random)
{
	const struct growth *const self = context;
	struct growth_object *const object = &self->objects[block - self->pile->blocks];
	const uint64_t piece = hq_random_size(random, &self->chosen->piece);
	const struct growth_object next = {
		.length = hq_random_size(random, &self->chosen->length),
		.is_string = hq_random_chance(random, self->chosen->strings),
		.fits = hq_random_chance(random, self->chosen->fit),
	};

	if (object->used >= object->length) {
		hq_block_free(heap, block);
		*object = next;
	}
	return append(self->chosen, object, heap, block, piece);
}

static void growth_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct growth *const self = &((struct growth *)work->shared)[thread];
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	hq_turnover_run(
		&(struct hq_turnover){
			.pile = self->pile, .random = &random, .turn = grow, .context = self },
		heap, self->chosen->ops);
}

static void growth_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	hq_pile_empty(((struct growth *)work->shared)[thread].pile, heap);
}

const struct hq_workload hq_workload_growth = {
	.name = "growth",
	.help = "strings and vectors that grow by realloc, in each other's way",
	.options = options,
	.options_size = sizeof(struct growth_options),
	.threads = growth_threads,
	.prepare = growth_prepare,
	.run = growth_run,
	.release = growth_release,
};
