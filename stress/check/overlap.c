/* SPDX-License-Identifier: MIT */
/*
 * Live blocks do not overlap. The recorded live set is always a subset of the truth (a free is
 * entered before the call, an allocation after it returned), so an overlap found in it is real.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64
		 " bytes shares memory with a live block from offset "
		 "%" PRIu64,
		 event->address, event->size, event->offset);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_OVERLAP,
	.checker = "overlap",
	.sentence = "a new block covers a live one",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_overlap = {
	.name = "overlap",
	.promise = "live blocks do not overlap",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
