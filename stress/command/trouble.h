/* SPDX-License-Identifier: MIT */
/*
 * Runs that are made for their figures, not for a verdict: which verdicts spoil the figures, and
 * what there is to say of them.
 */
#ifndef HQ_STRESS_COMMAND_TROUBLE_H
#define HQ_STRESS_COMMAND_TROUBLE_H

#include <stdbool.h>

#include "stress/report/report.h"

/*
 * Something broke, or nothing ran. A known failure is no news, and what is inconclusive has figures
 * all the same.
 */
bool hq_is_trouble(enum hq_verdict verdict);

/* Why the result has its verdict: its reason, or the first finding that led to it; "" if none. */
const char *hq_trouble_reason(const struct hq_result *result);

#endif
