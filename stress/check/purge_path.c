/* SPDX-License-Identifier: MIT */
/*
 * Purging is off the critical path: while pages are given back, calls of malloc do not wait for it,
 * and what is given back is what was freed, not the same pages over and over.
 *
 * A rule with `delay` makes it visible: every madvise that gives pages back is slowed down, to
 * twice `stall` or more. Then a thousandth of the calls may wait as long, since a thread that asks
 * for the very pages must, and the rest may not. The rule also counts: each call that it met is on
 * record with its length, and their sum is compared with what the workload freed. A thread's own
 * free may purge; its malloc is what somebody waits for.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"
#include "stress/wire/hist.h"

static const char name[] = "purge-path";

#define WAITING_QUANTILE 0.999

struct purge_path_options {
	uint64_t stall_ns;
	uint64_t advised;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct purge_path_options, field)

static const struct hq_option options_table[] = {
	{ "stall", HQ_OPTION_DURATION, AT(stall_ns), "25ms", 1, 0, NULL,
	  "no more than 1 in 1,000 mallocs may take longer; at most half of what a purge is "
	  "slowed to" },
	{ "advised", HQ_OPTION_COUNT, AT(advised), "2", 1, 0, NULL,
	  "times the freed bytes that may be given back" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "4MiB", 0, 0, NULL,
	  "what may be given back besides: caches, metadata" },
	{ .name = NULL },
};

struct purged {
	uint64_t calls;
	uint64_t bytes;
};

static struct purged count_purged(const struct hq_observations *observations)
{
	struct purged purged = { 0 };

	for (size_t i = 0; i < observations->fault_count; i++) {
		const struct hq_fault *fault = &observations->faults[i].fault;

		if (!hq_fault_is_purge(fault))
			continue;
		purged.calls++;
		/* How much it is of several ranges at once, the call's arguments do not tell. */
		if (hq_fault_is_purge_of_range(fault))
			purged.bytes += fault->args[1];
	}
	return purged;
}

/* A purge that was refused or lied to took no time that somebody could have waited for. */
static bool was_slowed_down(const struct hq_observations *observations)
{
	for (size_t i = 0; i < observations->rule_count; i++) {
		const struct hq_rule_total *rule = &observations->rules[i];

		if (rule->action == HQ_ACTION_DELAY && rule->fired > 0 &&
		    (rule->calls & HQ_CALLS_ADVISING))
			return true;
	}
	return false;
}

static void check_stall(const struct hq_observations *observations,
			const struct purge_path_options *options, const struct purged *purged,
			struct hq_findings *findings)
{
	const struct hq_hist *hist = &observations->hist[HQ_LATENCY_MALLOC];
	const uint64_t waited_ns = hq_hist_quantile(hist, WAITING_QUANTILE);
	char waited[32], longest[32], bound[32];

	if (waited_ns <= options->stall_ns)
		return;
	hq_value_print(waited, sizeof(waited), HQ_UNIT_NS, (double)waited_ns);
	hq_value_print(bound, sizeof(bound), HQ_UNIT_NS, (double)options->stall_ns);
	hq_value_print(longest, sizeof(longest), HQ_UNIT_NS,
		       (double)hq_load_relaxed(&hist->max_ns));
	hq_evidence_line(hq_finding_add(findings, name,
					"malloc waits while pages are given back "
					"(1 in 1,000 calls for %s and more, %s allowed)",
					waited, bound),
			 "the longest call took %s; %" PRIu64 " purges were slowed down", longest,
			 purged->calls);
}

/* With records lost the sum is too small: still a finding when it is too large all the same. */
static void check_advised(const struct hq_observations *observations,
			  const struct purge_path_options *options, const struct purged *purged,
			  struct hq_findings *findings)
{
	const uint64_t allowed =
		options->advised * observations->freed_bytes + options->slack_bytes;
	char advised[32], freed[32];

	hq_value_print(advised, sizeof(advised), HQ_UNIT_BYTES, (double)purged->bytes);
	hq_value_print(freed, sizeof(freed), HQ_UNIT_BYTES, (double)observations->freed_bytes);
	if (purged->bytes > allowed)
		hq_evidence_line(hq_finding_add(findings, name,
						"the same pages are given back again and again (%s "
						"advised, %s freed)",
						advised, freed),
				 "%" PRIu64 " calls of madvise; %" PRIu64
				 " times what was freed is allowed",
				 purged->calls, options->advised);
	else if (observations->faults_dropped > 0)
		hq_gap_add(findings, name, "not every purge is on record");
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct purged purged = count_purged(observations);

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->hist || hq_hist_count(&observations->hist[HQ_LATENCY_MALLOC]) == 0) {
		hq_gap_add(findings, name, "latency was not recorded");
		return;
	}
	if (purged.calls == 0) {
		hq_gap_add(findings, name, "no purge was met by a rule");
		return;
	}
	if (was_slowed_down(observations))
		check_stall(observations, options, &purged, findings);
	else
		hq_gap_add(findings, name, "no purge was slowed down by a rule");
	check_advised(observations, options, &purged, findings);
}

const struct hq_checker hq_check_purge_path = {
	.name = name,
	.promise = "malloc does not wait while pages are given back, and each is given back once",
	.needs = "a built-in workload, and a rule that slows down every madvise that purges",
	.on_request = true,
	.needs_faults = true,
	.options = options_table,
	.options_size = sizeof(struct purge_path_options),
	.check = check,
};
