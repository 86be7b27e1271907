/* SPDX-License-Identifier: MIT */
/*
 * What `run`, `replay`, `compare` and `sweep` have in common: a place for results, running cases
 * that were made, and reporting on them.
 */
#ifndef HQ_STRESS_COMMAND_COMMAND_RUN_H
#define HQ_STRESS_COMMAND_COMMAND_RUN_H

#include "stress/command/cases.h"
#include "stress/control/suite.h"

/* As they were asked for; strings are borrowed. */
struct hq_suite_settings hq_suite_settings_of(const struct hq_invocation *invocation);

/*
 * Runs and reports. The exit status; `run` (to be cleared by the caller) is for those who want to
 * know more.
 */
int hq_cases_run(const struct hq_invocation *invocation, const struct hq_cases *cases,
		 struct hq_suite_run *run);

/*
 * Can results be written there? Found out by doing: permissions, read-only mounts and quotas all
 * show in the same way. Makes the folder with all that are above it. 0 or -EINVAL with a sentence.
 */
int hq_results_check(const char *folder, struct hq_error *error);

#endif
