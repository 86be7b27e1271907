/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a case that go into its result. Private to stress/control.
 */
#ifndef HQ_STRESS_CONTROL_CASE_METRICS_H
#define HQ_STRESS_CONTROL_CASE_METRICS_H

#include <stdbool.h>

#include "stress/plan/plan.h"
#include "stress/report/report.h"

/*
 * What a reader wants to see of every run, whatever the scenario asks about, and what the injectors
 * achieved; with `all` every metric there is. Also the totals of the rules.
 */
void hq_case_fill_metrics(const struct hq_plan *plan, const struct hq_observations *seen, bool all,
			  struct hq_result *result);

#endif
