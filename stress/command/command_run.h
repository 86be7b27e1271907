/* SPDX-License-Identifier: MIT */
/*
 * What `run` and `replay` have in common: running cases that were made, and reporting on them.
 */
#ifndef HQ_STRESS_COMMAND_COMMAND_RUN_H
#define HQ_STRESS_COMMAND_COMMAND_RUN_H

#include "stress/command/cases.h"
#include "stress/control/suite.h"

/*
 * Runs and reports. The exit status; `run` (to be cleared by the caller) is for those who want to
 * know more.
 */
int hq_cases_run(const struct hq_invocation *invocation, const struct hq_cases *cases,
		 struct hq_suite_run *run);

#endif
