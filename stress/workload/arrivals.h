/* SPDX-License-Identifier: MIT */
/*
 * When operations begin. In a closed loop each one follows the one before: while something stalls
 * nothing is asked for, and one slow operation is all that shows. In an open loop operations are
 * due at times that are drawn beforehand, as requests of clients who know nothing of each other;
 * the latency of each counts from then, so a stall is seen by all who had to wait for its end.
 *
 * The times come from (seed, thread) alone and from a stream of their own: how often something is
 * asked for never changes what is.
 */
#ifndef HQ_STRESS_WORKLOAD_ARRIVALS_H
#define HQ_STRESS_WORKLOAD_ARRIVALS_H

#include <stdint.h>

#include "injectors/option.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

enum hq_arrivals_kind { HQ_ARRIVALS_CLOSED, HQ_ARRIVALS_CONSTANT, HQ_ARRIVALS_POISSON };

struct hq_arrivals_options {
	uint32_t kind; /* enum hq_arrivals_kind */
	uint32_t reserved;
	double rate;
};

extern const char *const hq_arrivals_kinds[];

/* The rows that a workload's table of options has for them. */
#define HQ_ARRIVALS_OPTIONS(struct_, field_, rate_, rate_help_)                                    \
	{ "arrivals",                                                                              \
	  HQ_OPTION_ENUM,                                                                          \
	  offsetof(struct_, field_.kind),                                                          \
	  "closed",                                                                                \
	  0,                                                                                       \
	  0,                                                                                       \
	  hq_arrivals_kinds,                                                                       \
	  "closed: each after the one before; constant or poisson: at 'rate', and latency counts " \
	  "from when it was due" },                                                                \
	{                                                                                          \
		"rate", HQ_OPTION_RATE, offsetof(struct_, field_.rate), rate_, 0, 0, NULL,         \
			rate_help_                                                                 \
	}

int hq_arrivals_validate(const struct hq_arrivals_options *options, struct hq_error *error);

/* One thread's. */
struct hq_arrivals {
	const struct hq_arrivals_options *options;
	struct hq_random random;
	uint64_t due_ns; /* of the latest one; 0: there was none */
};

void hq_arrivals_start(struct hq_arrivals *arrivals, const struct hq_arrivals_options *options,
		       uint64_t seed, uint32_t thread);

/*
 * Sleeps until the next operation is due, not at all when it is late or the run ends, and says when
 * it was due: now, in a closed loop.
 */
uint64_t hq_arrivals_await(struct hq_arrivals *arrivals, struct hq_heap *heap);

/* Begins an operation that was due then; whoever does it, on any thread. */
void hq_arrivals_begin_due(struct hq_heap *heap, uint64_t due_ns);

/* Both at once: what hq_heap_op_begin is in a loop that is always closed. */
void hq_arrivals_begin(struct hq_arrivals *arrivals, struct hq_heap *heap);

#endif
