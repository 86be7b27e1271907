/* SPDX-License-Identifier: MIT */
/*
 * What went wrong in a run, told by what fired and not by what was planned: some promises are about
 * one kind of fault alone.
 */
#include <string.h>

#include "stress/check/evidence.h"

#define NEAR_SHARE 0.8 /* of a limit */

static bool is_advice(const struct hq_rule_total *rule)
{
	return rule->calls != 0 && !(rule->calls & ~HQ_CALLS_ADVISING);
}

bool hq_advice_lied(const struct hq_observations *observations)
{
	for (size_t i = 0; i < observations->rule_count; i++) {
		const struct hq_rule_total *rule = &observations->rules[i];

		if (rule->fired > 0 && rule->calls & 1u << HQ_CALL_MADVISE &&
		    (rule->action == HQ_ACTION_LIE || rule->action == HQ_ACTION_SHRINK))
			return true;
	}
	return false;
}

/* Whatever an injector does, it may be the cause of anything. */
static bool an_injector_fired(const struct hq_observations *observations)
{
	for (size_t i = 0; i < observations->injection_count; i++) {
		const struct hq_injection_result *injection = &observations->injections[i];

		for (size_t m = 0; m < injection->measure_count; m++)
			if (!strcmp(injection->measures[m].name, "fired") &&
			    injection->measures[m].value > 0)
				return true;
	}
	return false;
}

bool hq_only_purges_refused(const struct hq_observations *observations)
{
	uint64_t refused = 0;

	for (size_t i = 0; i < observations->rule_count; i++) {
		const struct hq_rule_total *rule = &observations->rules[i];

		if (rule->fired == 0)
			continue;
		if (!is_advice(rule) || rule->action != HQ_ACTION_FAIL)
			return false;
		refused += rule->fired;
	}
	return refused > 0 && !an_injector_fired(observations);
}

bool hq_limit_was_near(const struct hq_observations *observations, uint64_t limit_bytes)
{
	return (double)observations->rss_peak_bytes >= NEAR_SHARE * (double)limit_bytes;
}
