/* SPDX-License-Identifier: MIT */
/*
 * The target's system calls about memory and locks: from single entries and exits, as the kernel
 * tells them, to counts, times and bytes by kind. Knows nothing of where they come from.
 *
 * A thread's entry may be told after the exit that belongs to it, since each processor has a list
 * of its own and a thread may move while it waits.
 */
#ifndef HQ_STRESS_OBSERVE_CALLS_H
#define HQ_STRESS_OBSERVE_CALLS_H

#include <stdint.h>

#include "stress/observe/observation.h"

#define HQ_CALLS_THREADS 4096u /* a power of 2 */
#define HQ_CALLS_BREAKS  64u

/* One end of a call. */
struct hq_call_end {
	uint32_t process, thread;
	uint64_t time_ns; /* of one clock for all */
	long number;      /* of the system call */
	uint64_t args[6]; /* of an entry */
	int64_t result;   /* of an exit */
};

/* What is open: zeroed at the start. */
struct hq_calls {
	struct hq_calls_thread {
		uint32_t thread; /* 0: free */
		bool has_entry, has_exit;
		struct hq_call_end entry, exit;
	} threads[HQ_CALLS_THREADS];
	struct hq_calls_break {
		uint32_t process;
		uint64_t address;
	} breaks[HQ_CALLS_BREAKS]; /* of each process: where its break was last */
	uint64_t page_bytes;
};

void hq_calls_enter(struct hq_calls *calls, const struct hq_call_end *entry,
		    struct hq_calls_seen *seen);
void hq_calls_exit(struct hq_calls *calls, const struct hq_call_end *exit,
		   struct hq_calls_seen *seen);

/* "madvise"; and the system call's number on this machine. */
const char *hq_traced_name(enum hq_traced kind);
long hq_traced_number(enum hq_traced kind);

#endif
