/* SPDX-License-Identifier: MIT */
/*
 * A sequence of calls, carried out on several threads and held against the reference model.
 *
 * Every block carries a stamp that is looked at before it is resized or freed. Threads run freely
 * beside each other, or in the written order, one call at a time, which makes a failure come
 * again. The first failure ends the process: a run belongs into a child.
 */
#ifndef BEDROCK_TESTS_MODEL_RUN_H
#define BEDROCK_TESTS_MODEL_RUN_H

#include <sys/wait.h>
#include <time.h>

#include "allocator/bedrock/os.h"
#include "allocator/tests/model_check.h"
#include "allocator/tests/moves.h"

/* What may stay mapped when all is over, beside a chunk of each arena for its next request. */
#define MODEL_MAPPED_MAX  ((size_t)64 << 20)
#define MODEL_ARENA_BYTES ((size_t)4 << 20)

static inline size_t model_round(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* Ask for a block. -> the alignment that it must have. */
static inline size_t model_ask(struct model_run *run, const struct model_call *call,
			       struct stress_block *block)
{
	size_t page_bytes = bedrock_os_page_bytes();
	size_t align_bytes = call->align_bytes ? call->align_bytes : 1;
	void *start = NULL;

	block->bytes = call->bytes;
	switch (call->kind) {
	case MODEL_CALLOC:
		block->start = run->api.calloc(call->bytes, 1);
		return 16;
	case MODEL_POSIX_MEMALIGN:
		errno = bedrock_posix_memalign(&start, align_bytes, call->bytes);
		block->start = start;
		return align_bytes;
	case MODEL_ALIGNED_ALLOC:
		block->bytes = model_round(call->bytes, align_bytes);
		block->start = run->api.aligned_alloc(align_bytes, block->bytes);
		return align_bytes;
	case MODEL_MEMALIGN:
		block->start = bedrock_memalign(align_bytes, call->bytes);
		return align_bytes;
	case MODEL_VALLOC:
		block->start = bedrock_valloc(call->bytes);
		return page_bytes;
	case MODEL_PVALLOC:
		block->start = bedrock_pvalloc(call->bytes);
		block->bytes = block->start && !call->bytes ? page_bytes : call->bytes;
		return page_bytes;
	default:
		block->start = run->api.malloc(call->bytes);
		return 16;
	}
}

static inline void model_allocate(struct model_run *run, size_t index, struct stress_block *block)
{
	const struct model_call *call = &run->calls[index];
	uint64_t before = model_reasons();

	errno = 0;
	size_t align_bytes = model_ask(run, call, block);

	if (!block->start) {
		model_refused(run, index, before, call->bytes, errno);
		return;
	}
	if ((uintptr_t)block->start % (align_bytes < 16 ? 16 : align_bytes))
		model_fail(run, index, "block %p is not aligned to %zu", (void *)block->start,
			   align_bytes);
	if (bedrock_malloc_usable_size(block->start) < block->bytes)
		model_fail(run, index, "block of %zu has %zu usable bytes", block->bytes,
			   bedrock_malloc_usable_size(block->start));
	model_enter(run, index, block->start);
	if (call->kind == MODEL_CALLOC)
		model_is_zero(run, index, block);
	stress_fill(block, index * 31 + 7);
}

static inline void model_free(struct model_run *run, size_t index, struct stress_block *block)
{
	bool is_sized = run->calls[index].kind == MODEL_FREE_SIZED;

	if (!block->start) {
		run->api.free(NULL);
		return;
	}
	model_look(run, index, block, block->bytes, "free");
	model_leave(run, block->start);
	errno = 77;
	if (is_sized)
		bedrock_free_sized(block->start, block->bytes);
	else
		run->api.free(block->start);
	if (errno != 77)
		model_fail(run, index, "free has set errno to %d", errno);
	block->start = NULL;
}

/* realloc frees a block that is to have no bytes; that is what MODEL_FREE is for. */
static inline void model_resize(struct model_run *run, size_t index, struct stress_block *block)
{
	const struct model_call *call = &run->calls[index];
	bool is_array = call->kind == MODEL_REALLOCARRAY;
	size_t count = is_array && call->count ? call->count : 1;
	size_t item_bytes = call->bytes / count ? call->bytes / count : 1;
	size_t common_bytes = block->start ? block->bytes : 0;
	uint64_t before = model_reasons();

	if (block->start) {
		model_look(run, index, block, block->bytes, "before realloc");
		model_leave(run, block->start);
	}
	errno = 0;
	void *start = is_array ? bedrock_reallocarray(block->start, count, item_bytes)
			       : run->api.realloc(block->start, item_bytes);

	if (!start) {
		model_refused(run, index, before, count * item_bytes, errno);
		if (block->start)
			model_enter(run, index, block->start);
		return;
	}
	model_enter(run, index, start);
	block->start = start;
	model_look(run, index, block,
		   common_bytes < count * item_bytes ? common_bytes : count * item_bytes,
		   "realloc");
	block->bytes = count * item_bytes;
	stress_fill(block, index * 31 + 7);
}

static inline void model_hand_over(struct model_run *run, const struct model_call *call,
				   struct stress_block *block)
{
	pthread_mutex_lock(&run->lock);
	struct stress_block *exchange = &run->exchanges[call->count % MODEL_EXCHANGES];
	struct stress_block other = *exchange;

	*exchange = *block;
	*block = other;
	pthread_mutex_unlock(&run->lock);
}

/* The calling thread alone goes on in the child: its blocks must be there, and memory too. */
static inline void model_live_in_child(struct model_worker *worker, size_t index)
{
	struct model_run *run = worker->run;

	alarm(20);
	for (unsigned i = 0; i < MODEL_SLOTS; i++) {
		struct stress_block *block = &worker->slots[i];

		if (!block->start)
			continue;
		model_look(run, index, block, block->bytes, "in the child of a fork");
		void *grown = run->api.realloc(block->start, block->bytes * 2 + 1);

		run->api.free(grown ? grown : block->start);
	}
	_exit(0);
}

static inline void model_fork(struct model_worker *worker, size_t index)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		model_fail(worker->run, index, "the test has no child: %d", errno);
	if (child == 0)
		model_live_in_child(worker, index);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		model_fail(worker->run, index, "the child of a fork ended with status %#x", status);
}

