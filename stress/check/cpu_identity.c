/* SPDX-License-Identifier: MIT */
/*
 * The number of a CPU is no index: numbers may have gaps, be the same for all threads, or be larger
 * than any count that was read at the start. Whatever the kernel says, the arena that serves a
 * thread is one of those that the allocator says it has. That a wrong one crashes is for others to
 * see; here it only has to be told.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "cpu-identity";

static void describe(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size, "arena %" PRIu64 ", and the allocator says it has %" PRIu64,
		 event->got, event->expected);
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_ARENA,
	.checker = name,
	.sentence = "a thread is served by an arena beyond the count of arenas",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
	if (observations->arena_looks == 0)
		hq_gap_add(findings, name,
			   "the allocator does not say which arena serves a thread");
}

const struct hq_checker hq_check_cpu_identity = {
	.name = name,
	.promise = "whatever CPU numbers the kernel shows, a thread's arena is one of the arenas",
	.needs = "a built-in workload, and an allocator that tells the arena of a thread",
	.on_request = true,
	.needs_faults = true,
	.check = check,
};
