/* SPDX-License-Identifier: MIT */
/*
 * Every block is aligned as its call promised: for malloc to what any type needs, for the aligned
 * family to what was asked for.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64 " bytes is no multiple of %" PRIu64 " bytes",
		 event->address, event->size, event->expected);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_ALIGNMENT,
	.checker = "alignment",
	.sentence = "a block is not aligned as promised",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_alignment = {
	.name = "alignment",
	.promise = "every block is aligned as its call promised",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
