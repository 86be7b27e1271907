/* SPDX-License-Identifier: MIT */
/*
 * realloc keeps the common prefix when it succeeds, and the whole old block when it fails.
 */
#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const struct hq_event_words words = {
	.kind = HQ_EVENT_REALLOC,
	.checker = "realloc",
	.sentence = "realloc lost what the block held",
	.describe = hq_describe_damage,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_realloc = {
	.name = "realloc",
	.promise = "realloc keeps the common prefix, and the old block when it fails",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
