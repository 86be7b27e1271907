/* SPDX-License-Identifier: MIT */
/*
 * How often an allocator repeats a system call that was refused, within one call of its own. The
 * thread reads what the plane has written of it: the faults of a call are those between its
 * beginning and its end. Under the trap it is the thread itself that writes them.
 */
#ifndef HQ_STRESS_HOST_RETRY_H
#define HQ_STRESS_HOST_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/syscall/plane.h"

/* Fewer repetitions are never told of. */
#define HQ_RETRY_FEW 8u

/* A call that was slower, and repeated, is told of however often it repeated. */
#define HQ_RETRY_LONG_NS 500000000u

struct hq_retry {
	const struct hq_plane *plane; /* NULL: no rules */
	const struct hq_plane_thread *slot;
	uint32_t slots_seen; /* when it was looked for last */
	uint32_t reserved;
	uint64_t before;     /* faults of the thread before the call */
	uint64_t most;       /* repetitions told of so far, */
	uint64_t longest_ns; /* and the longest call */
};

/* What a call did worst. */
struct hq_retry_seen {
	uint64_t repeats; /* how often the same call was refused; at least */
	uint32_t call;    /* enum hq_call */
};

void hq_retry_init(struct hq_retry *retry, const struct hq_plane *plane);
/* Another thread makes the calls from now on. */
void hq_retry_forget(struct hq_retry *retry);
void hq_retry_begin(struct hq_retry *retry);
/* True if the call that took so long is worse than any before. */
bool hq_retry_end(struct hq_retry *retry, uint64_t took_ns, struct hq_retry_seen *seen);

#endif
