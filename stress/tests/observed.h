/* SPDX-License-Identifier: MIT */
/*
 * Observations by hand, for tests of checkers, metrics and reports: a run in which everything was
 * well, from which each test spoils what it is about.
 */
#ifndef HQ_STRESS_TESTS_OBSERVED_H
#define HQ_STRESS_TESTS_OBSERVED_H

#include <string.h>

#include "injectors/units.h"
#include "stress/check/asked.h"

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
		.residue.known = true,
	};
}

/* What a checker says about the observations, asked for as on the command line: "NAME:key=value".
 */
static inline struct hq_findings observed_check(const char *contract,
						const struct hq_observations *observations)
{
	const size_t length = strcspn(contract, ":");
	struct hq_findings findings = { 0 };
	struct hq_error error;
	struct hq_asked asked;
	const struct hq_checker *checker = hq_checker_find(contract, length, &error);

	if (!checker || hq_asked_init(&asked, checker, &error) ||
	    hq_asked_set(&asked, contract + length + (contract[length] == ':'), &error))
		hq_finding_add(&findings, "test", "%s", error.text);
	else
		checker->check(observations, checker->options ? asked.options : NULL, &findings);
	return findings;
}

#endif
