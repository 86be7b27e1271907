/* SPDX-License-Identifier: MIT */
/*
 * Steady work needs no more memory as it goes on: over the second half of the work resident memory
 * rises by no more than a share of itself. For workloads that hold about the same all the time. The
 * rise is that of a line through repeated medians (slope.c), so a burst or a purge does not count,
 * only what lasts; and it is told in bytes over the work, not over time, so a slow machine leaks no
 * less than a fast one.
 */
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/slope.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "steady";

struct steady_options {
	double rise;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct steady_options, field)

static const struct hq_option options_table[] = {
	{ "rise", HQ_OPTION_SHARE, AT(rise), "5%", 0, 0, NULL,
	  "share of its median by which resident memory may rise over half of the work" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "256KiB", 0, 0, NULL,
	  "what it may rise besides" },
	{ .name = NULL },
};

static void add_finding(const struct hq_slope *slope, double risen, double allowed,
			struct hq_findings *findings)
{
	char rise[32], bound[32], middle[32], speed[32], span[32];

	hq_value_print(rise, sizeof(rise), HQ_UNIT_BYTES, risen);
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES, allowed);
	hq_value_print(middle, sizeof(middle), HQ_UNIT_BYTES, slope->median_bytes);
	hq_value_print(speed, sizeof(speed), HQ_UNIT_BYTES_PER_SECOND, slope->bytes_per_second);
	hq_value_print(span, sizeof(span), HQ_UNIT_NS, (double)slope->span_ns);
	hq_evidence_line(hq_finding_add(findings, name,
					"resident memory keeps rising under steady work (by %s "
					"over its second half, %s allowed)",
					rise, bound),
			 "%s for %s, about %s; %zu samples", speed, span, middle, slope->samples);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct steady_options *chosen = options;
	struct hq_slope slope;
	struct hq_error error;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->has_samples || hq_slope_measure(observations, &slope, &error)) {
		hq_gap_add(findings, name, "resident memory was not followed: %.200s",
			   observations->has_samples ? error.text : "it was not sampled");
		return;
	}
	const double risen = slope.bytes_per_second * (double)slope.span_ns / 1e9;
	const double allowed = chosen->rise * slope.median_bytes + (double)chosen->slack_bytes;

	if (risen > allowed)
		add_finding(&slope, risen, allowed, findings);
}

const struct hq_checker hq_check_steady = {
	.name = name,
	.promise = "steady work needs no more memory as it goes on",
	.needs = "16 samples of resident memory in the second half of the work",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct steady_options),
	.check = check,
};
