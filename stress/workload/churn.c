/* SPDX-License-Identifier: MIT */
/*
 * Churn: blocks of random sizes and lifetimes. Each thread has a set of slots; an operation picks
 * one at random and replaces its block, or resizes it. A share of the old blocks goes to the next
 * thread to be freed there.
 *
 * What a thread asks for depends on its own stream alone. Blocks that another thread handed over
 * are freed as they are met, without a draw; when the next thread's mailbox is full the block is
 * freed at home. So frees may differ between two runs in place and time, allocations never.
 */
#include <errno.h>

#include "injectors/ring.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define MAILBOX_ROOM        256u
#define ALIVE_EVERY         1024u /* blocks freed at the end between two signs of life */
#define ALIGNMENT_SHIFT_MIN 4u    /* 16 */
#define ALIGNMENT_SHIFTS    9u    /* up to 4096 */

struct churn_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	struct hq_sizes size;
	double calloc;
	double realloc;
	double aligned;
	double cross;
};

/* Blocks on their way to the thread that frees them; filled by its predecessor alone. */
struct churn_mailbox {
	struct hq_ring ring;
	struct hq_block blocks[MAILBOX_ROOM];
};

struct churn_thread {
	struct churn_mailbox inbox;
	struct hq_block *slots;
};

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, offsetof(struct churn_options, threads), "2", 1, 64, NULL,
	  "threads" },
	{ "ops", HQ_OPTION_COUNT, offsetof(struct churn_options, ops), "400k", 1, 1000000000000,
	  NULL, "operations of each thread" },
	{ "live", HQ_OPTION_COUNT, offsetof(struct churn_options, live), "2k", 1, 100000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, offsetof(struct churn_options, size), "16B..8KiB log", 1,
	  1ull << 36, NULL, "size of a block" },
	{ "calloc", HQ_OPTION_SHARE, offsetof(struct churn_options, calloc), "10%", 0, 0, NULL,
	  "share of allocations made by calloc" },
	{ "realloc", HQ_OPTION_SHARE, offsetof(struct churn_options, realloc), "10%", 0, 0, NULL,
	  "share of operations that resize the block instead of replacing it" },
	{ "aligned", HQ_OPTION_SHARE, offsetof(struct churn_options, aligned), "5%", 0, 0, NULL,
	  "share of allocations with an alignment of 16 B to 4 KiB" },
	{ "cross", HQ_OPTION_SHARE, offsetof(struct churn_options, cross), "10%", 0, 0, NULL,
	  "share of blocks that another thread frees" },
	{ .name = NULL },
};

static int churn_validate(const void *values, struct hq_error *error)
{
	const struct churn_options *const chosen = values;

	if (chosen->calloc + chosen->aligned > 1)
		return hq_error_set(error, "calloc and aligned together are more than 100%%");
	return 0;
}

static uint32_t churn_threads(const void *values)
{
	return (uint32_t)((const struct churn_options *)values)->threads;
}

static int churn_prepare(struct hq_work *work)
{
	const struct churn_options *const chosen = work->options;
	struct churn_thread *const threads = hq_host_map(work->thread_count * sizeof(*threads));

	if (threads == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		threads[i].slots = hq_host_map(chosen->live * sizeof(struct hq_block));
		if (threads[i].slots == NULL)
			return -ENOMEM;
	}
	work->shared = threads;
	return 0;
}

static void empty_mailbox(struct churn_mailbox *mailbox, struct hq_heap *heap)
{
	int64_t slot;

	while ((slot = hq_ring_peek(&mailbox->ring, MAILBOX_ROOM)) >= 0) {
		hq_block_free(heap, &mailbox->blocks[slot]);
		hq_ring_taken(&mailbox->ring);
	}
}

/* False when the mailbox is full. */
static bool hand_over(struct churn_mailbox *mailbox, struct hq_block *block)
{
	const int64_t slot = hq_ring_reserve(&mailbox->ring, MAILBOX_ROOM);

	if (slot < 0)
		return false;
	mailbox->blocks[slot] = *block;
	hq_ring_publish(&mailbox->ring);
	*block = (struct hq_block){ .address = NULL };
	return true;
}

/* What one operation will do, drawn before anything is done: a NULL must not shift the stream. */
struct churn_draw {
	uint64_t slot;
	uint64_t size;
	uint64_t alignment; /* 0: none asked for */
	bool resize;
	bool zeroed;
	bool cross;
};

static struct churn_draw draw(struct hq_random *random, const struct churn_options *chosen)
{
	struct churn_draw drawn = {
		.slot = hq_random_below(random, chosen->live),
		.size = hq_random_size(random, &chosen->size),
		.resize = hq_random_chance(random, chosen->realloc),
		.cross = hq_random_chance(random, chosen->cross),
	};
	const uint32_t shift = (uint32_t)hq_random_below(random, ALIGNMENT_SHIFTS);
	/* One draw decides between the three kinds. */
	const double kind = (double)hq_random_below(random, 1u << 20) / (1u << 20);

	drawn.zeroed = kind < chosen->calloc;
	if (!drawn.zeroed && kind < chosen->calloc + chosen->aligned)
		drawn.alignment = 1ull << (ALIGNMENT_SHIFT_MIN + shift);
	return drawn;
}

static bool fill(struct hq_heap *heap, struct hq_block *block, const struct churn_draw *drawn)
{
	if (drawn->zeroed)
		return hq_block_calloc(heap, block, drawn->size);
	if (drawn->alignment != 0)
		return hq_block_aligned(heap, block, drawn->alignment, drawn->size);
	return hq_block_alloc(heap, block, drawn->size);
}

static void operate(struct hq_heap *heap, struct hq_block *block, const struct churn_draw *drawn,
		    struct churn_mailbox *next)
{
	bool given;

	if (drawn->resize) {
		given = hq_block_resize(heap, block, drawn->size);
	} else {
		if (!drawn->cross || next == NULL || block->address == NULL ||
		    !hand_over(next, block))
			hq_block_free(heap, block);
		given = fill(heap, block, drawn);
	}
	if (!given)
		hq_heap_missed(heap);
}

static void churn_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct churn_options *const chosen = work->options;
	struct churn_thread *const threads = work->shared;
	struct churn_thread *const self = &threads[thread];
	struct churn_mailbox *const next =
		work->thread_count > 1 ? &threads[(thread + 1) % work->thread_count].inbox : NULL;
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	for (uint64_t i = 0; i < chosen->ops && !hq_host_stopping(); i++) {
		const struct churn_draw drawn = draw(&random, chosen);

		hq_heap_op_begin(heap);
		empty_mailbox(&self->inbox, heap);
		operate(heap, &self->slots[drawn.slot], &drawn, next);
		hq_heap_op_end(heap);
	}
}

/* Nobody fills mailboxes any more: all threads have run. */
static void churn_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct churn_options *const chosen = work->options;
	struct churn_thread *const self = &((struct churn_thread *)work->shared)[thread];

	empty_mailbox(&self->inbox, heap);
	for (uint64_t i = 0; i < chosen->live; i++) {
		hq_block_free(heap, &self->slots[i]);
		if (i % ALIVE_EVERY == 0)
			hq_heap_alive(heap);
	}
}

const struct hq_workload hq_workload_churn = {
	.name = "churn",
	.help = "blocks of random sizes and lifetimes on several threads",
	.options = options,
	.options_size = sizeof(struct churn_options),
	.validate = churn_validate,
	.threads = churn_threads,
	.prepare = churn_prepare,
	.run = churn_run,
	.release = churn_release,
};