static inline struct fault *model_fault(unsigned index)
{
	struct fault *all[MODEL_FAULT_COUNT] = {
		[MODEL_FAULT_MMAP] = &faults.mmap,
		[MODEL_FAULT_MUNMAP] = &faults.munmap,
		[MODEL_FAULT_MREMAP] = &faults.mremap,
		[MODEL_FAULT_MADVISE] = &faults.madvise,
		[MODEL_FAULT_MADVISE_LIES] = &faults.madvise,
		[MODEL_FAULT_MINCORE] = &faults.mincore,
		[MODEL_FAULT_THREAD] = &faults.thread,
	};

	return all[index % MODEL_FAULT_COUNT];
}

static inline uint64_t model_fired(unsigned index)
{
	const struct fault *fault = model_fault(index);

	return index == MODEL_FAULT_MADVISE_LIES ? fault->lied : fault->hit - fault->lied;
}

static inline void model_set_fault(const struct model_call *call)
{
	struct fault *fault = model_fault(call->count);

	fault->every = (unsigned)call->align_bytes;
	if (call->count % MODEL_FAULT_COUNT == MODEL_FAULT_MADVISE_LIES)
		fault->lies = true;
	else
		fault->error = (int)call->bytes;
}

static inline void model_end_faults(void)
{
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++) {
		model_fault(i)->error = 0;
		model_fault(i)->lies = false;
	}
}

