/* SPDX-License-Identifier: MIT */
/*
 * A workload: what the threads of the host do. One file, one `const struct hq_workload`, one row in
 * stress/workload/table.c. The controller links the same table for names, options and help.
 *
 * Life, driven by the host:
 *   prepare   once, before the gate: shared state, from hq_host_map, never from the allocator
 *   run       on each thread, when the gate has opened
 *   beside    on the first thread of the process, while the threads run, with the heap of thread
 *             0, which must not use it meanwhile (NULL: nothing)
 *   release   on each thread, after all have run: frees what it still holds
 *   idle      on the first thread, now and then while the process idles (NULL: complete silence)
 *
 * Each thread's operations depend on (seed, thread index) alone: it draws from its own stream, and
 * what another thread hands over never changes its choices. A NULL from the allocator is no error:
 * the operation is given up, counted (hq_heap_missed) and the thread goes on.
 */
#ifndef HQ_STRESS_WORKLOAD_WORKLOAD_H
#define HQ_STRESS_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/option.h"

struct hq_heap; /* one thread's measured and checked way to the allocator; see heap.h */

struct hq_work {
	const void *options; /* the workload's own struct */
	uint64_t seed;
	uint32_t thread_count;
	void *shared; /* the workload's own, set by prepare */
};

/* Work that is told apart in what is measured, such as a query. */
struct hq_workload_part {
	const char *name;  /* NULL ends a table */
	const char *group; /* of parts that do alike */
};

struct hq_workload {
	const char *name;
	const char *help; /* one line */
	const struct hq_option *options;
	size_t options_size;
	/* Checks options against each other; NULL: nothing to check. 0 or -EINVAL. */
	int (*validate)(const void *options, struct hq_error *error);
	uint32_t (*threads)(const void *options); /* 1..HQ_WIRE_WORKERS, 0: none at all */
	int (*prepare)(struct hq_work *work);     /* 0 or -errno */
	void (*run)(struct hq_work *work, uint32_t thread, struct hq_heap *heap);
	void (*beside)(struct hq_work *work, struct hq_heap *heap);
	void (*release)(struct hq_work *work, uint32_t thread, struct hq_heap *heap);
	void (*idle)(struct hq_work *work, struct hq_heap *heap);
	/* How often idle is called; NULL or 0: never. */
	uint64_t (*idle_period_ns)(const void *options);
	const struct hq_workload_part *parts; /* HQ_WIRE_PARTS at most; NULL: all is one */
};

/* Sorted by name, NULL-terminated. */
extern const struct hq_workload *const hq_workloads[];
const struct hq_workload *hq_workload_find(const char *name);

/* ---- streams of random numbers: one for each purpose ---- */

struct hq_random {
	uint64_t state;
};

/* A stream of its own for (seed, thread, purpose); purposes are small constants of the workload. */
struct hq_random hq_random_stream(uint64_t seed, uint32_t thread, uint32_t purpose);
uint64_t hq_random_next(struct hq_random *random);
/* 0 <= result < bound; bound >= 1. */
uint64_t hq_random_below(struct hq_random *random, uint64_t bound);
/* True with that chance. */
bool hq_random_chance(struct hq_random *random, double share);
/* A size from the distribution. */
uint64_t hq_random_size(struct hq_random *random, const struct hq_sizes *sizes);

#endif
