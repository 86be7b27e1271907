/* SPDX-License-Identifier: MIT */
/*
 * The work of a workload on whatever malloc there is, and hardly anything else, for benchmarks:
 * plain WORKLOAD [OPTION=VALUE...]. Calls are neither timed nor checked nor entered anywhere; a
 * block is written to once, as its owner would, and read only by a workload that does so itself.
 * What the same work costs beside this in a run is the driver's.
 *
 * Prints the CPU time as the programs of allocator/bench do. Only workloads of threads that insert,
 * scan and free are of interest: what asks for the impossible, forks or catches signals is refused.
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "injectors/clock.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

#define THREADS_MAX 64u
#define SEED        42u

/* One thread's way to the allocator, which is none. */
struct hq_heap {
	struct hq_work *work;
	const struct hq_workload *workload;
	pthread_t thread;
	uint64_t touch_bytes; /* of each block */
	uint32_t index;
};

static struct {
	pthread_barrier_t all;
	uint64_t opened_ns;
	_Atomic uint64_t missed;
} plain;

static _Noreturn void refuse(const char *what)
{
	fprintf(stderr, "plain: %s\n", what);
	exit(2);
}

/* ---- blocks ---- */

/* Writes what is to be touched of a block from `offset` on. */
static void write_to(const struct hq_heap *heap, void *address, uint64_t offset, uint64_t size)
{
	const uint64_t end = size < heap->touch_bytes ? size : heap->touch_bytes;

	if (end > offset)
		memset((char *)address + offset, 1, end - offset);
}

static bool fill(const struct hq_heap *heap, struct hq_block *block, void *address, uint64_t size)
{
	*block = (struct hq_block){ .address = address, .size = address ? size : 0 };
	if (address)
		write_to(heap, address, 0, size);
	return address != NULL;
}

bool hq_block_alloc(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	return fill(heap, block, malloc(size), size);
}

bool hq_block_calloc(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	return fill(heap, block, calloc(1, size), size);
}

bool hq_block_aligned(struct hq_heap *heap, struct hq_block *block, uint64_t alignment,
		      uint64_t size)
{
	void *address = NULL;

	if (posix_memalign(&address, alignment < sizeof(void *) ? sizeof(void *) : alignment, size))
		address = NULL;
	return fill(heap, block, address, size);
}

bool hq_block_resize(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	char *const moved = realloc(block->address, size);

	if (!moved)
		return false;
	write_to(heap, moved, block->size, size);
	*block = (struct hq_block){ .address = moved, .size = size };
	return true;
}

void hq_block_verify(struct hq_heap *heap, const struct hq_block *block)
{
	(void)heap;
	(void)block;
}

void hq_block_free(struct hq_heap *heap, struct hq_block *block)
{
	(void)heap;
	free(block->address);
	block->address = NULL;
}

void hq_block_use_all(struct hq_heap *heap, struct hq_block *block)
{
	fill(heap, block, block->address, malloc_usable_size(block->address));
}

void hq_heap_touch(struct hq_heap *heap, uint64_t bytes)
{
	heap->touch_bytes = bytes;
}

void *hq_heap_alloc(struct hq_heap *heap, uint64_t size)
{
	(void)heap;
	return malloc(size);
}

void *hq_heap_calloc(struct hq_heap *heap, uint64_t count, uint64_t size)
{
	(void)heap;
	return calloc(count, size);
}

void hq_heap_free(struct hq_heap *heap, void *address, uint64_t size)
{
	(void)heap;
	(void)size;
	free(address);
}

void *hq_heap_resize(struct hq_heap *heap, void *address, uint64_t old_size, uint64_t size)
{
	(void)heap;
	(void)old_size;
	return realloc(address, size);
}

/* ---- what is not noted ---- */

void hq_heap_op_begin(struct hq_heap *heap)
{
	(void)heap;
}

void hq_heap_op_begin_late(struct hq_heap *heap, uint64_t late_ns)
{
	(void)heap;
	(void)late_ns;
}

void hq_heap_op_end(struct hq_heap *heap)
{
	(void)heap;
}

void hq_heap_part_begin(struct hq_heap *heap)
{
	(void)heap;
}

void hq_heap_part_end(struct hq_heap *heap, uint32_t part)
{
	(void)heap;
	(void)part;
}

void hq_heap_alive(struct hq_heap *heap)
{
	(void)heap;
}

void hq_heap_weigh(struct hq_heap *heap, const struct hq_block *block)
{
	(void)heap;
	(void)block;
}

void hq_heap_cost(struct hq_heap *heap, uint32_t step, uint64_t scale, uint64_t cpu_ns)
{
	(void)heap;
	(void)step;
	(void)scale;
	(void)cpu_ns;
}

void hq_heap_missed(struct hq_heap *heap)
{
	(void)heap;
	atomic_fetch_add(&plain.missed, 1);
}

void hq_heap_limit(struct hq_heap *heap, enum hq_limit_word word, uint64_t value)
{
	(void)heap;
	(void)word;
	(void)value;
}

void hq_heap_had(struct hq_heap *heap, uint64_t bytes)
{
	(void)heap;
	(void)bytes;
}

