/* SPDX-License-Identifier: MIT */
/*
 * While the data are held, each requested byte costs no more resident memory than the pattern may
 * cost: rounding of sizes, headers, and holes that nothing fits into.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "fragmentation";

struct fragmentation_options {
	double waste;
	uint64_t slack;
};

static const struct hq_option options_table[] = {
	{ "waste", HQ_OPTION_SHARE, offsetof(struct fragmentation_options, waste), "50%", 0, 0,
	  NULL, "resident bytes beside each requested byte" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct fragmentation_options, slack), "4MiB", 0, 0,
	  NULL, "and so many bytes more" },
	{ .name = NULL },
};

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct fragmentation_options *options = values;
	const struct hq_stats_record *record = hq_moment_at(observations, HQ_STATS_WORKED);
	char held[HQ_UNITS_TEXT], asked[HQ_UNITS_TEXT];

	if (!hq_moments_are_there(observations, name, findings))
		return;
	if (!record || record->live_bytes == 0) {
		hq_gap_add(findings, name, "nothing was held when the work was done");
		return;
	}
	const double live = (double)record->live_bytes;
	const double rss = (double)hq_moment_rss_bytes(observations, record);

	if (rss <= live * (1 + options->waste) + (double)options->slack)
		return;
	hq_value_print(held, sizeof(held), HQ_UNIT_BYTES, rss);
	hq_value_print(asked, sizeof(asked), HQ_UNIT_BYTES, live);
	hq_moment_show(record, hq_finding_add(findings, name,
					      "%s of memory for %s that were asked for: %.2f bytes "
					      "for each",
					      held, asked, rss / live));
}

const struct hq_checker hq_check_fragmentation = {
	.name = name,
	.promise = "a requested byte costs no more memory than the pattern may cost",
	.needs = "a built-in workload that holds something at its end",
	.on_request = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct fragmentation_options),
	.check = check,
};
