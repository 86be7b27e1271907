/* SPDX-License-Identifier: MIT */
/*
 * A request for nothing. C leaves it to the allocator whether the answer is NULL or a block of its
 * own that nobody may use, but it is one rule: callers that test for NULL would take every other
 * answer for a failure, and those that count on NULL would never free the rest. Two such blocks are
 * two blocks.
 *
 * Where ordinary requests were refused in the same run, a NULL may mean just that. One with ENOMEM
 * may as soon as anything was there to refuse memory: a limit leaves no trace of a single refusal.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char *answer_name(uint64_t answer)
{
	if (answer == HQ_ZERO_REFUSED)
		return "NULL and ENOMEM";
	return answer == HQ_ZERO_NULL ? "NULL" : "a block";
}

static void describe(const struct hq_event *event, char *text, size_t size)
{
	const char *call = hq_asked_call_name(event->asked);

	if (event->got == HQ_ZERO_TAKEN)
		snprintf(text, size, "%s of 0 bytes gave 0x%" PRIx64 ", where a live block is",
			 call, event->address);
	else
		snprintf(text, size, "%s of 0 bytes gave %s, the rule so far was %s", call,
			 answer_name(event->got), answer_name(event->expected));
}

static bool may_be_refused(const struct hq_observations *observations)
{
	for (size_t i = 0; i < observations->rule_count; i++)
		if (observations->rules[i].fired > 0)
			return true;
	return observations->injection_count > 0;
}

static bool counts(const struct hq_observations *observations, const struct hq_event *event,
		   const void *context)
{
	(void)context;
	if (event->got == HQ_ZERO_REFUSED && may_be_refused(observations))
		return false;
	return event->got == HQ_ZERO_TAKEN || event->got == HQ_ZERO_BLOCK ||
	       observations->nulls == 0;
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_ZERO,
	.checker = "zero-size",
	.sentence = "requests for nothing are not answered by one rule",
	.describe = describe,
	.counts = counts,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_zero_size = {
	.name = "zero-size",
	.promise = "a request for 0 bytes is answered by one rule: NULL, or a block of its own",
	.needs = "a workload that asks for nothing, as edges does",
	.check = check,
};