void hq_heap_wrong_data(struct hq_heap *heap, const void *address, uint64_t expected, uint64_t got)
{
	(void)heap;
	(void)address;
	(void)expected;
	(void)got;
	refuse("the workload's own data are wrong");
}

bool hq_heap_live(struct hq_heap *heap, void (*body)(void *argument), void *argument)
{
	(void)heap;
	body(argument);
	return true;
}

/* ---- what is refused ---- */

bool hq_heap_fork(struct hq_heap *heap, const struct hq_fork *fork_wanted)
{
	(void)heap;
	(void)fork_wanted;
	refuse("this workload forks");
}

void hq_heap_impossible(struct hq_heap *heap, const struct hq_ask *ask)
{
	(void)heap;
	(void)ask;
	refuse("this workload asks for the impossible");
}

void hq_heap_vast(struct hq_heap *heap, const struct hq_ask *ask)
{
	hq_heap_impossible(heap, ask);
}

void hq_heap_bad_alignment(struct hq_heap *heap, uint64_t alignment, uint64_t size)
{
	(void)alignment;
	(void)size;
	hq_heap_impossible(heap, NULL);
}

void hq_block_grow_beyond(struct hq_heap *heap, struct hq_block *block, uint64_t size)
{
	(void)block;
	(void)size;
	hq_heap_impossible(heap, NULL);
}

enum hq_zero_answer hq_heap_zero(struct hq_heap *heap, enum hq_asked_call call, void **address)
{
	(void)call;
	(void)address;
	hq_heap_impossible(heap, NULL);
	return HQ_ZERO_NULL;
}

enum hq_zero_answer hq_block_to_zero(struct hq_heap *heap, struct hq_block *block, void **address)
{
	(void)block;
	(void)address;
	hq_heap_impossible(heap, NULL);
	return HQ_ZERO_NULL;
}

void hq_heap_zero_broken(struct hq_heap *heap, enum hq_asked_call call, const void *address,
			 enum hq_zero_answer rule, enum hq_zero_answer got)
{
	(void)call;
	(void)address;
	(void)rule;
	(void)got;
	hq_heap_impossible(heap, NULL);
}

int hq_host_catch_signals(void)
{
	refuse("this workload catches signals");
}

void hq_heap_signals(struct hq_heap *heap, bool use)
{
	(void)use;
	hq_heap_impossible(heap, NULL);
}

uint64_t hq_heap_signals_taken(const struct hq_heap *heap)
{
	(void)heap;
	return 0;
}

/* ---- the host ---- */

void *hq_host_map(size_t size)
{
	void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void hq_host_unwritten(int error)
{
	fprintf(stderr, "a file did not take what was written: %s\n", strerror(error));
}

void hq_host_sleep_ns(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000),
				       .tv_nsec = (long)(ns % 1000000000) };

	nanosleep(&time, NULL);
}

bool hq_host_stopping(void)
{
	return false;
}

uint64_t hq_host_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t hq_host_now_ns(void)
{
	return hq_now_ns();
}

uint64_t hq_host_since_gate_ns(void)
{
	return hq_now_ns() - plain.opened_ns;
}

/* ---- the run ---- */

static void *run_thread(void *argument)
{
	struct hq_heap *const heap = argument;

	pthread_barrier_wait(&plain.all);
	heap->workload->run(heap->work, heap->index, heap);
	pthread_barrier_wait(&plain.all);
	if (heap->workload->release)
		heap->workload->release(heap->work, heap->index, heap);
	return NULL;
}

static uint64_t cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec;
}

static void run_all(const struct hq_workload *workload, struct hq_work *work)
{
	static struct hq_heap heaps[THREADS_MAX];

	if (work->thread_count == 0 || work->thread_count > THREADS_MAX)
		refuse("between 1 and 64 threads");
	if (workload->prepare && workload->prepare(work))
		refuse("cannot prepare");
	pthread_barrier_init(&plain.all, NULL, work->thread_count);
	plain.opened_ns = hq_now_ns();
	for (uint32_t i = 0; i < work->thread_count; i++) {
		heaps[i] = (struct hq_heap){
			.work = work, .workload = workload, .touch_bytes = UINT64_MAX, .index = i
		};
		if (pthread_create(&heaps[i].thread, NULL, run_thread, &heaps[i]))
			refuse("cannot make a thread");
	}
	for (uint32_t i = 0; i < work->thread_count; i++)
		pthread_join(heaps[i].thread, NULL);
}

int main(int argc, char **argv)
{
	const struct hq_workload *const workload = argc > 1 ? hq_workload_find(argv[1]) : NULL;
	struct hq_work work = { .seed = SEED };
	struct hq_error error;

	if (!workload)
		refuse("which workload? plain WORKLOAD [OPTION=VALUE...]");
	void *const values = hq_host_map(workload->options_size + 1);

	if (!values || hq_options_default(workload->options, values, &error))
		refuse("no options");
	for (int i = 2; i < argc; i++) {
		if (hq_options_parse(workload->options, values, argv[i], &error))
			refuse(error.text);
	}
	work.options = values;
	work.thread_count = workload->threads ? workload->threads(values) : 1;
	run_all(workload, &work);
	printf("cpu_us\t%" PRIu64 "\tmissed\t%" PRIu64 "\n", cpu_us(),
	       (uint64_t)atomic_load(&plain.missed));
	return 0;
}
