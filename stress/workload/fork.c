/* SPDX-License-Identifier: MIT */
/*
 * Forks beside busy threads, as a database makes them for a snapshot: at any moment one of the
 * threads may hold any lock of the allocator, and the child has none of these threads. Each child
 * looks at blocks that its parent leaves alone, uses the heap and exits.
 *
 * The busy threads replace blocks for as long as there are children to come, so how much they do
 * depends on the clock; what they ask for in turn does not. Children are made on the first thread
 * of the process; worker 0 has no work, and its records are used for that.
 */
#include <errno.h>

#include "injectors/atomic.h"
#include "injectors/units.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define KEPT   24u
#define NAP_NS (1 * HQ_MS)

struct fork_options {
	uint64_t threads;
	uint64_t children;
	uint64_t live;
	struct hq_sizes size;
	uint64_t allocations;
	uint64_t patience;
};

struct fork_shared {
	_Atomic uint32_t done;      /* no more children; the first thread writes it */
	struct hq_block kept[KEPT]; /* of the first thread until then, of worker 0 afterwards */
	struct hq_block *slots[64]; /* of the busy threads */
};

#define AT(field) offsetof(struct fork_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, 32, NULL, "busy threads" },
	{ "children", HQ_OPTION_COUNT, AT(children), "50", 1, 100000, NULL,
	  "children, one after the other" },
	{ "live", HQ_OPTION_COUNT, AT(live), "200", 1, 1000000, NULL,
	  "blocks that each busy thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "16B..256KiB log", 1, 1ull << 36, NULL,
	  "size of a block" },
	{ "allocations", HQ_OPTION_COUNT, AT(allocations), "40", 1, 64, NULL,
	  "blocks that a child takes and frees" },
	{ "patience", HQ_OPTION_DURATION, AT(patience), "5s", HQ_MS, 0, NULL,
	  "a child that takes no step for so long has hung" },
	{ .name = NULL },
};

static uint32_t fork_threads(const void *values)
{
	return (uint32_t)((const struct fork_options *)values)->threads + 1;
}

static int fork_prepare(struct hq_work *work)
{
	const struct fork_options *const chosen = work->options;
	struct fork_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < work->thread_count; i++) {
		shared->slots[i] = hq_host_map(chosen->live * sizeof(struct hq_block));
		if (shared->slots[i] == NULL)
			return -ENOMEM;
	}
	work->shared = shared;
	return 0;
}

static bool is_over(const struct fork_shared *shared)
{
	return hq_load_relaxed(&shared->done) != 0 || hq_host_stopping();
}

static void be_busy(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct fork_options *const chosen = work->options;
	struct fork_shared *const shared = work->shared;
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	while (!is_over(shared)) {
		const uint64_t slot = hq_random_below(&random, chosen->live);
		const uint64_t size = hq_random_size(&random, &chosen->size);

		hq_heap_op_begin(heap);
		hq_block_free(heap, &shared->slots[thread][slot]);
		if (!hq_block_alloc(heap, &shared->slots[thread][slot], size))
			hq_heap_missed(heap);
		hq_heap_op_end(heap);
	}
}

static void fork_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	if (thread != 0)
		be_busy(work, thread, heap);
	while (!is_over(work->shared))
		hq_host_sleep_ns(NAP_NS);
}

static void keep_blocks(struct hq_work *work, struct hq_heap *heap)
{
	const struct fork_options *const chosen = work->options;
	struct fork_shared *const shared = work->shared;
	struct hq_random random = hq_random_stream(work->seed, 0, 1);

	for (uint32_t i = 0; i < KEPT; i++)
		if (!hq_block_alloc(heap, &shared->kept[i], hq_random_size(&random, &chosen->size)))
			hq_heap_missed(heap);
}

/* One child in trouble is enough: each that hangs costs the whole patience. */
static void fork_beside(struct hq_work *work, struct hq_heap *heap)
{
	const struct fork_options *const chosen = work->options;
	struct fork_shared *const shared = work->shared;
	const struct hq_fork child = { .blocks = shared->kept,
				       .block_count = KEPT,
				       .allocations = (uint32_t)chosen->allocations,
				       .patience_ns = chosen->patience };
	bool fine = true;

	keep_blocks(work, heap);
	for (uint64_t i = 0; i < chosen->children && fine && !hq_host_stopping(); i++) {
		hq_heap_op_begin(heap);
		fine = hq_heap_fork(heap, &child);
		hq_heap_op_end(heap);
	}
	hq_store_relaxed(&shared->done, 1);
}

static void fork_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct fork_options *const chosen = work->options;
	struct fork_shared *const shared = work->shared;
	struct hq_block *const blocks = thread == 0 ? shared->kept : shared->slots[thread];
	const uint64_t count = thread == 0 ? KEPT : chosen->live;

	for (uint64_t i = 0; i < count; i++)
		hq_block_free(heap, &blocks[i]);
}

const struct hq_workload hq_workload_fork = {
	.name = "fork",
	.help = "children of fork that use the heap, beside busy threads",
	.options = options,
	.options_size = sizeof(struct fork_options),
	.threads = fork_threads,
	.prepare = fork_prepare,
	.run = fork_run,
	.beside = fork_beside,
	.release = fork_release,
};
