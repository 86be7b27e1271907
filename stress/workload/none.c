/* SPDX-License-Identifier: MIT */
/*
 * The workload that hardly works: a handful of calls of each kind on each thread, so that every
 * contract is exercised once. What a run costs without work, and whether an allocator survives a
 * fault at all, is seen best with it.
 */
#include <errno.h>

#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define KEPT 8u /* blocks held from run to release */

struct none_options {
	uint64_t threads;
};

/* One for each thread. */
struct none_kept {
	struct hq_block blocks[KEPT];
};

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, offsetof(struct none_options, threads), "1", 1, 64, NULL,
	  "threads that make a handful of calls each" },
	{ .name = NULL },
};

static uint32_t none_threads(const void *values)
{
	return (uint32_t)((const struct none_options *)values)->threads;
}

static int none_prepare(struct hq_work *work)
{
	work->shared = hq_host_map(work->thread_count * sizeof(struct none_kept));
	return work->shared != NULL ? 0 : -ENOMEM;
}

static void expect(struct hq_heap *heap, bool given)
{
	if (!given)
		hq_heap_missed(heap);
}

/* Unstamped memory of both kinds, freed at once. */
static void touch_raw(struct hq_heap *heap)
{
	void *const plain = hq_heap_alloc(heap, 100);
	void *const zeroed = hq_heap_calloc(heap, 25, 40);

	expect(heap, plain != NULL);
	expect(heap, zeroed != NULL);
	hq_heap_free(heap, plain, 100);
	hq_heap_free(heap, zeroed, 1000);
}

static void none_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct hq_block *const blocks = ((struct none_kept *)work->shared)[thread].blocks;

	hq_heap_op_begin(heap);
	expect(heap, hq_block_alloc(heap, &blocks[0], 1));
	expect(heap, hq_block_alloc(heap, &blocks[1], 1000));
	expect(heap, hq_block_alloc(heap, &blocks[2], 300000));
	expect(heap, hq_block_calloc(heap, &blocks[3], 24));
	expect(heap, hq_block_calloc(heap, &blocks[4], 70000));
	expect(heap, hq_block_aligned(heap, &blocks[5], 64, 640));
	expect(heap, hq_block_aligned(heap, &blocks[6], 4096, 5000));
	expect(heap, hq_block_resize(heap, &blocks[7], 40)); /* realloc of nothing */
	expect(heap, hq_block_resize(heap, &blocks[7], 4000));
	expect(heap, hq_block_resize(heap, &blocks[7], 30));
	touch_raw(heap);
	hq_heap_op_end(heap);
}

static void none_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct none_kept *const kept = &((struct none_kept *)work->shared)[thread];

	for (uint32_t i = 0; i < KEPT; i++)
		hq_block_free(heap, &kept->blocks[i]);
}

const struct hq_workload hq_workload_none = {
	.name = "none",
	.help = "a handful of calls of each kind, and then nothing",
	.options = options,
	.options_size = sizeof(struct none_options),
	.threads = none_threads,
	.prepare = none_prepare,
	.run = none_run,
	.release = none_release,
};
