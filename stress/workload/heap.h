/* SPDX-License-Identifier: MIT */
/*
 * How workloads reach the allocator under test: every call is timed, checked and entered into the
 * shadow of live memory. Implemented by the host (stress/host/heap*.c), one struct hq_heap a
 * thread.
 *
 * Order of recording: a free is entered before the call, an allocation after it returns, so the
 * shadow is always a subset of what is really live, and an overlap found in it is real.
 */
#ifndef HQ_STRESS_WORKLOAD_HEAP_H
#define HQ_STRESS_WORKLOAD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/wire/wire.h"

struct hq_heap;

/*
 * A stamped block. The struct itself lives in memory of the host or inside another checked block;
 * the stamp fills all of [address, address + size) and derives from (seed, id).
 */
struct hq_block {
	void *address; /* NULL: no block */
	uint64_t size;
	uint64_t id;
};

/*
 * Stamped blocks. The allocating calls return false when the allocator said NULL (block->address is
 * NULL then). hq_block_free verifies the whole stamp first. hq_block_resize verifies the common
 * prefix against the old stamp and stamps anew; on failure the old block stays, verified. Any
 * thread may free a block that another one made.
 */
bool hq_block_alloc(struct hq_heap *heap, struct hq_block *block, uint64_t size);
bool hq_block_calloc(struct hq_heap *heap, struct hq_block *block, uint64_t size);
bool hq_block_aligned(struct hq_heap *heap, struct hq_block *block, uint64_t alignment,
		      uint64_t size);
bool hq_block_resize(struct hq_heap *heap, struct hq_block *block, uint64_t size);
void hq_block_verify(struct hq_heap *heap, const struct hq_block *block);
void hq_block_free(struct hq_heap *heap, struct hq_block *block);

/*
 * Only the first so many bytes of each block are stamped and looked at from now on; all heaps that
 * meet the same blocks must agree. At first: all bytes.
 */
void hq_heap_touch(struct hq_heap *heap, uint64_t bytes);

/*
 * Unstamped memory, for structures whose content the workload checks itself: alignment, overlap,
 * errno and latency are still checked. `size` at free must be the size asked for.
 */
void *hq_heap_alloc(struct hq_heap *heap, uint64_t size);
void *hq_heap_calloc(struct hq_heap *heap, uint64_t count, uint64_t size);
void hq_heap_free(struct hq_heap *heap, void *address, uint64_t size);
/*
 * realloc. NULL: it failed and the old block is still there, and in the shadow. Says nothing about
 * content; that is for the caller.
 */
void *hq_heap_resize(struct hq_heap *heap, void *address, uint64_t old_size, uint64_t size);

/* A child of fork: what it is to look at and to do. */
struct hq_fork {
	const struct hq_block *blocks; /* that nobody changes meanwhile; it frees every second */
	uint32_t block_count;
	uint32_t allocations; /* blocks that it takes and frees, up to 64 */
	uint64_t patience_ns; /* without a step for so long it has hung, and is killed */
};

/*
 * Forks, and waits until the child has ended. Only on the first thread of the process: see
 * workload.h. True when nothing was wrong; trouble becomes an event of kind FORK. False without an
 * event: there was no child.
 */
bool hq_heap_fork(struct hq_heap *heap, const struct hq_fork *fork_wanted);

/*
 * What lies at the borders: heap_edge.c. Refusals that are right are no NULLs of the run, and the
 * memory of a request that is too large is never touched.
 */
struct hq_ask {
	enum hq_asked_call call;
	uint64_t count; /* for calloc and reallocarray */
	uint64_t size;
	uint64_t alignment; /* for posix_memalign and aligned_alloc */
};

/* What no allocator can serve: NULL and ENOMEM are the only answer. */
void hq_heap_impossible(struct hq_heap *heap, const struct hq_ask *ask);
/* What hardly any can: NULL, or all of it. Given back at once. */
void hq_heap_vast(struct hq_heap *heap, const struct hq_ask *ask);
/* posix_memalign must say EINVAL, and leave the pointer alone or set it to NULL. */
void hq_heap_bad_alignment(struct hq_heap *heap, uint64_t alignment, uint64_t size);
/* realloc to a size that cannot be: NULL, and the block stays as it is. */
void hq_block_grow_beyond(struct hq_heap *heap, struct hq_block *block, uint64_t size);

