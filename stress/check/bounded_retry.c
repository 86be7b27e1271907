/* SPDX-License-Identifier: MIT */
/*
 * A refused system call may be tried again, but not for ever: whoever waits for malloc or free has
 * waited for all of it. Three ways to see that there was no bound:
 *
 *   per-request  one call of the allocator was refused the same system call more often
 *
 *   within       it took longer and was refused the same several times. The count is asked for as
 *                well, since a busy machine can make any one call slow
 *
 *   a hang       a thread was found in the system call that it had been refused last, more often
 *                than that
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "bounded-retry";

/* As few as this are told of by the host; any allocator may try that often. */
#define SEVERAL 8u

struct bounded_retry_options {
	uint64_t per_request;
	uint64_t within_ns;
};

#define AT(field) offsetof(struct bounded_retry_options, field)

static const struct hq_option options_table[] = {
	{ "per-request", HQ_OPTION_COUNT, AT(per_request), "64", 8, 0, NULL,
	  "how often one request may be refused the same system call" },
	{ "within", HQ_OPTION_DURATION, AT(within_ns), "1s", 0, 0, NULL,
	  "how long a request may take that is refused several times" },
	{ .name = NULL },
};

static const char *call_name(uint64_t call)
{
	return call < HQ_CALL_COUNT ? hq_call_name((enum hq_call)call) : "?";
}

static void describe(const struct hq_event *event, char *text, size_t size)
{
	char took[HQ_UNITS_TEXT];

	hq_value_print(took, sizeof(took), HQ_UNIT_NS, (double)event->offset);
	snprintf(text, size,
		 "%s of %" PRIu64 " bytes was refused the same %s at least %" PRIu64
		 " times, and took %s",
		 hq_asked_call_name(event->asked), event->size, call_name(event->expected),
		 event->got, took);
}

static bool counts(const struct hq_observations *observations, const struct hq_event *event,
		   const void *context)
{
	const struct bounded_retry_options *const chosen = context;

	(void)observations;
	return event->got > chosen->per_request ||
	       (event->got >= SEVERAL && event->offset > chosen->within_ns);
}

/* The last fault of a thread, as an index behind it; 0: none. */
static size_t last_of(const struct hq_observations *observations, pid_t tid)
{
	size_t end = observations->fault_count;

	while (end > 0 && observations->faults[end - 1].tid != tid)
		end--;
	return end;
}

/* How often a thread met the same refusal in a row, up to its last fault. */
static uint64_t count_in_a_row(const struct hq_observations *observations, pid_t tid, size_t end)
{
	const struct hq_fault *const last = &observations->faults[end - 1].fault;
	uint64_t count = 0;

	for (size_t i = end; i > 0; i--) {
		const struct hq_fault_seen *const seen = &observations->faults[i - 1];

		if (seen->tid != tid)
			continue;
		/* Its ranges are in memory: the same arguments may be about others. */
		if (seen->fault.call == HQ_CALL_PROCESS_MADVISE)
			break;
		if (seen->fault.result >= 0 || seen->fault.call != last->call ||
		    seen->fault.args[0] != last->args[0] || seen->fault.args[1] != last->args[1])
			break;
		count++;
	}
	return count;
}

static void check_stuck(const struct hq_observations *observations,
			const struct hq_stuck_thread *thread, uint64_t bound,
			struct hq_findings *findings)
{
	const size_t end = last_of(observations, thread->tid);
	char text[HQ_FAULT_TEXT];
	uint64_t count;

	if (end == 0)
		return;
	const struct hq_fault_seen *const last = &observations->faults[end - 1];

	/* A thread that waits elsewhere may have been refused often before it came there. */
	if (strcmp(thread->call, call_name(last->fault.call)) != 0)
		return;
	count = count_in_a_row(observations, thread->tid, end);
	if (count <= bound)
		return;
	struct hq_finding *const finding = hq_finding_add(
		findings, name, "a thread repeats a refused system call and never returns");

	hq_evidence_line(finding, "tid %d (%.16s), refused at least %" PRIu64 " times in a row",
			 (int)thread->tid, thread->comm, count);
	hq_evidence_line(finding, "injected last, %s", hq_fault_print(observations, last, text));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct bounded_retry_options *const chosen = options;
	const struct hq_event_words words = {
		.kind = HQ_EVENT_RETRY,
		.checker = name,
		.sentence = "a request repeated a refused system call without a bound",
		.describe = describe,
		.counts = counts,
		.context = options,
	};

	hq_check_events(observations, &words, findings);
	if (observations->outcome != HQ_OUTCOME_HUNG)
		return;
	for (size_t i = 0; i < observations->stuck_count; i++)
		check_stuck(observations, &observations->stuck[i], chosen->per_request, findings);
}

const struct hq_checker hq_check_bounded_retry = {
	.name = name,
	.promise = "a refused system call is repeated a bounded number of times",
	.needs = "rules that refuse calls; a built-in workload, unless the target hangs",
	.options = options_table,
	.options_size = sizeof(struct bounded_retry_options),
	.check = check,
};
