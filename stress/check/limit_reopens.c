/* SPDX-License-Identifier: MIT */
/*
 * After requests were refused and everything was freed, nothing counts as used any more, but the
 * credit that threads may keep: what a tracker loses count of, it refuses for ever.
 */
#include "stress/check/limit.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "limit-reopens";

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct hq_limit_seen *const limit = &observations->limit;
	const uint64_t left_bytes = limit->words[HQ_LIMIT_LEFT_BYTES];
	const uint64_t stranded_bytes = limit->words[HQ_LIMIT_STRANDED_BYTES];
	char left[HQ_UNITS_TEXT], stranded[HQ_UNITS_TEXT];

	(void)options;
	if (!hq_limit_was_kept(observations, name, findings))
		return;
	if (limit->words[HQ_LIMIT_QUIETS] == 0) {
		hq_gap_add(findings, name, "there was no moment at which nothing was held");
		return;
	}
	if (left_bytes <= stranded_bytes)
		return;
	hq_value_print(left, sizeof(left), HQ_UNIT_BYTES, (double)left_bytes);
	hq_value_print(stranded, sizeof(stranded), HQ_UNIT_BYTES, (double)stranded_bytes);
	hq_limit_show(limit, hq_finding_add(findings, name,
					    "nothing was held, and %s counted as used, at most %s "
					    "expected",
					    left, stranded));
}

const struct hq_checker hq_check_limit_reopens = {
	.name = name,
	.promise = "once everything is freed, a program's own tracker counts nothing as used",
	.needs = "a workload with a limit of its own that frees everything after refusals",
	.on_request = true,
	.check = check,
};
