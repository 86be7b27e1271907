/* SPDX-License-Identifier: MIT */
/*
 * How much the heap guard looks at: in words for people, in numbers for plan and wire.
 */
#ifndef HQ_STRESS_PLAN_GUARD_H
#define HQ_STRESS_PLAN_GUARD_H

#include <stddef.h>

#include "stress/plan/plan.h"

/* "full", "canary" or "1/N". 0, or -EINVAL with a sentence. */
int hq_guard_parse(const char *text, struct hq_plan *plan, struct hq_error *error);

/* The same in reverse, "" for no guard; returns `text`. */
const char *hq_guard_print(const struct hq_plan *plan, char *text, size_t size);

#endif
