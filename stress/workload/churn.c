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

#include "stress/workload/mailbox.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define ALIGNMENT_SHIFT_MIN 4u /* 16 */
#define ALIGNMENT_SHIFTS    9u /* up to 4096 */

struct churn_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	struct hq_sizes size;
	double calloc;
	double realloc;
	double aligned;
	double cross;
	struct hq_arrivals_options arrivals;
};

struct churn_shared {
	struct hq_pile *piles;      /* of the threads */
	struct hq_mailbox *inboxes; /* what a thread frees for the one before */
};

/* One thread's. */
struct churn {
	const struct churn_options *chosen;
	struct hq_mailbox *inbox, *next; /* next NULL: there is no other thread */
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
	HQ_ARRIVALS_OPTIONS(struct churn_options, arrivals, "10k/s",
			    "operations of each thread, for constant and poisson"),
	{ .name = NULL },
};

static int churn_validate(const void *values, struct hq_error *error)
{
	const struct churn_options *const chosen = values;

	if (chosen->calloc + chosen->aligned > 1)
		return hq_error_set(error, "calloc and aligned together are more than 100%%");
	return hq_arrivals_validate(&chosen->arrivals, error);
}

static uint32_t churn_threads(const void *values)
{
	return (uint32_t)((const struct churn_options *)values)->threads;
}

static int churn_prepare(struct hq_work *work)
{
	const struct churn_options *const chosen = work->options;
	struct churn_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	shared->piles = hq_piles_make(work->thread_count, chosen->live);
	shared->inboxes = hq_mailboxes_make(work->thread_count, HQ_MAILBOX_ROOM);
	work->shared = shared;
	return shared->piles == NULL || shared->inboxes == NULL ? -ENOMEM : 0;
}

/* What one operation will do, drawn before anything is done: a NULL must not shift the stream. */
struct churn_draw {
	uint64_t size;
	uint64_t alignment; /* 0: none asked for */
	bool resize;
	bool zeroed;
	bool cross;
};

static struct churn_draw draw(struct hq_random *random, const struct churn_options *chosen)
{
	struct churn_draw drawn = {
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

static bool operate(const void *context, struct hq_heap *heap, struct hq_block *block,
		    struct hq_random *random)
{
	const struct churn *const self = context;
	const struct churn_draw drawn = draw(random, self->chosen);

	hq_mailbox_empty(self->inbox, heap);
	if (drawn.resize)
		return hq_block_resize(heap, block, drawn.size);
	if (drawn.cross && self->next != NULL && block->address != NULL &&
	    hq_mailbox_put(self->next, block, 0))
		*block = (struct hq_block){ .address = NULL };
	hq_block_free(heap, block);
	return fill(heap, block, &drawn);
}

static void churn_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct churn_options *const chosen = work->options;
	const struct churn_shared *const shared = work->shared;
	struct churn self = { .chosen = chosen, .inbox = &shared->inboxes[thread] };
	struct hq_random random = hq_random_stream(work->seed, thread, 0);
	struct hq_arrivals arrivals;

	if (work->thread_count > 1)
		self.next = &shared->inboxes[(thread + 1) % work->thread_count];
	hq_arrivals_start(&arrivals, &chosen->arrivals, work->seed, thread);
	hq_turnover_run(&(struct hq_turnover){ .pile = &shared->piles[thread],
					       .random = &random,
					       .arrivals = &arrivals,
					       .turn = operate,
					       .context = &self },
			heap, chosen->ops);
}

/* Nobody fills mailboxes any more: all threads have run. */
static void churn_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct churn_shared *const shared = work->shared;

	hq_mailbox_empty(&shared->inboxes[thread], heap);
	hq_pile_empty(&shared->piles[thread], heap);
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
