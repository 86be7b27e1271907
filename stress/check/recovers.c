/* SPDX-License-Identifier: MIT */
/*
 * A refusal is about now: once memory can be had again, it is asked for and handed out again. Two
 * ways to see that it is not:
 *
 *   after a window   rules that refused memory were over, and requests were still answered NULL
 *                    later than `grace` after their end
 *
 *   after a limit    a workload that takes all it can get, frees it and tries again, as exhaust
 *                    does, got much less the last time than before
 *
 * Rules without an end, and limits under a workload that never frees everything, tell nothing.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "recovers";

/* What gives memory; the others take it back. */
#define GIVING_CALLS                                                                               \
	(1u << HQ_CALL_MMAP | 1u << HQ_CALL_BRK | 1u << HQ_CALL_MREMAP | 1u << HQ_CALL_MPROTECT)

struct recovers_options {
	uint64_t grace_ns;
	double keep;
};

#define AT(field) offsetof(struct recovers_options, field)

static const struct hq_option options_table[] = {
	{ "grace", HQ_OPTION_DURATION, AT(grace_ns), "500ms", 0, 0, NULL,
	  "how long after the end of a refusal a NULL may still come" },
	{ "keep", HQ_OPTION_SHARE, AT(keep), "75%", 0, 0, NULL,
	  "share of the most that was had which must be had again" },
	{ .name = NULL },
};

/* When the last refusal ended, since the gate opened. False: none fired, or one has no end. */
static bool refusals_ended(const struct hq_observations *observations, uint64_t *end_ns)
{
	*end_ns = 0;
	for (size_t i = 0; i < observations->rule_count; i++) {
		const struct hq_rule_total *rule = &observations->rules[i];

		if (rule->fired == 0 || rule->action != HQ_ACTION_FAIL ||
		    !(rule->calls & GIVING_CALLS))
			continue;
		if (rule->window_end_ns == UINT64_MAX)
			return false;
		if (rule->window_end_ns > *end_ns)
			*end_ns = rule->window_end_ns;
	}
	return *end_ns > 0;
}

static void check_window(const struct hq_observations *observations, uint64_t grace_ns,
			 struct hq_findings *findings)
{
	char last[HQ_UNITS_TEXT], end[HQ_UNITS_TEXT];
	struct hq_finding *finding;
	uint64_t end_ns;

	if (!refusals_ended(observations, &end_ns) ||
	    observations->last_null_ns <= end_ns + grace_ns)
		return;
	hq_value_print(last, sizeof(last), HQ_UNIT_NS, (double)observations->last_null_ns);
	hq_value_print(end, sizeof(end), HQ_UNIT_NS, (double)end_ns);
	finding = hq_finding_add(
		findings, name, "requests were answered NULL long after memory could be had again");
	hq_evidence_line(finding,
			 "the last refusal ended at +%s, the last NULL came at +%s; %" PRIu64
			 " allocations answered NULL in all",
			 end, last, observations->nulls);
}

/* In a run that was ended for it, the last round may be the part of one. */
static void check_rounds(const struct hq_observations *observations, double keep,
			 struct hq_findings *findings)
{
	const double most = (double)observations->had_most_bytes;
	const double last = (double)observations->had_last_bytes;
	char most_text[HQ_UNITS_TEXT], last_text[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	if (observations->outcome != HQ_OUTCOME_EXITED || most == 0 || last >= keep * most)
		return;
	hq_value_print(most_text, sizeof(most_text), HQ_UNIT_BYTES, most);
	hq_value_print(last_text, sizeof(last_text), HQ_UNIT_BYTES, last);
	finding = hq_finding_add(findings, name,
				 "after everything was freed, much less could be had again");
	hq_evidence_line(finding, "%s at most in one round, %s in the last one", most_text,
			 last_text);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct recovers_options *const chosen = options;

	check_window(observations, chosen->grace_ns, findings);
	check_rounds(observations, chosen->keep, findings);
}

const struct hq_checker hq_check_recovers = {
	.name = name,
	.promise = "after a refusal has ended, or everything was freed, as much can be had again",
	.needs = "refusals with a window that ends while requests go on, or the workload exhaust",
	.options = options_table,
	.options_size = sizeof(struct recovers_options),
	.check = check,
};