/* Faults and limits. */
static inline void model_change(struct model_run *run, const struct model_call *call)
{
	pthread_mutex_lock(&run->lock);
	if (call->kind == MODEL_FAULT) {
		model_set_fault(call);
	} else if (call->kind == MODEL_LIMIT && call->bytes) {
		bedrock_limit_memory(bedrock_resident() + call->bytes, 0);
	} else {
		model_end_faults();
		bedrock_limit_memory(0, 0);
	}
	pthread_mutex_unlock(&run->lock);
}

/* While nothing moves, all live blocks are counted, whatever thread caches hold beside them. */
static inline void model_stats(struct model_run *run, size_t index)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	if (!run->is_in_order)
		return;
	uint64_t live_bytes = model_live_bytes(run);

	if (stats.allocated_bytes < live_bytes)
		model_fail(run, index, "stats: %llu bytes allocated, and %llu live",
			   (unsigned long long)stats.allocated_bytes,
			   (unsigned long long)live_bytes);
}

static inline void model_on_pressure(enum bedrock_pressure pressure, size_t wanted_bytes,
				     void *argument)
{
	(void)pressure;
	(void)argument;
	bedrock_free(bedrock_malloc(wanted_bytes % 1000));
}

static inline void model_use_all(struct model_run *run, size_t index, struct stress_block *block)
{
	if (!block->start)
		return;
	model_look(run, index, block, block->bytes, "usable_size");
	block->bytes = bedrock_malloc_usable_size(block->start);
	stress_fill(block, index * 31 + 7);
}

/* A call that is about one slot. -> was it one? */
static inline bool model_call_on_slot(struct model_worker *worker, size_t index)
{
	struct model_run *run = worker->run;
	const struct model_call *call = &run->calls[index];
	struct stress_block *block = &worker->slots[call->slot % MODEL_SLOTS];

	switch (call->kind) {
	case MODEL_REALLOC:
	case MODEL_REALLOCARRAY:
		model_resize(run, index, block);
		return true;
	case MODEL_FREE:
	case MODEL_FREE_SIZED:
		model_free(run, index, block);
		return true;
	case MODEL_USABLE_SIZE:
		model_use_all(run, index, block);
		return true;
	case MODEL_CHECK:
		if (block->start)
			model_look(run, index, block, block->bytes, "check");
		return true;
	case MODEL_HAND_OVER:
		model_hand_over(run, call, block);
		return true;
	default:
		if (call->kind > MODEL_PVALLOC)
			return false;
		if (block->start)
			model_free(run, index, block);
		model_allocate(run, index, block);
		return true;
	}
}

static inline void model_call(struct model_worker *worker, size_t index)
{
	const struct model_call *call = &worker->run->calls[index];

	if (model_call_on_slot(worker, index))
		return;
	switch (call->kind) {
	case MODEL_STATS:
		model_stats(worker->run, index);
		break;
	case MODEL_CALLBACK:
		if (bedrock_off_pressure(model_on_pressure, worker))
			bedrock_on_pressure(model_on_pressure, worker);
		break;
	case MODEL_TRIM:
		bedrock_malloc_trim(0);
		break;
	case MODEL_PURGE:
		bedrock_purge();
		break;
	case MODEL_FORK:
		model_fork(worker, index);
		break;
	case MODEL_THREAD_END:
		break;
	default:
		model_change(worker->run, call);
	}
}

static void *model_main(void *argument);

/* Begin or go on with the calls of a worker in a new thread. */
static inline void model_start(struct model_worker *worker)
{
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, model_main, worker);

	if (rc)
		model_fail(worker->run, worker->at, "the test has no thread: %d", rc);
	worker->thread = thread;
}

