/* SPDX-License-Identifier: MIT */
/*
 * Before an allocation is refused under a limit, or the kernel kills for one, what is unused was
 * given back: the blocks that are live then fill most of the limit. Judged by what the workload
 * holds, not by any figure of the allocator:
 *
 *   refused  the most that may have been live during the call, and the bytes asked for, at the
 *            refusal where their sum was least
 *   killed   live bytes at the last reading, which is after the kill
 *
 * A block that another thread is taking or giving at that moment does not count as live, so
 * `use` has to leave room for one of each thread, and for what an allocator needs itself: the
 * rounding of sizes, caches, metadata.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "oom-graded";

struct oom_options {
	uint64_t limit_bytes;
	double use;
};

#define AT(field) offsetof(struct oom_options, field)

static const struct hq_option options_table[] = {
	{ "limit", HQ_OPTION_SIZE, AT(limit_bytes), "64MiB", 0, 0, NULL,
	  "the limit, the allocator's own or the system's" },
	{ "use", HQ_OPTION_SHARE, AT(use), "60%", 0, 0, NULL,
	  "share of it that live blocks fill before anything is refused or killed" },
	{ .name = NULL },
};

static void add_finding(const char *sentence, uint64_t live_bytes, double bound,
			const struct hq_observations *observations, struct hq_findings *findings)
{
	char live[HQ_UNITS_TEXT], least[HQ_UNITS_TEXT], resident[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	hq_value_print(live, sizeof(live), HQ_UNIT_BYTES, (double)live_bytes);
	hq_value_print(least, sizeof(least), HQ_UNIT_BYTES, bound);
	hq_value_print(resident, sizeof(resident), HQ_UNIT_BYTES,
		       (double)observations->rss_peak_bytes);
	finding = hq_finding_add(findings, name,
				 "%s although memory was unused (%s were in use, at "
				 "least %s expected)",
				 sentence, live, least);
	hq_evidence_line(finding, "answered NULL: %" PRIu64 "; resident at the peak: %s",
			 observations->nulls, resident);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct oom_options *chosen = options;
	const double bound = (double)chosen->limit_bytes * chosen->use;
	const bool killed = observations->outcome == HQ_OUTCOME_OOM_KILLED;
	const uint64_t refused_at = observations->refused_at_bytes;

	if (!observations->is_host) {
		hq_gap_add(findings, name, "only of a built-in workload is known what is live");
		return;
	}
	if (refused_at && (double)refused_at < bound)
		add_finding("an allocation was refused", refused_at, bound, observations, findings);
	if (killed && (double)observations->requested_last_bytes < bound)
		add_finding("the kernel killed for the limit", observations->requested_last_bytes,
			    bound, observations, findings);
	if (!refused_at && !killed && !hq_limit_was_near(observations, chosen->limit_bytes))
		hq_gap_add(findings, name, "the work never came near the limit");
}

const struct hq_checker hq_check_oom_graded = {
	.name = name,
	.promise = "what is unused is given back before a limit makes anything fail",
	.needs = "a built-in workload that comes near the limit",
	.on_request = true,
	.takes = HQ_TAKES_REFUSED,
	.options = options_table,
	.options_size = sizeof(struct oom_options),
	.check = check,
};
