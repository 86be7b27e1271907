/* SPDX-License-Identifier: MIT */
/*
 * What the program does to its heap: it gives back live blocks only, once, and stays within them.
 * Here the program breaks a promise and not the allocator, so both have a checker of their own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe_free(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size, "0x%" PRIx64 " is no live block: freed before, or never allocated",
		 event->address);
}

static const struct hq_event_words frees = {
	.kind = HQ_EVENT_PROGRAM_FREE,
	.checker = "program-free",
	.sentence = "the program freed what is no live block",
	.describe = describe_free,
};

static void check_free(const struct hq_observations *observations, const void *options,
		       struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &frees, findings);
}

const struct hq_checker hq_check_program_free = {
	.name = "program-free",
	.promise = "the program frees live blocks only, and each once",
	.needs = "--guard, watching every block",
	.check = check_free,
};

static void describe_tail(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 ", offset %" PRIu64 ": expected 0x%" PRIx64 ", got 0x%" PRIx64,
		 event->address, event->offset, event->expected, event->got);
}

static const struct hq_event_words tails = {
	.kind = HQ_EVENT_PROGRAM_TAIL,
	.checker = "program-tail",
	.sentence = "bytes behind a block changed",
	.describe = describe_tail,
};

static void check_tail(const struct hq_observations *observations, const void *options,
		       struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &tails, findings);
}

const struct hq_checker hq_check_program_tail = {
	.name = "program-tail",
	.promise = "nobody writes behind the end of a block",
	.needs = "--guard=canary, and the free or realloc of the block",
	.check = check_tail,
};
