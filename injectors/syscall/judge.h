/* SPDX-License-Identifier: MIT */
/*
 * One call against all rules: what both deciders (trap handler and supervisor) have in common.
 * Implemented in decide.c: no allocation, no lock, no libc. It counts in the thread's slot, whose
 * one writer the caller must be; it knows nothing of how the answer is given.
 */
#ifndef HQ_INJECTORS_SYSCALL_JUDGE_H
#define HQ_INJECTORS_SYSCALL_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/contract.h"
#include "injectors/syscall/plane.h"

/* A call that was diverted, and what its judge may have to know. */
struct hq_judge_call {
	enum hq_call call;
	const uint64_t *args;   /* six */
	uint64_t now_ns;        /* CLOCK_MONOTONIC; only read where a rule has a window */
	uint64_t current_break; /* only read for brk; UINT64_MAX: unknown, brk is then never hit */
	bool (*splits)(uint64_t address, uint64_t length); /* see hq_contract_met */
};

/* The rule that acts on the call, if any. */
struct hq_judgement {
	const struct hq_rule *rule; /* NULL: let the call through */
	const struct hq_contract_row *row;
	uint64_t n; /* the n-th matching call of the thread */
	uint32_t rule_index;
};

/*
 * Counts the call for every rule it matches. The first rule that fires and may (gate, window,
 * contract) acts; it is counted as fired and returned.
 */
struct hq_judgement hq_judge(const struct hq_plane *plane, struct hq_plane_thread *thread,
			     const struct hq_judge_call *call);

/* Writes the fault into the thread's ring, once it is known what the caller is told. */
void hq_judge_record(struct hq_plane_thread *thread, const struct hq_judgement *judgement,
		     const struct hq_judge_call *call, uint64_t time_ns, int64_t result);

/* True if some rule looks at the clock for every call. */
bool hq_judge_needs_clock(const struct hq_plane *plane);

/* The length that a SHRINK rule leaves of `length`, in whole pages. */
uint64_t hq_judge_shrunk(const struct hq_rule *rule, uint64_t length, uint64_t page_bytes);

#endif
