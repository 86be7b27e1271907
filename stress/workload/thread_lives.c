/* SPDX-License-Identifier: MIT */
/*
 * Threads that come and go: each worker starts one short-lived thread after another. A life frees
 * what the one before has left, makes blocks of its own, frees most of them and leaves the rest to
 * the next, so that every thread frees blocks of one that is gone.
 *
 * What the n-th life of a worker asks for depends on (seed, worker, n) alone. How many lives there
 * are depends on the clock only when `for` is longer than they take.
 */
#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

struct thread_lives_options {
	uint64_t threads;
	uint64_t lives;
	uint64_t for_ns;
	uint64_t blocks;
	struct hq_sizes size;
	double leave;
};

/* One worker's; only one of its lives is there at a time. */
struct thread_lives_worker {
	const struct thread_lives_options *options;
	struct hq_heap *heap;
	struct hq_random random;
	struct hq_block *blocks;
	uint64_t left; /* the first so many are still live */
};

#define AT(field) offsetof(struct thread_lives_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, 64, NULL, "lives at the same time" },
	{ "lives", HQ_OPTION_COUNT, AT(lives), "500", 1, 1000000000, NULL,
	  "lives one after another, at least" },
	{ "for", HQ_OPTION_DURATION, AT(for_ns), "0", 0, 0, NULL,
	  "further lives until that long after the start" },
	{ "blocks", HQ_OPTION_COUNT, AT(blocks), "64", 1, 1000000, NULL, "blocks of each life" },
	{ "size", HQ_OPTION_SIZES, AT(size), "32B..4KiB log", 1, 1ull << 32, NULL,
	  "size of a block" },
	{ "leave", HQ_OPTION_SHARE, AT(leave), "25%", 0, 0, NULL,
	  "share of the blocks that the next life frees" },
	{ .name = NULL },
};

static uint32_t thread_lives_threads(const void *values)
{
	return (uint32_t)((const struct thread_lives_options *)values)->threads;
}

static int thread_lives_prepare(struct hq_work *work)
{
	const struct thread_lives_options *const chosen = work->options;
	struct thread_lives_worker *const workers =
		hq_host_map(work->thread_count * sizeof(*workers));

	if (workers == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		workers[i].options = chosen;
		workers[i].blocks = hq_host_map(chosen->blocks * sizeof(struct hq_block));
		if (workers[i].blocks == NULL)
			return -ENOMEM;
	}
	work->shared = workers;
	return 0;
}

/* Frees all but the first `kept` blocks. */
static void empty(struct thread_lives_worker *self, uint64_t kept)
{
	while (self->left > kept) {
		hq_heap_op_begin(self->heap);
		hq_block_free(self->heap, &self->blocks[--self->left]);
		hq_heap_op_end(self->heap);
	}
}

/* A refused block counts as if it were there. */
static void fill(struct thread_lives_worker *self)
{
	for (; self->left < self->options->blocks; self->left++) {
		const uint64_t size = hq_random_size(&self->random, &self->options->size);

		hq_heap_op_begin(self->heap);
		if (!hq_block_alloc(self->heap, &self->blocks[self->left], size))
			hq_heap_missed(self->heap);
		hq_heap_op_end(self->heap);
	}
}

static void live(void *argument)
{
	struct thread_lives_worker *const self = argument;

	empty(self, 0);
	fill(self);
	empty(self, (uint64_t)(self->options->leave * (double)self->options->blocks));
}

static void thread_lives_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct thread_lives_options *const chosen = work->options;
	struct thread_lives_worker *const self =
		&((struct thread_lives_worker *)work->shared)[thread];

	self->heap = heap;
	for (uint64_t n = 0;
	     !hq_host_stopping() && (n < chosen->lives || hq_host_since_gate_ns() < chosen->for_ns);
	     n++) {
		self->random = hq_random_stream(work->seed, thread, (uint32_t)n);
		if (!hq_heap_live(heap, live, self))
			hq_heap_missed(heap);
		hq_heap_alive(heap);
	}
}

static void thread_lives_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct thread_lives_worker *const self =
		&((struct thread_lives_worker *)work->shared)[thread];

	self->heap = heap;
	empty(self, 0);
}

const struct hq_workload hq_workload_thread_lives = {
	.name = "thread-lives",
	.help = "threads that come and go, each freeing what the one before has left",
	.options = options,
	.options_size = sizeof(struct thread_lives_options),
	.threads = thread_lives_threads,
	.prepare = thread_lives_prepare,
	.run = thread_lives_run,
	.release = thread_lives_release,
};
