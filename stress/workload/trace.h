/* SPDX-License-Identifier: MIT */
/*
 * The workload trace from the inside: a trace made ready to be replayed.
 *
 *   script  contains  the steps of each driver thread, in the order in which it makes them
 *   step              a call, on the block in a slot
 *   slot              holds one block at a time; taken again only by the thread that emptied it, so
 *                     that nobody has to wait for it to become empty
 *   turn              counts how often a slot's block went from one thread to another: who gets it
 *                     waits until the turn is its own
 *
 * Whoever waits, waits for a step that comes earlier in the order of the trace, and each thread
 * makes its steps in that order. So among all that are not made the earliest one never waits, and
 * no trace, however damaged, can make threads wait for each other for ever.
 */
#ifndef HQ_STRESS_WORKLOAD_TRACE_H
#define HQ_STRESS_WORKLOAD_TRACE_H

#include "stress/trace/trace.h"
#include "stress/workload/heap.h"

#define HQ_TRACE_STEPS_MAX 100000000u /* more would take more memory than they are worth */

struct hq_trace_step {
	uint64_t tick;
	uint64_t size : 48;
	uint64_t kind : 3; /* enum hq_trace_kind */
	uint64_t shift : 6;
	uint64_t waits : 1;    /* until the slot's turn is `turn` */
	uint64_t hands_on : 1; /* the slot's turn becomes `turn` + 1 */
	uint32_t slot;
	uint32_t turn;
};

struct hq_trace_steps {
	struct hq_trace_step *steps;
	uint64_t count;
};

struct hq_trace_script {
	struct hq_trace_info info;
	uint32_t threads;
	uint32_t slots;
	struct hq_trace_steps thread[64];
};

/*
 * Totals of the trace at `file`: a path, or the name of one that comes with heapquake. 0, or
 * -EINVAL with a sentence.
 */
int hq_trace_script_info(const char *file, struct hq_trace_info *info, struct hq_error *error);

/* Reads all of it, and keeps nothing. The same. */
int hq_trace_script_check(const char *file, struct hq_error *error);

/* For `threads` driver threads, in memory of the host's own. 0 or -errno. */
int hq_trace_script_load(const char *file, uint32_t threads, struct hq_trace_script *script);

#endif
