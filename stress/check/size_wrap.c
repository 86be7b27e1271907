/* SPDX-License-Identifier: MIT */
/*
 * No size wraps: what is more than there can be, as a size, as a product of two, or together with
 * its alignment, is refused. A block that is given all the same is smaller than it claims, and the
 * first write behind its end is somebody else's damage.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	char alignment[64] = "";

	if (event->offset != 0)
		snprintf(alignment, sizeof(alignment), ", alignment %" PRIu64, event->offset);
	snprintf(text, size,
		 "%s of %" PRIu64 " times %" PRIu64 " bytes%s gave 0x%" PRIx64 " with %" PRIu64
		 " bytes usable",
		 hq_asked_call_name(event->asked), event->expected, event->size, alignment,
		 event->address, event->got);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_WRAP,
	.checker = "size-wrap",
	.sentence = "a request for more than there can be was served",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_size_wrap = {
	.name = "size-wrap",
	.promise = "a size, product or alignment beyond the limit is refused",
	.needs = "a workload that asks for such, as edges does",
	.check = check,
};
