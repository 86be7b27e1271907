/* SPDX-License-Identifier: MIT */
/*
 * The target reached its end: no crash, no abort, no hang, no kill, and an exit status of 0. How it
 * failed to is a result, with what is known of the place.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "survived";

/* More would leave no room for the last fault. */
#define STUCK_SHOWN 6

static struct hq_finding *add_exit(const struct hq_observations *observations,
				   struct hq_findings *findings)
{
	if (observations->status == 0)
		return NULL;
	return hq_finding_add(findings, name, "the target exited with status %d",
			      observations->status);
}

static struct hq_finding *add_signal(const struct hq_observations *observations,
				     struct hq_findings *findings)
{
	const char *abbreviation = sigabbrev_np(observations->status);
	const char *description = sigdescr_np(observations->status);

	if (!abbreviation)
		return hq_finding_add(findings, name, "the target was killed by signal %d",
				      observations->status);
	return hq_finding_add(findings, name, "the target was killed by SIG%s (%s)", abbreviation,
			      description ? description : "");
}

static void add_stuck(const struct hq_stuck_thread *thread, struct hq_finding *finding)
{
	char rate[HQ_UNITS_TEXT + 32] = "";
	char wchan[sizeof(thread->wchan) + 16] = "";
	char number[HQ_UNITS_TEXT];

	if (thread->calls_per_second >= 0)
		snprintf(rate, sizeof(rate), ", %s%s", thread->at_least ? "at least " : "",
			 hq_value_print(number, sizeof(number), HQ_UNIT_COUNT,
					thread->calls_per_second));
	if (rate[0])
		strcat(rate, " calls/s");
	if (thread->wchan[0] && strcmp(thread->wchan, "0"))
		snprintf(wchan, sizeof(wchan), ", waits in %.48s", thread->wchan);
	hq_evidence_line(finding, "tid %d (%.16s) %c in %.32s%s%s", (int)thread->tid, thread->comm,
			 thread->state ? thread->state : '?', thread->call, rate, wchan);
}

static struct hq_finding *add_hang(const struct hq_observations *observations,
				   struct hq_findings *findings)
{
	struct hq_finding *finding = hq_finding_add(findings, name, "the target hung");

	for (size_t i = 0; i < observations->stuck_count && i < STUCK_SHOWN; i++)
		add_stuck(&observations->stuck[i], finding);
	if (observations->stuck_count > STUCK_SHOWN)
		hq_evidence_line(finding, "and %zu more threads",
				 observations->stuck_count - STUCK_SHOWN);
	return finding;
}

static struct hq_finding *add_end(const struct hq_observations *observations,
				  struct hq_findings *findings)
{
	switch (observations->outcome) {
	case HQ_OUTCOME_EXITED:
		return add_exit(observations, findings);
	case HQ_OUTCOME_SIGNALED:
		return add_signal(observations, findings);
	case HQ_OUTCOME_OOM_KILLED:
		return hq_finding_add(findings, name,
				      "the kernel's out-of-memory killer killed the target");
	case HQ_OUTCOME_HUNG:
		return add_hang(observations, findings);
	case HQ_OUTCOME_TIMEOUT:
		return hq_finding_add(findings, name,
				      "the target was still working at the time limit");
	case HQ_OUTCOME_OVER_CAP:
		return hq_finding_add(findings, name,
				      "the target held more memory than the safety cap allows");
	case HQ_OUTCOME_NOT_STARTED:
		return hq_finding_add(findings, name, "the target did not start%s%s",
				      observations->failure[0] ? ": " : "", observations->failure);
	case HQ_OUTCOME_INTERRUPTED:
		return hq_gap_add(findings, name, "the run was interrupted before its end");
	}
	return NULL;
}

static void check_driver(const struct hq_observations *observations, struct hq_findings *findings)
{
	if (!observations->driver_used || observations->driver_status == 0)
		return;
	/* We ended the driver ourselves then; what it left undone is part of that end. */
	if (observations->driver_status < 0 && observations->outcome == HQ_OUTCOME_INTERRUPTED)
		return;
	if (observations->driver_status < 0)
		hq_finding_add(findings, name, "the driver did not finish");
	else
		hq_finding_add(findings, name, "the driver exited with status %d",
			       observations->driver_status);
}

static void add_circumstances(const struct hq_observations *observations,
			      struct hq_finding *finding)
{
	char after[HQ_UNITS_TEXT];

	if (observations->outcome != HQ_OUTCOME_NOT_STARTED) {
		hq_value_print(after, sizeof(after), HQ_UNIT_NS, (double)observations->wall_ns);
		hq_evidence_line(finding, "it had run for %s", after);
		if (observations->failure[0])
			hq_evidence_line(finding, "%s", observations->failure);
	}
	/* The last fault before the end is where to look first; it is evidence, not proof. */
	hq_evidence_fault(observations, UINT64_MAX, "injected last", finding);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	struct hq_finding *finding = add_end(observations, findings);

	(void)options;
	if (finding && !finding->gap)
		add_circumstances(observations, finding);
	check_driver(observations, findings);
}

const struct hq_checker hq_check_survived = {
	.name = name,
	.promise = "the target ends by itself: no crash, abort, hang or kill, and exit status 0",
	.needs = "a run that was not interrupted",
	.check = check,
};
