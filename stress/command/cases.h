/* SPDX-License-Identifier: MIT */
/*
 * The cases that an invocation means: scenarios times allocators times seeds, less what -k and
 * --tags leave out. Everything is read and checked before anything runs.
 */
#ifndef HQ_STRESS_COMMAND_CASES_H
#define HQ_STRESS_COMMAND_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "stress/plan/plan.h"
#include "stress/command/program_options.h"

struct hq_cases {
	struct hq_plan *plans;
	size_t count;
	uint64_t seed; /* the first one, as reports print it */
};

/*
 * Makes them; errors go to stderr. 0, or the exit status: usage, or nothing matched. Clear the
 * cases in either case.
 */
int hq_cases_make(const struct hq_invocation *invocation, struct hq_cases *cases);
void hq_cases_clear(struct hq_cases *cases);

/* "refuse-free[jemalloc-42]", what -k looks at. Returns `text`. */
const char *hq_case_name(const struct hq_plan *plan, char *text, size_t size);

#endif
