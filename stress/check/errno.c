/* SPDX-License-Identifier: MIT */
/*
 * free leaves errno alone, as POSIX.1-2024 asks and glibc promises since 2.33: callers free on
 * their error paths, between the failure and the look at errno.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	char before[HQ_UNITS_TEXT], after[HQ_UNITS_TEXT];

	snprintf(text, size, "free(0x%" PRIx64 ") changed errno from %s to %s", event->address,
		 hq_errno_print(event->expected, before), hq_errno_print(event->got, after));
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_ERRNO_FREE,
	.checker = "errno",
	.sentence = "free changed errno",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_errno = {
	.name = "errno",
	.promise = "free keeps errno",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
