/* SPDX-License-Identifier: MIT */
/*
 * malloc_usable_size is never below what was asked for, and all of it can be used.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 ": %" PRIu64 " bytes usable, %" PRIu64 " bytes requested",
		 event->address, event->got, event->expected);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_USABLE,
	.checker = "usable-size",
	.sentence = "malloc_usable_size is below the requested size",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_usable_size = {
	.name = "usable-size",
	.promise = "usable size is at least the requested size",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
