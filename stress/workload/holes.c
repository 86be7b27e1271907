/* SPDX-License-Identifier: MIT */
/*
 * Holes: the same work beside ever more free spans. Each thread builds a ladder: at a step it
 * allocates blocks and frees every other one, so that the kept ones hold the free spans apart, and
 * then does the step's work, which is the same at each: a batch of blocks allocated and freed, many
 * times. The cheapest batch is the step's cost, in CPU time of the thread: what else runs on the
 * machine makes a batch dearer and never cheaper, so ratios of such costs can be trusted. Beside
 * few holes all batches are over so soon that one disturbance may cover them all, so there they are
 * repeated, as many times as there are fewer holes than at the end.
 *
 * The blocks are not written to. It does not measure how fast an allocator is, only how its cost
 * grows.
 */
#include <errno.h>

#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define STEPS_MAX  8u
#define BATCH      64u /* blocks */
#define ROUNDS_MAX 64u /* enough to outlast what disturbs, even if holes are very many */

struct holes_options {
	uint64_t threads;
	uint64_t first;
	uint64_t factor;
	uint64_t steps;
	uint64_t batches;
	struct hq_sizes size;
};

struct holes_block {
	void *address;
	uint64_t size;
};

struct holes_thread {
	struct holes_block *holes; /* that will be free */
	struct holes_block *pins;  /* that hold two free spans apart */
	uint64_t pin_count;
};

#define AT(field) offsetof(struct holes_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "1", 1, 64, NULL, "threads" },
	{ "first", HQ_OPTION_COUNT, AT(first), "64", 1, 1000000, NULL,
	  "free spans of each thread at the first step" },
	{ "factor", HQ_OPTION_COUNT, AT(factor), "4", 2, 100, NULL,
	  "how many times more there are at the next step" },
	{ "steps", HQ_OPTION_COUNT, AT(steps), "5", 2, STEPS_MAX, NULL, "steps" },
	{ "batches", HQ_OPTION_COUNT, AT(batches), "32", 1, 1000000, NULL,
	  "how often 64 blocks are allocated and freed at the last step, and more often beside "
	  "fewer holes; the cheapest time counts" },
	{ "size", HQ_OPTION_SIZES, AT(size), "64B..1KiB log", 1, 1ull << 30, NULL,
	  "size of a block" },
	{ .name = NULL },
};

static uint64_t holes_at_end(const struct holes_options *chosen)
{
	uint64_t holes = chosen->first;

	for (uint64_t step = 1; step < chosen->steps; step++)
		holes *= chosen->factor;
	return holes;
}

static int holes_validate(const void *values, struct hq_error *error)
{
	const uint64_t most = 10000000;
	const struct holes_options *const chosen = values;
	uint64_t holes = chosen->first;

	for (uint64_t step = 1; step < chosen->steps && holes <= most; step++)
		holes *= chosen->factor;
	if (holes > most)
		return hq_error_set(error, "first, factor and steps lead to more than ten million "
					   "free spans");
	return 0;
}

static uint32_t holes_threads(const void *values)
{
	return (uint32_t)((const struct holes_options *)values)->threads;
}

static int holes_prepare(struct hq_work *work)
{
	struct holes_thread *const threads = hq_host_map(work->thread_count * sizeof(*threads));

	if (threads == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		const size_t bytes = holes_at_end(work->options) * sizeof(struct holes_block);

		threads[i].holes = hq_host_map(bytes);
		threads[i].pins = hq_host_map(bytes);
		if (threads[i].holes == NULL || threads[i].pins == NULL)
			return -ENOMEM;
	}
	work->shared = threads;
	return 0;
}

/* NULL counts as an operation given up; such a block is simply not there. */
static void take(struct hq_heap *heap, struct hq_random *random, const struct hq_sizes *sizes,
		 struct holes_block *block)
{
	block->size = hq_random_size(random, sizes);
	block->address = hq_heap_alloc(heap, block->size);
	if (block->address == NULL)
		hq_heap_missed(heap);
	hq_heap_alive(heap);
}

