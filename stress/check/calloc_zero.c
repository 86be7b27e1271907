/* SPDX-License-Identifier: MIT */
/*
 * Memory from calloc is zero, also where the allocator believed that the kernel had just zeroed it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64 " bytes, offset %" PRIu64 ": got 0x%" PRIx64
		 " instead of 0",
		 event->address, event->size, event->offset, event->got);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_NONZERO,
	.checker = "calloc-zero",
	.sentence = "calloc gave memory that is not zero",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_calloc_zero = {
	.name = "calloc-zero",
	.promise = "memory from calloc is zero",
	.needs = "a built-in workload, or --guard",
	.check = check,
};
