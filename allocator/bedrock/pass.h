/* SPDX-License-Identifier: MIT */
/*
 * One pass over the chunks of an arena that gives due pages back to the kernel.
 *
 * Decay decides when a pass is made and what it is allowed; the pass knows how pages are lent
 * out, advised and released, when a chunk is unmapped instead, and when to stop asking.
 */
#ifndef BEDROCK_PASS_H
#define BEDROCK_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/arena.h"

struct bedrock_heap;

/* A pass is given up after this many refusals in a row. */
#define BEDROCK_PASS_REFUSALS_MAX 4u
/* With a budget, this many calls are made, and one for each of up to 31 ranges lent out already. */
#define BEDROCK_PASS_CALLS_MAX 64u
/* And, unless the pass is forced, none any more after so long, which is a step of the coarse clock.
 */
#define BEDROCK_PASS_STALL_NS UINT64_C(4000000)

struct bedrock_pass {
	struct bedrock_heap *heap;
	struct bedrock_arena *arena;
	enum bedrock_rest from;
	/* BEDROCK_REST_MUZZY, or BEDROCK_REST_COUNT for clean. */
	enum bedrock_rest to;
	bool is_forced;
	/* Age does not matter: forced, or the decay time is 0. */
	bool is_all_due;
	/* Between two looks at a chunk, and between two turns; see decay.h. */
	uint64_t interval_ns, turn_ns;
	uint64_t now_ns;
	/* The pass ends when it has given back this much; short of all, calls are bounded too. */
	uint64_t budget_bytes;
	uint64_t done_bytes;
	uint32_t calls;
	/* Refused calls in a row. */
	uint32_t refusals;
};

/* Go over the chunks, from where the last pass of this stage stopped. The decay lock is held. */
void bedrock_pass_chunks(struct bedrock_pass *pass, struct bedrock_decay_stage *stage);

/* How long to wait after the n-th failure in a row, but no less than `least_ns`. */
uint64_t bedrock_pass_backoff_ns(uint64_t least_ns, uint32_t failures);

#endif
