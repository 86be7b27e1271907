/* SPDX-License-Identifier: MIT */
/*
 * That the kernel said yes to MADV_DONTNEED does not prove that the pages are zero: emulators and
 * young kernels take the advice and discard nothing. An allocator that skips the clearing in calloc
 * has to know. In a run in which an advice lied, dirty memory from calloc is this contract's
 * finding; in every other run it is calloc-zero's.
 */
#include "stress/check/evidence.h"
#include "stress/check/table.h"

static bool counts(const struct hq_observations *observations, const struct hq_event *event,
		   const void *context)
{
	(void)event;
	(void)context;
	return hq_advice_lied(observations);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_NONZERO,
	.checker = "zero-proven",
	.sentence = "calloc took pages for zero that an advice had not emptied",
	.describe = hq_describe_nonzero,
	.counts = counts,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_zero_proven = {
	.name = "zero-proven",
	.promise = "memory from calloc is zero also where an advice said yes and did nothing",
	.needs = "a rule by which an advice lies; a built-in workload, or --guard",
	.check = check,
};
