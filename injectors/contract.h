/* SPDX-License-Identifier: MIT */
/*
 * Which failures each memory-management call can legally show, and what is left behind.
 *
 * A fault must be one a kernel could produce. A row says: this call may fail with this errno (or
 * lie), under this condition of the very call, for this reason. A rule that asks for anything else
 * is refused when it is parsed; a call that does not meet the condition is passed through and is
 * not eligible. The table is data and the condition test is pure, so that the target can use both.
 */
#ifndef HQ_INJECTORS_CONTRACT_H
#define HQ_INJECTORS_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/rule.h"

enum hq_contract_condition {
	HQ_CONDITION_NONE,   /* any call of this kind */
	HQ_CONDITION_SPLIT,  /* strictly inside one mapping: the map count would grow */
	HQ_CONDITION_COMMIT, /* makes private memory writable, or splits */
	HQ_CONDITION_GROW,   /* mremap to a larger length, brk upwards */
	HQ_CONDITION_ANON,   /* anonymous mapping */
};

struct hq_contract_row {
	enum hq_call call;
	enum hq_action action;
	int error;        /* for FAIL; 0 otherwise */
	uint64_t advices; /* madvise: bit set for which the row holds; 0: all */
	enum hq_contract_condition condition;
	const char *returns; /* what the caller sees: "-1 and ENOMEM", "the old break" */
	const char *leaves;  /* what is left behind */
	const char *source;  /* kernel function, manual page or measurement that says so */
};

extern const struct hq_contract_row hq_contract[];
extern const size_t hq_contract_count;

/* The row for that fault, NULL where no kernel could produce it. advice is -1 for other calls. */
const struct hq_contract_row *hq_contract_find(enum hq_call call, enum hq_action action, int error,
					       int advice);

/*
 * Does this very call meet the row's condition? `splits` answers whether the range [address,
 * +length) lies strictly inside one mapping; it is asked only where the condition needs it and may
 * be NULL (then SPLIT is never met). brk's growth is judged against `current_break`.
 */
bool hq_contract_met(const struct hq_contract_row *row, const uint64_t args[6],
		     uint64_t current_break, bool (*splits)(uint64_t address, uint64_t length));

/* The value a failing call returns in the result register: -error, or the current break for brk. */
int64_t hq_contract_result(const struct hq_contract_row *row, uint64_t current_break);

#endif
