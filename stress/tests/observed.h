/* SPDX-License-Identifier: MIT */
/*
 * Observations by hand, for tests of checkers, metrics and reports: a run in which everything was
 * well, from which each test spoils what it is about.
 */
#ifndef HQ_STRESS_TESTS_OBSERVED_H
#define HQ_STRESS_TESTS_OBSERVED_H

#include <string.h>

#include "injectors/units.h"
#include "stress/check/check.h"

#define GATE_NS (1000 * HQ_S)

/* A host run of 4 s: works until 1 s, has freed everything at 1.5 s, idles until 4 s. */
static inline struct hq_observations observed_good(void)
{
	return (struct hq_observations){
		.outcome = HQ_OUTCOME_EXITED,
		.worked_ns = HQ_S,
		.freed_ns = 1500 * HQ_MS,
		.end_ns = 4 * HQ_S,
		.wall_ns = 4100 * HQ_MS,
		.gate_open_ns = GATE_NS,
		.has_usage = true,
		.is_host = true,
		.ops = 1000,
		.mallocs = 5000,
		.frees = 5000,
		.armed = true,
	};
}

/* What the checker of that name says about the observations. */
static inline struct hq_findings observed_check(const char *name,
						const struct hq_observations *observations)
{
	struct hq_findings findings = { 0 };

	for (size_t i = 0; hq_checkers[i]; i++) {
		if (!strcmp(hq_checkers[i]->name, name))
			hq_checkers[i]->check(observations, &findings);
	}
	return findings;
}

#endif
