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

static void describe_shared(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64 " bytes: %" PRIu64
		 " bytes usable, but a live block begins at offset %" PRIu64,
		 event->address, event->size, event->got, event->offset);
}

static const struct hq_event_words words_shared = {
	.kind = HQ_EVENT_SHARED,
	.checker = "usable-size",
	.sentence = "malloc_usable_size reaches into a live block",
	.describe = describe_shared,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
	hq_check_events(observations, &words_shared, findings);
}

const struct hq_checker hq_check_usable_size = {
	.name = "usable-size",
	.promise = "usable size is at least the requested size, and all of it is the block's own",
	.needs = "a built-in workload (edges for what lies beyond the requested size), or --guard",
	.check = check,
};
