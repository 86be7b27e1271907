/* SPDX-License-Identifier: MIT */
/*
 * A call that cannot be served says so in the one way that callers know: NULL, and errno ENOMEM.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	char got[HQ_UNITS_TEXT];

	snprintf(text, size, "NULL for %" PRIu64 " bytes came with errno %s instead of ENOMEM",
		 event->size, hq_errno_print(event->got, got));
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_ERRNO_NULL,
	.checker = "null-errno",
	.sentence = "an allocation failed without errno ENOMEM",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_null_errno = {
	.name = "null-errno",
	.promise = "failure is NULL with errno ENOMEM",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
