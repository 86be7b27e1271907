/* SPDX-License-Identifier: MIT */
/*
 * A limit that an allocator is given is never passed: what is handed out is charged before, against
 * a figure that is true now. Two witnesses that know nothing of the allocator's own figure:
 *
 *   requested  what the workload holds, counted after an allocation returned and before a free is
 *              called, so that it is never more than the truth: no slack is needed
 *
 *   resident   the peak of resident memory, with slack for what is not the allocator's
 *
 * A load that never came near the limit says nothing.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "overshoot";

struct overshoot_options {
	uint64_t limit_bytes;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct overshoot_options, field)

static const struct hq_option options_table[] = {
	{ "limit", HQ_OPTION_SIZE, AT(limit_bytes), "64MiB", 0, 0, NULL,
	  "the limit that the allocator was given" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "8MiB", 0, 0, NULL,
	  "resident memory beyond it that is not the allocator's, or its bookkeeping" },
	{ .name = NULL },
};

static void add_finding(const char *what, uint64_t bytes, uint64_t bound_bytes,
			const struct hq_observations *observations, struct hq_findings *findings)
{
	char value[32], bound[32];
	struct hq_finding *finding;

	hq_value_print(value, sizeof(value), HQ_UNIT_BYTES, (double)bytes);
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES, (double)bound_bytes);
	finding = hq_finding_add(findings, name, "%s passed the limit (%s, at most %s allowed)",
				 what, value, bound);
	hq_value_print(value, sizeof(value), HQ_UNIT_BYTES,
		       (double)observations->requested_peak_bytes);
	hq_evidence_line(finding, "requested at the peak: %s; answered NULL: %" PRIu64, value,
			 observations->nulls);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct overshoot_options *chosen = options;
	const uint64_t limit = chosen->limit_bytes, resident = observations->rss_peak_bytes;
	const uint64_t requested = observations->requested_sure_bytes;

	if (requested > limit)
		add_finding("memory handed out", requested, limit, observations, findings);
	if (resident > limit + chosen->slack_bytes)
		add_finding("resident memory", resident, limit + chosen->slack_bytes, observations,
			    findings);
	if (!observations->is_host)
		hq_gap_add(findings, name,
			   "only of a built-in workload is known what was handed out");
	if (!hq_limit_was_near(observations, limit))
		hq_gap_add(findings, name, "the work never came near the limit");
}

const struct hq_checker hq_check_overshoot = {
	.name = name,
	.promise = "an allocator's own limit is never passed, by no delay of any figure",
	.needs = "a built-in workload that asks for more than the limit",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct overshoot_options),
	.check = check,
};
