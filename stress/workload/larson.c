/* SPDX-License-Identifier: MIT */
/*
 * A server as in P. Larson and M. Krishnan, "Memory allocation for long-running server
 * applications", 1998: each thread answers requests, each of which replaces one of its blocks at
 * random; after so many it ends, and a new thread goes on with the blocks that it inherits. In time
 * almost every block is freed by another thread than the one that asked for it, which is gone.
 */
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

struct larson_options {
	uint64_t threads;
	uint64_t lives;
	uint64_t requests;
	uint64_t live;
	struct hq_sizes size;
	struct hq_arrivals_options arrivals;
};

/* One line of threads, of which each inherits from the one before. */
struct larson {
	const struct larson_options *chosen;
	struct hq_heap *heap;
	struct hq_random random;
	struct hq_arrivals arrivals;
	struct hq_pile *pile;
};

#define AT(field) offsetof(struct larson_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL,
	  "threads at the same time" },
	{ "lives", HQ_OPTION_COUNT, AT(lives), "50", 1, 1000000000, NULL,
	  "threads one after another, each with the blocks of the one before" },
	{ "requests", HQ_OPTION_COUNT, AT(requests), "5k", 1, 1000000000000, NULL,
	  "requests of each life" },
	{ "live", HQ_OPTION_COUNT, AT(live), "5k", 1, 100000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "10B..500B uniform", 1, 1ull << 36, NULL,
	  "size of a block" },
	HQ_ARRIVALS_OPTIONS(struct larson_options, arrivals, "10k/s",
			    "requests of each thread, for constant and poisson"),
	{ .name = NULL },
};

static int larson_validate(const void *values, struct hq_error *error)
{
	return hq_arrivals_validate(&((const struct larson_options *)values)->arrivals, error);
}

static uint32_t larson_threads(const void *values)
{
	return (uint32_t)((const struct larson_options *)values)->threads;
}

static int larson_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, ((const struct larson_options *)work->options)->live);
}

static bool answer(const void *context, struct hq_heap *heap, struct hq_block *block,
		   struct hq_random *random)
{
	const struct larson *const self = context;
	const uint64_t size = hq_random_size(random, &self->chosen->size);

	hq_block_free(heap, block);
	return hq_block_alloc(heap, block, size);
}

static void live(void *argument)
{
	struct larson *const self = argument;

	hq_turnover_run(&(struct hq_turnover){ .pile = self->pile,
					       .random = &self->random,
					       .arrivals = &self->arrivals,
					       .turn = answer,
					       .context = self },
			self->heap, self->chosen->requests);
}

static void larson_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct larson self = { .chosen = work->options,
			       .heap = heap,
			       .random = hq_random_stream(work->seed, thread, 0),
			       .pile = hq_pile_of(work, thread) };

	hq_arrivals_start(&self.arrivals, &self.chosen->arrivals, work->seed, thread);
	for (uint64_t i = 0; i < self.chosen->lives && !hq_host_stopping(); i++) {
		if (!hq_heap_live(heap, live, &self))
			hq_heap_missed(heap);
	}
}

const struct hq_workload hq_workload_larson = {
	.name = "larson",
	.help = "a server whose threads end, and leave their blocks to the next",
	.options = options,
	.options_size = sizeof(struct larson_options),
	.validate = larson_validate,
	.threads = larson_threads,
	.prepare = larson_prepare,
	.run = larson_run,
	.release = hq_piles_release,
};
