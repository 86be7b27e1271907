/* SPDX-License-Identifier: MIT */
/*
 * posix_memalign says no in its own way: EINVAL for an alignment that is no power of two or less
 * than a pointer, and a pointer that is left alone or set to NULL (POSIX.1-2017). Callers free that
 * pointer on their error paths.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe(const struct hq_event *event, char *text, size_t size)
{
	char code[HQ_UNITS_TEXT], pointer[64] = "";

	if (event->address != 0)
		snprintf(pointer, sizeof(pointer), " and set the pointer to 0x%" PRIx64,
			 event->address);
	snprintf(text, size,
		 "posix_memalign of %" PRIu64 " bytes, alignment %" PRIu64 ", answered %s%s",
		 event->size, event->offset, hq_errno_print(event->got, code), pointer);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_REFUSE,
	.checker = "refusal",
	.sentence = "posix_memalign did not refuse an alignment as it should",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_refusal = {
	.name = "refusal",
	.promise =
		"posix_memalign refuses a bad alignment with EINVAL, and leaves the pointer alone",
	.needs = "a workload that asks for such, as edges does",
	.check = check,
};
