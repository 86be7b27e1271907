/* SPDX-License-Identifier: MIT */
/*
 * Memory from calloc is zero. Where an advice lied about emptying pages, zero-proven says so.
 */
#include "stress/check/evidence.h"
#include "stress/check/table.h"

static bool counts(const struct hq_observations *observations, const struct hq_event *event,
		   const void *context)
{
	(void)event;
	(void)context;
	return !hq_advice_lied(observations);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_NONZERO,
	.checker = "calloc-zero",
	.sentence = "calloc gave memory that is not zero",
	.describe = hq_describe_nonzero,
	.counts = counts,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_calloc_zero = {
	.name = "calloc-zero",
	.promise = "memory from calloc is zero",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
