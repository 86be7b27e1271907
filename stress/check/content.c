/* SPDX-License-Identifier: MIT */
/*
 * What was written into a block is still there: the stamps of blocks, and the workload's own data
 * (rows, indexes, queues) where it checks those itself.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe_data(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size, "at 0x%" PRIx64 ": expected 0x%" PRIx64 ", got 0x%" PRIx64,
		 event->address, event->expected, event->got);
}

static const struct hq_event_words stamps = {
	.kind = HQ_EVENT_CONTENT,
	.checker = "content",
	.sentence = "the content of a live block changed",
	.describe = hq_describe_damage,
};

static const struct hq_event_words data = {
	.kind = HQ_EVENT_DATA,
	.checker = "content",
	.sentence = "the workload's own data are wrong",
	.describe = describe_data,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &stamps, findings);
	hq_check_events(observations, &data, findings);
}

const struct hq_checker hq_check_content = {
	.name = "content",
	.promise = "the content of live blocks stays intact",
	.needs = "a built-in workload",
	.check = check,
};
