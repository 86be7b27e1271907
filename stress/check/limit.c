/* SPDX-License-Identifier: MIT */
/*
 * What the checkers of a program's own limit have in common.
 */
#include "stress/check/limit.h"

#include <inttypes.h>

#include "stress/check/value.h"

bool hq_limit_was_kept(const struct hq_observations *observations, const char *checker,
		       struct hq_findings *findings)
{
	const struct hq_limit_seen *const limit = &observations->limit;

	if (limit->workers == 0)
		hq_gap_add(findings, checker,
			   "the workload keeps no limit of its own, or never came to its end");
	else if (limit->words[HQ_LIMIT_REFUSED] == 0)
		hq_gap_add(findings, checker, "nothing was refused: the limit was never near");
	return limit->workers > 0 && limit->words[HQ_LIMIT_REFUSED] > 0;
}

uint64_t hq_limit_drift_bytes(const struct hq_limit_seen *limit, uint64_t window_bytes)
{
	/* A span touches at most two windows more than it has room for. */
	const double span_ns = (double)limit->words[HQ_LIMIT_STALE_NS] +
			       2 * (double)limit->words[HQ_LIMIT_STEP_NS] +
			       2 * (double)HQ_LIMIT_WINDOW_NS;

	return (uint64_t)((double)window_bytes * span_ns / (double)HQ_LIMIT_WINDOW_NS);
}

void hq_limit_show(const struct hq_limit_seen *limit, struct hq_finding *finding)
{
	char soft[HQ_UNITS_TEXT], hard[HQ_UNITS_TEXT], peak[HQ_UNITS_TEXT], step[HQ_UNITS_TEXT];

	hq_value_print(soft, sizeof(soft), HQ_UNIT_BYTES,
		       (double)limit->words[HQ_LIMIT_SOFT_BYTES]);
	hq_value_print(hard, sizeof(hard), HQ_UNIT_BYTES,
		       (double)limit->words[HQ_LIMIT_HARD_BYTES]);
	hq_value_print(peak, sizeof(peak), HQ_UNIT_BYTES,
		       (double)limit->words[HQ_LIMIT_PEAK_BYTES]);
	hq_value_print(step, sizeof(step), HQ_UNIT_NS, (double)limit->words[HQ_LIMIT_STEP_NS]);
	hq_evidence_line(finding,
			 "soft limit %s, hard limit %s, held at the peak %s; %" PRIu64
			 " requests admitted and %" PRIu64 " refused, the longest took %s",
			 soft, hard, peak, limit->words[HQ_LIMIT_ADMITTED],
			 limit->words[HQ_LIMIT_REFUSED], step);
}
