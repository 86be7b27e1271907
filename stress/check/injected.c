/* SPDX-License-Identifier: MIT */
/*
 * What was to go wrong did go wrong. A fault that never fired proves nothing: a quiet run in which
 * a required rule or injector did nothing is a gap. Nothing here is ever a finding against the
 * target.
 */
#include <inttypes.h>
#include <string.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "injected";

static const char *why_silent(const struct hq_rule_total *rule)
{
	if (rule->seen == 0)
		return "the target made no such call, or made it as another user, where only "
		       "--mechanism=notify reaches";
	if (rule->eligible == 0)
		return "they came while the gate was shut, outside the window, or could not fail";
	return "`when`, `probability` or `times` chose none of them";
}

static void check_rules(const struct hq_observations *observations, struct hq_findings *findings)
{
	for (size_t i = 0; i < observations->rule_count; i++) {
		const struct hq_rule_total *rule = &observations->rules[i];

		if (!rule->required || rule->fired > 0)
			continue;
		hq_evidence_line(hq_gap_add(findings, name, "rule '%s' never fired", rule->name),
				 "seen %" PRIu64 ", eligible %" PRIu64 ", fired 0: %s", rule->seen,
				 rule->eligible, why_silent(rule));
	}
}

static const struct hq_measure *find_fired(const struct hq_injection_result *injection)
{
	for (size_t i = 0; i < injection->measure_count; i++) {
		if (!strcmp(injection->measures[i].name, "fired"))
			return &injection->measures[i];
	}
	return NULL;
}

static void check_injections(const struct hq_observations *observations,
			     struct hq_findings *findings)
{
	for (size_t i = 0; i < observations->injection_count; i++) {
		const struct hq_injection_result *injection = &observations->injections[i];
		const struct hq_measure *fired = find_fired(injection);

		if (!injection->required || (fired && fired->value > 0))
			continue;
		hq_gap_add(findings, name, "injector '%s' %s", injection->name,
			   fired ? "did nothing: fired 0" : "has not said whether it did anything");
	}
}

/* Where no fault could be made although the rules were in force elsewhere. */
static void check_reach(const struct hq_observations *observations, struct hq_findings *findings)
{
	if (observations->threads_unclaimed > 0)
		hq_evidence_line(
			hq_gap_add(findings, name,
				   "threads found no slot: no fault could be made in them"),
			"%" PRIu32 " of %" PRIu32 " threads", observations->threads_unclaimed,
			observations->threads_unclaimed + observations->threads_claimed);
	if (observations->processes_unarmed > 0)
		hq_evidence_line(hq_gap_add(findings, name,
					    "the filter was not installed in every process: no "
					    "fault could be made in the others"),
				 "processes without it: %" PRIu32, observations->processes_unarmed);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	check_injections(observations, findings);
	if (observations->rule_count == 0)
		return;
	if (!observations->armed) {
		/* Then silent rules are its consequence, not news. */
		hq_gap_add(findings, name,
			   "the rules were not in force: the filter was not installed");
		return;
	}
	check_rules(observations, findings);
	check_reach(observations, findings);
}

const struct hq_checker hq_check_injected = {
	.name = name,
	.promise = "every required fault fired",
	.needs = "the counts of the rules and injectors",
	.check = check,
};
