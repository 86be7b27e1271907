/* SPDX-License-Identifier: MIT */
/*
 * Exhaust: takes blocks until there is a NULL, frees them all, and does the same again. Under a
 * limit, or while memory is refused, each round must come as far as the one before. One thread:
 * with more, nobody could say when everything was free.
 *
 * Each round asks for the same blocks in the same order.
 */
#include <errno.h>

#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define BLOCKS_MAX (16u << 20)

struct exhaust_options {
	uint64_t rounds;
	uint64_t most;
	struct hq_sizes size;
	uint64_t pause;
};

struct exhaust_shared {
	struct hq_block *blocks;
	uint64_t count; /* live */
};

static const struct hq_option options[] = {
	{ "rounds", HQ_OPTION_COUNT, offsetof(struct exhaust_options, rounds), "3", 2, 1000000,
	  NULL, "how often everything is taken" },
	{ "most", HQ_OPTION_SIZE, offsetof(struct exhaust_options, most), "64MiB", 4096, 1ull << 40,
	  NULL, "a round ends there as well" },
	{ "size", HQ_OPTION_SIZES, offsetof(struct exhaust_options, size), "1KiB..256KiB log", 16,
	  1ull << 36, NULL, "size of a block" },
	{ "pause", HQ_OPTION_DURATION, offsetof(struct exhaust_options, pause), "20ms", 0, 0, NULL,
	  "silence after everything was freed" },
	{ .name = NULL },
};

static uint64_t blocks_room(const struct exhaust_options *chosen)
{
	return chosen->most / chosen->size.min_bytes + 1;
}

static int exhaust_validate(const void *values, struct hq_error *error)
{
	if (blocks_room(values) > BLOCKS_MAX)
		return hq_error_set(error, "most is more than %u blocks of the smallest size",
				    BLOCKS_MAX);
	return 0;
}

static uint32_t exhaust_threads(const void *values)
{
	(void)values;
	return 1;
}

static int exhaust_prepare(struct hq_work *work)
{
	struct exhaust_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	shared->blocks = hq_host_map(blocks_room(work->options) * sizeof(struct hq_block));
	work->shared = shared;
	return shared->blocks != NULL ? 0 : -ENOMEM;
}

/* Returns the bytes that could be had. */
static uint64_t take_all(const struct hq_work *work, struct hq_heap *heap)
{
	const struct exhaust_options *const chosen = work->options;
	struct exhaust_shared *const shared = work->shared;
	struct hq_random random = hq_random_stream(work->seed, 0, 0);
	uint64_t bytes = 0;
	bool given = true;

	while (given && bytes < chosen->most && !hq_host_stopping()) {
		const uint64_t size = hq_random_size(&random, &chosen->size);

		hq_heap_op_begin(heap);
		given = hq_block_alloc(heap, &shared->blocks[shared->count], size);
		hq_heap_op_end(heap);
		if (!given)
			break;
		shared->count++;
		bytes += size;
	}
	return bytes;
}

static void free_all(struct exhaust_shared *shared, struct hq_heap *heap)
{
	while (shared->count > 0) {
		hq_block_free(heap, &shared->blocks[--shared->count]);
		hq_heap_alive(heap);
	}
}

static void exhaust_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct exhaust_options *const chosen = work->options;

	(void)thread;
	for (uint64_t round = 0; round < chosen->rounds && !hq_host_stopping(); round++) {
		hq_heap_had(heap, take_all(work, heap));
		free_all(work->shared, heap);
		hq_host_sleep_ns(chosen->pause);
		hq_heap_alive(heap);
	}
}

static void exhaust_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	(void)thread;
	free_all(work->shared, heap);
}

const struct hq_workload hq_workload_exhaust = {
	.name = "exhaust",
	.help = "takes all memory that it can get, frees it, and tries again",
	.options = options,
	.options_size = sizeof(struct exhaust_options),
	.validate = exhaust_validate,
	.threads = exhaust_threads,
	.prepare = exhaust_prepare,
	.run = exhaust_run,
	.release = exhaust_release,
};