/* In the written order, wait until all calls before this one are done. */
static inline void model_wait(struct model_run *run, size_t index)
{
	if (!run->is_in_order)
		return;
	pthread_mutex_lock(&run->lock);
	while (run->turn != index)
		pthread_cond_wait(&run->turned, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static inline void model_done(struct model_run *run, size_t index)
{
	if (!run->is_in_order)
		return;
	pthread_mutex_lock(&run->lock);
	run->turn = index + 1;
	bool is_other =
		run->turn < run->count && run->calls[run->turn].thread != run->calls[index].thread;

	if (is_other)
		pthread_cond_broadcast(&run->turned);
	pthread_mutex_unlock(&run->lock);
}

/* The last thread of a worker says so; one that ends early leaves the rest to the next. */
static void *model_main(void *argument)
{
	struct model_worker *worker = argument;
	struct model_run *run = worker->run;

	if (worker->has_before)
		pthread_join(worker->before, NULL);
	while (worker->at < run->count) {
		size_t index = worker->at++;

		if (run->calls[index].thread != worker->index)
			continue;
		model_wait(run, index);
		model_call(worker, index);
		model_done(run, index);
		if (run->calls[index].kind == MODEL_THREAD_END) {
			worker->before = pthread_self();
			worker->has_before = true;
			model_start(worker);
			return NULL;
		}
	}
	pthread_mutex_lock(&run->lock);
	run->ended++;
	pthread_cond_broadcast(&run->turned);
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

static inline void model_free_all(struct model_run *run)
{
	const size_t index = run->count - 1;

	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		for (unsigned i = 0; i < MODEL_SLOTS; i++) {
			if (run->workers[t].slots[i].start)
				model_free(run, index, &run->workers[t].slots[i]);
		}
	}
	for (unsigned i = 0; i < MODEL_EXCHANGES; i++) {
		if (run->exchanges[i].start)
			model_free(run, index, &run->exchanges[i]);
	}
}

/*
 * Nor may anything be charged for mappings of huge blocks. The background thread may be just about
 * to unmap one; what munmap has refused too often is lost, and owes for ever.
 */
static inline void model_check_charges(struct model_run *run, size_t index)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const struct bedrock_space *space = &bedrock_heap.space;
	uint64_t left_bytes = 1;

	for (int i = 0; i < 5000 && left_bytes; i++) {
		bedrock_purge();
		left_bytes = bedrock_load_relaxed(&bedrock_heap.huge.charged_bytes);
		if (bedrock_load_relaxed(&space->lost_bytes) == 0)
			left_bytes += bedrock_load_relaxed(&space->owed_bytes);
		if (left_bytes)
			nanosleep(&pause, NULL);
	}
	if (left_bytes)
		model_fail(run, index, "%llu bytes of huge blocks are left charged",
			   (unsigned long long)left_bytes);
}

/* Once everything is freed and nothing refuses any more, nothing may be left. */
static inline void model_check_end(struct model_run *run)
{
	static const struct model_call end = { .kind = MODEL_FAULTS_END };
	const size_t index = run->count - 1;
	struct bedrock_stats stats;

	model_change(run, &end);
	model_free_all(run);
	model_check_charges(run, index);
	bedrock_stats_read(&stats);
	if (stats.allocated_bytes)
		model_fail(run, index, "%llu bytes are left allocated",
			   (unsigned long long)stats.allocated_bytes);
	if (stats.mapped_bytes > MODEL_MAPPED_MAX + stats.arena_count * MODEL_ARENA_BYTES)
		model_fail(run, index, "%llu bytes are left mapped",
			   (unsigned long long)stats.mapped_bytes);
}

/* Carry out the sequence in this process, which must not have used the allocator much. */
static inline void model_carry_out(struct model_run *run)
{
	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->turned, NULL);
	fault_install();
	moves_install();
	pthread_mutex_lock(&run->lock);
	for (unsigned t = 0; t < MODEL_THREADS; t++) {
		run->workers[t].run = run;
		run->workers[t].index = t;
		model_start(&run->workers[t]);
	}
	while (run->ended < MODEL_THREADS)
		pthread_cond_wait(&run->turned, &run->lock);
	pthread_mutex_unlock(&run->lock);
	for (unsigned t = 0; t < MODEL_THREADS; t++)
		pthread_join(run->workers[t].thread, NULL);
	if (run->count > 0)
		model_check_end(run);
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++)
		run->outcome->fired[i] = model_fired(i);
}

#endif
