/* SPDX-License-Identifier: MIT */
/* The one line that reproduces a case. */
#ifndef HQ_STRESS_CONTROL_REPRO_H
#define HQ_STRESS_CONTROL_REPRO_H

#include <stddef.h>

#include "stress/plan/plan.h"

/*
 * A command for a shell, in the caller's own terms: the scenario file (or the program), the
 * allocator, the seed and what was added by hand. Returns `text`.
 */
const char *hq_repro_print(const struct hq_plan *plan, const char *program, char *text,
			   size_t size);

/*
 * Notes an option that was given by hand: "--inject" with its value joins the line above. `value`
 * is NULL for an option that takes none.
 */
void hq_repro_add(struct hq_plan *plan, const char *option, const char *value);

#endif
