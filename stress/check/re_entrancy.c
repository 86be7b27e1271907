/* SPDX-License-Identifier: MIT */
/*
 * An allocator that promises to bear calls from signal handlers bears them: every handler that
 * allocates returns, with a block that is its own. Only for those that promise it, so only where it
 * is asked for.
 */
#include <inttypes.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "re-entrancy";

static void add(const char *sentence, uint64_t count, const struct hq_observations *observations,
		struct hq_findings *findings)
{
	struct hq_finding *finding = hq_finding_add(findings, name, "%s", sentence);

	if (!finding)
		return;
	finding->count = count;
	hq_evidence_line(finding,
			 "handlers: %" PRIu64 " began, %" PRIu64 " ended, %" PRIu64
			 " were answered NULL, %" PRIu64 " saw their block changed",
			 observations->signals_taken, observations->signals_done,
			 observations->signal_nulls, observations->signal_damaged);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const uint64_t taken = observations->signals_taken, done = observations->signals_done;

	(void)options;
	if (taken == 0)
		hq_gap_add(findings, name, "no signal handler allocated");
	if (taken > done && observations->outcome == HQ_OUTCOME_HUNG)
		add("a signal handler that allocates never returned", taken - done, observations,
		    findings);
	if (observations->signal_nulls > 0)
		add("an allocation in a signal handler was answered NULL",
		    observations->signal_nulls, observations, findings);
	if (observations->signal_damaged > 0)
		add("the block of a signal handler changed while it ran",
		    observations->signal_damaged, observations, findings);
}

const struct hq_checker hq_check_re_entrancy = {
	.name = name,
	.promise = "a signal handler can allocate wherever it interrupts its thread",
	.needs = "a built-in workload whose signal handler allocates, and signals",
	.on_request = true,
	.check = check,
};
