/* SPDX-License-Identifier: MIT */
/*
 * The suite in one line, and as an exit status.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/report/summary.h"

void hq_suite_count(const struct hq_suite *suite, size_t counts[HQ_VERDICTS])
{
	for (size_t i = 0; i < HQ_VERDICTS; i++)
		counts[i] = 0;
	for (size_t i = 0; i < suite->count; i++)
		counts[suite->results[i].verdict]++;
}

const char *hq_result_message(const struct hq_result *result)
{
	const struct hq_findings *findings = &result->findings;

	if (result->reason[0])
		return result->reason;
	for (size_t i = 0; i < findings->count; i++) {
		if (!findings->list[i].gap)
			return findings->list[i].text;
	}
	return findings->count > 0 ? findings->list[0].text : "";
}

const char *hq_suite_last_line(const struct hq_suite *suite, char *text, size_t size)
{
	static const struct {
		enum hq_verdict verdict;
		const char *word;
	} order[] = {
		{ HQ_VERDICT_PASS, "pass" },
		{ HQ_VERDICT_FAIL, "fail" },
		{ HQ_VERDICT_ERROR, "error" },
		{ HQ_VERDICT_XPASS, "xpass" },
		{ HQ_VERDICT_INCONCLUSIVE, "inconclusive" },
		{ HQ_VERDICT_XFAIL, "xfail" },
		{ HQ_VERDICT_SKIP, "skip" },
	};
	size_t counts[HQ_VERDICTS];
	char list[200] = "";
	size_t used = 0;

	hq_suite_count(suite, counts);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (counts[order[i].verdict] == 0)
			continue;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%zu %s",
					 used ? ", " : "", counts[order[i].verdict], order[i].word);
	}
	snprintf(text, size, "%zu scenario%s: %s (%sseed %" PRIu64 ", %.1f s)", suite->count,
		 suite->count == 1 ? "" : "s", list[0] ? list : "nothing was run",
		 suite->interrupted ? "interrupted, " : "", suite->seed,
		 (double)suite->wall_ns / 1e9);
	return text;
}

int hq_suite_exit_status(const struct hq_suite *suite)
{
	size_t counts[HQ_VERDICTS];

	hq_suite_count(suite, counts);
	if (suite->count == 0)
		return 5;
	if (counts[HQ_VERDICT_ERROR])
		return 3;
	if (counts[HQ_VERDICT_FAIL] || counts[HQ_VERDICT_XPASS])
		return 1;
	if (counts[HQ_VERDICT_INCONCLUSIVE])
		return 4;
	return counts[HQ_VERDICT_SKIP] == suite->count ? 77 : 0;
}
