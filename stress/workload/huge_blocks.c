/* SPDX-License-Identifier: MIT */
/*
 * Huge blocks: few, each of many pages, of which little is used. What is asked for is address
 * space; memory is only what was touched, and an allocator has to give it back with each block, to
 * move it without touching it, and not to drown in mappings.
 */
#include "injectors/units.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

struct huge_blocks_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t live;
	struct hq_sizes size;
	uint64_t touch;
	double realloc;
};

#define AT(field) offsetof(struct huge_blocks_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "ops", HQ_OPTION_COUNT, AT(ops), "2k", 1, 1000000000000, NULL,
	  "operations of each thread" },
	{ "live", HQ_OPTION_COUNT, AT(live), "8", 1, 1000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "1MiB..64MiB log", HQ_MIB, 1ull << 40, NULL,
	  "size of a block" },
	{ "touch", HQ_OPTION_SIZE, AT(touch), "64KiB", 1, 1ull << 40, NULL,
	  "bytes at the beginning of each block that are used" },
	{ "realloc", HQ_OPTION_SHARE, AT(realloc), "30%", 0, 0, NULL,
	  "share of operations that resize the block instead of replacing it" },
	{ .name = NULL },
};

static uint32_t huge_blocks_threads(const void *values)
{
	return (uint32_t)((const struct huge_blocks_options *)values)->threads;
}

static int huge_blocks_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, ((const struct huge_blocks_options *)work->options)->live);
}

static bool replace(const void *context, struct hq_heap *heap, struct hq_block *block,
		    struct hq_random *random)
{
	const struct huge_blocks_options *const chosen = context;
	const uint64_t size = hq_random_size(random, &chosen->size);
	const bool resize = hq_random_chance(random, chosen->realloc);

	if (resize)
		return hq_block_resize(heap, block, size);
	hq_block_free(heap, block);
	return hq_block_alloc(heap, block, size);
}

static void huge_blocks_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct huge_blocks_options *const chosen = work->options;

	hq_heap_touch(heap, chosen->touch);
	hq_piles_turn_over(work, thread, heap, replace, chosen->ops);
}

const struct hq_workload hq_workload_huge_blocks = {
	.name = "huge-blocks",
	.help = "few blocks of many pages, of which little is used",
	.options = options,
	.options_size = sizeof(struct huge_blocks_options),
	.threads = huge_blocks_threads,
	.prepare = huge_blocks_prepare,
	.run = huge_blocks_run,
	.release = hq_piles_release,
};
