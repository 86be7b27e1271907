/* SPDX-License-Identifier: MIT */
/*
 * Aligned blocks, from a cache line to a huge page, replaced and resized at random: what an
 * allocator leaves unused before and behind each of them has to be of use to others. realloc keeps
 * content and no alignment.
 */
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

struct aligned_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	struct hq_sizes size;
	struct hq_sizes alignment;
	double whole;
	double realloc;
};

#define AT(field) offsetof(struct aligned_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "ops", HQ_OPTION_COUNT, AT(ops), "50k", 1, 1000000000000, NULL,
	  "operations of each thread" },
	{ "live", HQ_OPTION_COUNT, AT(live), "500", 1, 100000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "64B..64KiB log", 1, 1ull << 36, NULL,
	  "size of a block" },
	{ "alignment", HQ_OPTION_SIZES, AT(alignment), "64B..64KiB log", 1, 1ull << 30, NULL,
	  "its alignment, rounded down to a power of two" },
	{ "whole", HQ_OPTION_SHARE, AT(whole), "50%", 0, 0, NULL,
	  "share of blocks whose size is rounded up to a multiple of their alignment, which "
	  "aligned_alloc asks for" },
	{ "realloc", HQ_OPTION_SHARE, AT(realloc), "10%", 0, 0, NULL,
	  "share of operations that resize the block instead of replacing it" },
	{ .name = NULL },
};

static uint32_t aligned_threads(const void *values)
{
	return (uint32_t)((const struct aligned_options *)values)->threads;
}

static int aligned_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, ((const struct aligned_options *)work->options)->live);
}

static uint64_t power_below(uint64_t value)
{
	return 1ull << (63 - __builtin_clzll(value));
}

static bool replace(const void *context, struct hq_heap *heap, struct hq_block *block,
		    struct hq_random *random)
{
	const struct aligned_options *const chosen = context;
	const uint64_t size = hq_random_size(random, &chosen->size);
	const uint64_t alignment = power_below(hq_random_size(random, &chosen->alignment));
	const bool whole = hq_random_chance(random, chosen->whole);
	const bool resize = hq_random_chance(random, chosen->realloc);

	if (resize)
		return hq_block_resize(heap, block, size);
	hq_block_free(heap, block);
	return hq_block_aligned(heap, block, alignment,
				whole ? (size + alignment - 1) & -alignment : size);
}

static void aligned_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct aligned_options *const chosen = work->options;

	hq_piles_turn_over(work, thread, heap, replace, chosen->ops);
}

const struct hq_workload hq_workload_aligned = {
	.name = "aligned",
	.help = "blocks aligned from a cache line to a huge page",
	.options = options,
	.options_size = sizeof(struct aligned_options),
	.threads = aligned_threads,
	.prepare = aligned_prepare,
	.run = aligned_run,
	.release = hq_piles_release,
};
