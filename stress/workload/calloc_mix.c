/* SPDX-License-Identifier: MIT */
/*
 * Zeroed and plain blocks in the same places: calloc gets memory that others have filled, memory
 * that was given back to the kernel, and memory that is new, and must know which is which: the
 * first it has to clear, the last it should not touch. With `touch` only the beginning of each
 * block is written and looked at, as by programs that take large tables and use a part of them.
 */
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

struct calloc_mix_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	struct hq_sizes size;
	double calloc;
	uint64_t touch;
};

#define AT(field) offsetof(struct calloc_mix_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "ops", HQ_OPTION_COUNT, AT(ops), "50k", 1, 1000000000000, NULL,
	  "blocks that each thread replaces" },
	{ "live", HQ_OPTION_COUNT, AT(live), "500", 1, 100000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "16B..128KiB log", 1, 1ull << 36, NULL,
	  "size of a block" },
	{ "calloc", HQ_OPTION_SHARE, AT(calloc), "50%", 0, 0, NULL,
	  "share of blocks made by calloc; the others are filled by malloc's user" },
	{ "touch", HQ_OPTION_SIZE, AT(touch), "0", 0, 0, NULL,
	  "bytes of each block that are used; 0: all of them" },
	{ .name = NULL },
};

static uint32_t calloc_mix_threads(const void *values)
{
	return (uint32_t)((const struct calloc_mix_options *)values)->threads;
}

static int calloc_mix_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, ((const struct calloc_mix_options *)work->options)->live);
}

static bool replace(const void *context, struct hq_heap *heap, struct hq_block *block,
		    struct hq_random *random)
{
	const struct calloc_mix_options *const chosen = context;
	const uint64_t size = hq_random_size(random, &chosen->size);
	const bool zeroed = hq_random_chance(random, chosen->calloc);

	hq_block_free(heap, block);
	return zeroed ? hq_block_calloc(heap, block, size) : hq_block_alloc(heap, block, size);
}

static void calloc_mix_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct calloc_mix_options *const chosen = work->options;

	if (chosen->touch != 0)
		hq_heap_touch(heap, chosen->touch);
	hq_piles_turn_over(work, thread, heap, replace, chosen->ops);
}

const struct hq_workload hq_workload_calloc_mix = {
	.name = "calloc-mix",
	.help = "zeroed blocks where others were, and where nothing was",
	.options = options,
	.options_size = sizeof(struct calloc_mix_options),
	.threads = calloc_mix_threads,
	.prepare = calloc_mix_prepare,
	.run = calloc_mix_run,
	.release = hq_piles_release,
};
