/* SPDX-License-Identifier: MIT */
/*
 * The reference model: what is known of all live blocks, and what is demanded of each answer.
 *
 * It is a table of the live blocks in order of their addresses, each with its size: a new block
 * must not overlap a neighbour. A block leaves the table before it is freed and enters it after
 * it was handed out, so whatever overlaps there overlaps indeed. NULL is right only if a mapping or
 * a charge was refused meanwhile. The first failure ends the process.
 */
#ifndef BEDROCK_TESTS_MODEL_CHECK_H
#define BEDROCK_TESTS_MODEL_CHECK_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/model.h"

#define MODEL_LIVE_MAX     (MODEL_THREADS * MODEL_SLOTS + MODEL_EXCHANGES)
#define MODEL_STATUS_FAIL  3
#define MODEL_REASON_BYTES 160

/*
 * The first failure, in memory that the parent shares, and what makes a run without one mean
 * something: requests that were refused, and how often each fault fired.
 */
struct model_outcome {
	_Atomic bool is_failed;
	_Atomic uint64_t refused;
	uint64_t fired[MODEL_FAULT_COUNT];
	size_t index;
	char reason[MODEL_REASON_BYTES];
};

/* What several runs have seen together. */
struct model_sum {
	uint64_t calls;
	uint64_t refused;
	uint64_t fired[MODEL_FAULT_COUNT];
};

static inline void model_sum_add(struct model_sum *sum, const struct model_outcome *outcome,
				 size_t calls)
{
	sum->calls += calls;
	sum->refused += outcome->refused;
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++)
		sum->fired[i] += outcome->fired[i];
}

/*
 * A fault that never fired proves nothing. -> the first one that is sure to fire in so many calls
 * and has not, or NULL. `has_threads`: the allocator starts some.
 */
static inline const char *model_sum_lacks(const struct model_sum *sum, bool has_threads)
{
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++) {
		bool is_possible = i != MODEL_FAULT_THREAD || has_threads;

		if (is_possible && sum->fired[i] == 0 && sum->calls >= model_faults[i].sure_calls)
			return model_faults[i].name;
	}
	if (sum->refused == 0 && sum->calls >= model_faults[MODEL_FAULT_MMAP].sure_calls)
		return "request";
	return NULL;
}

/* The calls that a test may replace by bad ones, to see the model find it. */
struct model_api {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t count, size_t item_bytes);
	void *(*realloc)(void *block, size_t bytes);
	void *(*aligned_alloc)(size_t align_bytes, size_t bytes);
	void (*free)(void *block);
};

struct model_live {
	uintptr_t start;
	uintptr_t end;
};

struct model_worker {
	struct model_run *run;
	unsigned index;
	/* The next call of the sequence to look at. */
	size_t at;
	pthread_t thread;
	pthread_t before;
	bool has_before;
	struct stress_block slots[MODEL_SLOTS];
};

/*
 * live[0 .. live_count) is sorted and without overlap; under lock, as are exchanges and turn.
 */
struct model_run {
	const struct model_call *calls;
	size_t count;
	bool is_in_order;
	struct model_api api;
	struct model_outcome *outcome;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	size_t turn;
	unsigned ended;
	size_t live_count;
	struct model_live live[MODEL_LIVE_MAX];
	struct stress_block exchanges[MODEL_EXCHANGES];
	struct model_worker workers[MODEL_THREADS];
};

static const struct model_api model_api_bedrock = {
	.malloc = bedrock_malloc,
	.calloc = bedrock_calloc,
	.realloc = bedrock_realloc,
	.aligned_alloc = bedrock_aligned_alloc,
	.free = bedrock_free,
};

__attribute__((format(printf, 3, 4), noreturn)) static inline void
model_fail(struct model_run *run, size_t index, const char *format, ...)
{
	va_list arguments;

	if (!atomic_exchange(&run->outcome->is_failed, true)) {
		va_start(arguments, format);
		vsnprintf(run->outcome->reason, MODEL_REASON_BYTES, format, arguments);
		va_end(arguments);
		run->outcome->index = index;
	}
	_exit(MODEL_STATUS_FAIL);
}

/* The first live block that ends above `start`; the lock is held. */
static inline size_t model_find(const struct model_run *run, uintptr_t start)
{
	size_t low = 0;
	size_t high = run->live_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (run->live[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static inline void model_enter(struct model_run *run, size_t index, const void *block)
{
	uintptr_t start = (uintptr_t)block;
	size_t usable_bytes = bedrock_malloc_usable_size((void *)start);
	struct model_live live = { start, start + (usable_bytes ? usable_bytes : 1) };

	pthread_mutex_lock(&run->lock);
	size_t at = model_find(run, start);

	if (at < run->live_count && run->live[at].start < live.end)
		model_fail(run, index, "block %#zx of %zu overlaps live block %#zx of %zu",
			   (size_t)start, usable_bytes, (size_t)run->live[at].start,
			   (size_t)(run->live[at].end - run->live[at].start));
	memmove(&run->live[at + 1], &run->live[at], (run->live_count - at) * sizeof(live));
	run->live[at] = live;
	run->live_count++;
	pthread_mutex_unlock(&run->lock);
}

static inline void model_leave(struct model_run *run, const void *block)
{
	pthread_mutex_lock(&run->lock);
	size_t at = model_find(run, (uintptr_t)block);

	run->live_count--;
	memmove(&run->live[at], &run->live[at + 1], (run->live_count - at) * sizeof(run->live[0]));
	pthread_mutex_unlock(&run->lock);
}

/* What the blocks of the table may use together. */
static inline uint64_t model_live_bytes(struct model_run *run)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&run->lock);
	for (size_t i = 0; i < run->live_count; i++)
		bytes += run->live[i].end - run->live[i].start;
	pthread_mutex_unlock(&run->lock);
	return bytes;
}

static inline void model_look(struct model_run *run, size_t index, const struct stress_block *block,
			      size_t bytes, const char *what)
{
	if (!stress_holds(block, bytes))
		model_fail(run, index, "%s: content of a block of %zu is lost", what, block->bytes);
}

/* What has been refused so far that a request cannot do without: mappings and charges. */
static inline uint64_t model_reasons(void)
{
	return faults.mmap.hit + bedrock_load_relaxed(&bedrock_heap.space.limit.refusals);
}

/* NULL is right only if there is a reason since `before`, and comes with ENOMEM. */
static inline void model_refused(struct model_run *run, size_t index, uint64_t before, size_t bytes,
				 int error)
{
	if (model_reasons() == before)
		model_fail(run, index, "%zu bytes are refused without a fault", bytes);
	if (error != ENOMEM)
		model_fail(run, index, "refusal with errno %d", error);
	run->outcome->refused++;
}

static inline void model_is_zero(struct model_run *run, size_t index,
				 const struct stress_block *block)
{
	for (size_t at = 0; at < block->bytes; at = stress_next(at, block->bytes)) {
		if (block->start[at])
			model_fail(run, index, "calloc of %zu: byte %zu is %u", block->bytes, at,
				   block->start[at]);
	}
}

#endif
