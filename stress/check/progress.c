/* SPDX-License-Identifier: MIT */
/*
 * The workload got something done. Giving up operations because of a NULL is allowed; giving up
 * every one leaves nothing that the other checkers could have looked at. A workload that asks for
 * no memory on purpose is no gap.
 */
#include <inttypes.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

/* An operation that was given up counts as one, too: then every allocation was answered NULL. */
static bool got_nothing(const struct hq_observations *observations)
{
	const uint64_t asked = observations->mallocs + observations->reallocs;

	return asked > 0 && observations->nulls >= asked;
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const bool ended = observations->outcome == HQ_OUTCOME_EXITED && observations->status == 0;
	const bool tried = observations->missed > 0 || observations->nulls > 0;

	(void)options;
	if (!observations->is_host || !ended || !tried)
		return;
	if (observations->ops > 0 && !got_nothing(observations))
		return;
	hq_evidence_line(hq_gap_add(findings, "progress", "the workload completed no operation"),
			 "%" PRIu64 " given up, %" PRIu64 " allocations answered NULL",
			 observations->missed, observations->nulls);
}

const struct hq_checker hq_check_progress = {
	.name = "progress",
	.promise = "the workload completes operations",
	.needs = "a built-in workload",
	.check = check,
};
