/* SPDX-License-Identifier: MIT */
/*
 * A child of fork can use the heap, whatever locks other threads of its parent held at that moment,
 * and it sees its parent's data as they were. That the parent goes on is for others to see.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static void describe_death(uint64_t status, char *text, size_t size)
{
	const char *signal_name =
		WIFSIGNALED((int)status) ? sigabbrev_np(WTERMSIG((int)status)) : NULL;

	if (signal_name)
		snprintf(text, size, "it was killed by SIG%s", signal_name);
	else
		snprintf(text, size, "it ended with wait status %" PRIu64, status);
}

static void describe(const struct hq_event *event, char *text, size_t size)
{
	switch (event->expected) {
	case HQ_FORK_HUNG:
		snprintf(text, size, "it hung after %" PRIu64 " steps", event->got);
		break;
	case HQ_FORK_DIED:
		describe_death(event->got, text, size);
		break;
	default:
		snprintf(text, size,
			 "%s had changed: block 0x%" PRIx64 " of %" PRIu64 " bytes, offset %" PRIu64
			 ", got 0x%" PRIx64,
			 event->expected == HQ_FORK_OWN_DATA ? "its own data" : "its parent's data",
			 event->address, event->size, event->offset, event->got);
	}
}

static const struct hq_event_words words = {
	.kind = HQ_EVENT_FORK,
	.checker = "fork-safe",
	.sentence = "a child of fork could not use the heap",
	.describe = describe,
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	hq_check_events(observations, &words, findings);
}

const struct hq_checker hq_check_fork_safe = {
	.name = "fork-safe",
	.promise = "a child of fork can allocate and free, and sees its parent's data unchanged",
	.needs = "a built-in workload that forks",
	.check = check,
};
