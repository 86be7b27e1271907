/* SPDX-License-Identifier: MIT */
/*
 * Threads that replace blocks while signals arrive (SIGUSR1; something else has to send them). With
 * `allocate` the handler uses the heap as well, which is for allocators that promise to bear it:
 * C and POSIX promise it of none. On a busy machine the work may be over before who sends them has
 * had a turn: with `signals` a thread works on until it has taken so many.
 */
#include <errno.h>

#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define LONGER_MAX 20u /* times the work that was asked for, where signals do not come */

struct signals_options {
	uint64_t threads;
	uint64_t ops;
	uint64_t signals;
	uint64_t live;
	struct hq_sizes size;
	bool allocate;
};

struct signals_thread {
	struct hq_block *slots;
};

#define AT(field) offsetof(struct signals_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, 64, NULL, "threads" },
	{ "ops", HQ_OPTION_COUNT, AT(ops), "200k", 1, 1000000000000, NULL,
	  "blocks that each thread replaces" },
	{ "signals", HQ_OPTION_COUNT, AT(signals), "0", 0, 1000000, NULL,
	  "answered signals that each thread waits for by replacing more blocks, up to 20 times "
	  "as many" },
	{ "live", HQ_OPTION_COUNT, AT(live), "500", 1, 100000000, NULL,
	  "blocks that each thread holds" },
	{ "size", HQ_OPTION_SIZES, AT(size), "16B..64KiB log", 1, 1ull << 36, NULL,
	  "size of a block" },
	{ "allocate", HQ_OPTION_BOOL, AT(allocate), "no", 0, 0, NULL,
	  "the handler takes and frees a block" },
	{ .name = NULL },
};

static int signals_validate(const void *values, struct hq_error *error)
{
	const struct signals_options *const chosen = values;

	if (chosen->signals > 0 && !chosen->allocate)
		return hq_error_set(error, "signals are counted with allocate=yes only");
	return 0;
}

static uint32_t signals_threads(const void *values)
{
	return (uint32_t)((const struct signals_options *)values)->threads;
}

static int signals_prepare(struct hq_work *work)
{
	const struct signals_options *const chosen = work->options;
	struct signals_thread *const threads = hq_host_map(work->thread_count * sizeof(*threads));

	if (threads == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		threads[i].slots = hq_host_map(chosen->live * sizeof(struct hq_block));
		if (threads[i].slots == NULL)
			return -ENOMEM;
	}
	work->shared = threads;
	return hq_host_catch_signals();
}

static bool has_work(const struct signals_options *chosen, const struct hq_heap *heap,
		     uint64_t done)
{
	if (hq_host_stopping())
		return false;
	if (done < chosen->ops)
		return true;
	return done / LONGER_MAX < chosen->ops && hq_heap_signals_taken(heap) < chosen->signals;
}

static void signals_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct signals_options *const chosen = work->options;
	struct hq_block *const slots = ((struct signals_thread *)work->shared)[thread].slots;
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	hq_heap_signals(heap, chosen->allocate);
	for (uint64_t i = 0; has_work(chosen, heap, i); i++) {
		const uint64_t slot = hq_random_below(&random, chosen->live);
		const uint64_t size = hq_random_size(&random, &chosen->size);

		hq_heap_op_begin(heap);
		hq_block_free(heap, &slots[slot]);
		if (!hq_block_alloc(heap, &slots[slot], size))
			hq_heap_missed(heap);
		hq_heap_op_end(heap);
	}
	hq_heap_signals(heap, false);
}

static void signals_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct signals_options *const chosen = work->options;
	struct hq_block *const slots = ((struct signals_thread *)work->shared)[thread].slots;

	for (uint64_t i = 0; i < chosen->live; i++)
		hq_block_free(heap, &slots[i]);
}

const struct hq_workload hq_workload_signals = {
	.name = "signals",
	.help = "threads that replace blocks and catch signals, whose handler may allocate",
	.options = options,
	.options_size = sizeof(struct signals_options),
	.validate = signals_validate,
	.threads = signals_threads,
	.prepare = signals_prepare,
	.run = signals_run,
	.release = signals_release,
};