/*
 * Nothing at all: malloc(0) and its like. *address is NULL or a block of size 0, to be given to
 * hq_heap_free. HQ_ZERO_TAKEN: it lies in a live block. HQ_ZERO_REFUSED: there was no memory for
 * the block that might have been the answer.
 */
enum hq_zero_answer hq_heap_zero(struct hq_heap *heap, enum hq_asked_call call, void **address);
/* realloc of a block to size 0. NULL: it was freed. Else as above. */
enum hq_zero_answer hq_block_to_zero(struct hq_heap *heap, struct hq_block *block, void **address);
/* Another answer than the rule: becomes an event of kind ZERO. */
void hq_heap_zero_broken(struct hq_heap *heap, enum hq_asked_call call, const void *address,
			 enum hq_zero_answer rule, enum hq_zero_answer got);

/* Makes the block as large as malloc_usable_size says, stamped, unless another one lies there. */
void hq_block_use_all(struct hq_heap *heap, struct hq_block *block);

/* Looks how much of the block is beyond what was asked for, for the metric heap.waste. */
void hq_heap_weigh(struct hq_heap *heap, const struct hq_block *block);

/*
 * Catches SIGUSR1 in this process, and has the handler take and free a block in the threads that
 * say so, while they do. What it sees is counted apart from everything else. 0 or -errno.
 */
int hq_host_catch_signals(void);
void hq_heap_signals(struct hq_heap *heap, bool use);
uint64_t hq_heap_signals_taken(const struct hq_heap *heap);

/* Brackets one whole operation (a batch, a row scan): its latency, and progress of the thread. */
void hq_heap_op_begin(struct hq_heap *heap);
void hq_heap_op_end(struct hq_heap *heap);
/* The same for an operation that should have begun so long ago: its latency counts from then. */
void hq_heap_op_begin_late(struct hq_heap *heap, uint64_t late_ns);

/*
 * Brackets one part of the work, by its index in the workload's table: wall and CPU time and page
 * faults of the calling thread are added to it. Parts do not nest.
 */
void hq_heap_part_begin(struct hq_heap *heap);
void hq_heap_part_end(struct hq_heap *heap, uint32_t part);

/* Progress without a latency: for timed waits and clean-up, which must not look like a hang. */
void hq_heap_alive(struct hq_heap *heap);

/*
 * What the same work has cost at a step of a ladder: beside `scale` of something, such as free
 * spans. Of several threads the cheapest counts, since what else runs on the machine only adds.
 */
void hq_heap_cost(struct hq_heap *heap, uint32_t step, uint64_t scale, uint64_t cpu_ns);

/* One operation was given up because of a NULL. */
void hq_heap_missed(struct hq_heap *heap);

/*
 * Runs `body` in a thread that lives for that alone, with the heap of the caller, who waits for its
 * end. False: no thread could be made, and nothing was done.
 */
bool hq_heap_live(struct hq_heap *heap, void (*body)(void *argument), void *argument);

/* A round that took all it could get got so much. */
void hq_heap_had(struct hq_heap *heap, uint64_t bytes);

/* How a limit of the workload's own was kept, one word of it. */
void hq_heap_limit(struct hq_heap *heap, enum hq_limit_word word, uint64_t value);

/* The workload's own data are wrong: becomes an event of kind DATA. */
void hq_heap_wrong_data(struct hq_heap *heap, const void *address, uint64_t expected, uint64_t got);

/*
 * Zeroed memory of the host's own, not from the allocator under test and not subject to faults;
 * shared mappings, so that they count neither as anonymous resident memory nor against RLIMIT_DATA.
 * NULL on failure. Never given back before exit.
 */
void *hq_host_map(size_t size);

/* A file of the workload's own did not take what was written to it: no verdict of allocators. */
void hq_host_unwritten(int error);

/* Sleeps without a call that a rule could name. Returns early when the controller ends the run. */
void hq_host_sleep_ns(uint64_t ns);

/* True once the controller wants the run to end early; long loops ask it. */
bool hq_host_stopping(void);

/* CPU time of this thread. */
uint64_t hq_host_cpu_ns(void);

/* CLOCK_MONOTONIC, and nanoseconds since the gate opened. */
uint64_t hq_host_now_ns(void);
uint64_t hq_host_since_gate_ns(void);

#endif