/*
 * Blocks that will be holes alternate with new ones that stay; those that fill the holes of the
 * step before are kept apart by that step's. None is freed before all are there, or it would be the
 * next one given.
 */
static void make_holes(struct hq_heap *heap, struct hq_random *random, const struct hq_sizes *sizes,
		       struct holes_thread *self, uint64_t holes)
{
	for (uint64_t i = 0; i < holes && !hq_host_stopping(); i++) {
		take(heap, random, sizes, &self->holes[i]);
		if (i >= self->pin_count)
			take(heap, random, sizes, &self->pins[self->pin_count++]);
	}
	for (uint64_t i = 0; i < holes; i++) {
		hq_heap_free(heap, self->holes[i].address, self->holes[i].size);
		self->holes[i].address = NULL;
		hq_heap_alive(heap);
	}
}

/* CPU time of one batch; its sizes are the same at each step. */
static uint64_t run_batch(struct hq_heap *heap, struct hq_random *random,
			  const struct hq_sizes *sizes)
{
	void *blocks[BATCH];
	uint64_t drawn[BATCH];

	for (uint32_t i = 0; i < BATCH; i++)
		drawn[i] = hq_random_size(random, sizes);
	hq_heap_op_begin(heap);
	const uint64_t start_ns = hq_host_cpu_ns();

	for (uint32_t i = 0; i < BATCH; i++)
		blocks[i] = hq_heap_alloc(heap, drawn[i]);
	for (uint32_t i = 0; i < BATCH; i++)
		hq_heap_free(heap, blocks[i], drawn[i]);
	const uint64_t end_ns = hq_host_cpu_ns();

	hq_heap_op_end(heap);
	return end_ns - start_ns;
}

/* The same batches again and again: only how often they are tried differs between the steps. */
static uint64_t cheapest_batch(struct hq_work *work, uint32_t thread, struct hq_heap *heap,
			       uint64_t rounds)
{
	const struct holes_options *const chosen = work->options;
	uint64_t least_ns = UINT64_MAX;

	for (uint64_t round = 0; round < rounds; round++) {
		struct hq_random random = hq_random_stream(work->seed, thread, 1);

		for (uint64_t i = 0; i < chosen->batches && !hq_host_stopping(); i++) {
			const uint64_t took_ns = run_batch(heap, &random, &chosen->size);

			least_ns = took_ns < least_ns ? took_ns : least_ns;
		}
	}
	return least_ns;
}

static uint64_t rounds_beside(const struct holes_options *chosen, uint64_t holes)
{
	const uint64_t rounds = holes_at_end(chosen) / holes;

	return rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
}

static void holes_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct holes_options *const chosen = work->options;
	struct holes_thread *const self = &((struct holes_thread *)work->shared)[thread];
	struct hq_random random = hq_random_stream(work->seed, thread, 0);
	uint64_t holes = chosen->first;

	for (uint32_t step = 0; step < chosen->steps; step++, holes *= chosen->factor) {
		make_holes(heap, &random, &chosen->size, self, holes);
		const uint64_t rounds = rounds_beside(chosen, holes);
		const uint64_t least_ns = cheapest_batch(work, thread, heap, rounds);

		if (hq_host_stopping())
			return;
		hq_heap_cost(heap, step, holes, least_ns);
	}
}

static void holes_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct holes_thread *const self = &((struct holes_thread *)work->shared)[thread];

	for (uint64_t i = 0; i < self->pin_count; i++) {
		hq_heap_free(heap, self->pins[i].address, self->pins[i].size);
		hq_heap_alive(heap);
	}
}

const struct hq_workload hq_workload_holes = {
	.name = "holes",
	.help = "the same work beside ever more free spans, to see how its cost grows",
	.options = options,
	.options_size = sizeof(struct holes_options),
	.validate = holes_validate,
	.threads = holes_threads,
	.prepare = holes_prepare,
	.run = holes_run,
	.release = holes_release,
};
