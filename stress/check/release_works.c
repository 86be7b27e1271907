/* SPDX-License-Identifier: MIT */
/*
 * The call that gives memory back does: afterwards the process has little more in memory than what
 * is live, unless the call says that there is nothing it could give; and if it says how much it
 * gave back, so much is gone.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "release-works";

struct release_options {
	double keep;
	double agree;
	uint64_t slack;
};

static const struct hq_option options_table[] = {
	{ "keep", HQ_OPTION_SHARE, offsetof(struct release_options, keep), "10%", 0, 0, NULL,
	  "share of the live bytes that may stay besides them" },
	{ "agree", HQ_OPTION_SHARE, offsetof(struct release_options, agree), "20%", 0, 0, NULL,
	  "by so much what it says may differ from what is gone" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct release_options, slack), "8MiB", 0, 0, NULL,
	  "bytes that may differ in either comparison" },
	{ .name = NULL },
};

static void report_kept(const struct hq_stats_record *before, const struct hq_stats_record *after,
			double kept, double bound, struct hq_findings *findings)
{
	char much[HQ_UNITS_TEXT], allowed[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	hq_value_print(much, sizeof(much), HQ_UNIT_BYTES, kept);
	hq_value_print(allowed, sizeof(allowed), HQ_UNIT_BYTES, bound);
	finding = hq_finding_add(findings, name,
				 "asked to give memory back, it keeps %s; at most %s may stay",
				 much, allowed);
	hq_moment_show(before, finding);
	hq_moment_show(after, finding);
}

static void report_said(const struct hq_stats_record *before, const struct hq_stats_record *after,
			double said, double gone, struct hq_findings *findings)
{
	char claim[HQ_UNITS_TEXT], truth[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	hq_value_print(claim, sizeof(claim), HQ_UNIT_BYTES, said);
	hq_value_print(truth, sizeof(truth), HQ_UNIT_BYTES, gone);
	finding = hq_finding_add(findings, name, "it says that it gave back %s; gone are %s", claim,
				 truth);
	hq_moment_show(before, finding);
	hq_moment_show(after, finding);
}

static void check_kept(const struct hq_observations *observations,
		       const struct release_options *options, const struct hq_stats_record *before,
		       const struct hq_stats_record *after, struct hq_findings *findings)
{
	const struct hq_stats_record *start = hq_moment_at(observations, HQ_STATS_START);
	const double start_bytes = start ? (double)start->rss_bytes : 0;
	const double kept = (double)after->rss_bytes - (double)after->lazyfree_bytes;
	const double bound = start_bytes + (double)after->live_bytes * (1 + options->keep) +
			     (double)options->slack;

	if (kept > bound && after->release != HQ_RELEASE_EMPTY)
		report_kept(before, after, kept, bound, findings);
}

static void check_said(const struct release_options *options, const struct hq_stats_record *before,
		       const struct hq_stats_record *after, struct hq_findings *findings)
{
	const double was = (double)before->rss_bytes - (double)before->lazyfree_bytes;
	const double is = (double)after->rss_bytes - (double)after->lazyfree_bytes;
	const double said = (double)after->released_bytes;

	/* What is given back lazily already counts as gone, and may be given back once more. */
	if (after->release == HQ_RELEASE_BYTES &&
	    was - is + (double)before->lazyfree_bytes <
		    said * (1 - options->agree) - (double)options->slack)
		report_said(before, after, said, was - is, findings);
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct hq_stats_record *before = hq_moment_at(observations, HQ_STATS_FREED);
	const struct hq_stats_record *after = hq_moment_at(observations, HQ_STATS_RELEASED);

	if (!hq_moments_are_there(observations, name, findings))
		return;
	if (!before || !after) {
		hq_gap_add(findings, name, "the run never came to the point where it is asked");
		return;
	}
	if (after->release == HQ_RELEASE_NONE) {
		hq_gap_add(findings, name, "this allocator has no call to give memory back");
		return;
	}
	check_kept(observations, values, before, after, findings);
	check_said(values, before, after, findings);
}

const struct hq_checker hq_check_release_works = {
	.name = name,
	.promise = "the call that gives memory back does, or says how little it could",
	.needs = "an allocator with such a call, which is made once everything was freed",
	.on_request = true,
	.takes = HQ_TAKES_STATS | HQ_TAKES_RELEASE,
	.options = options_table,
	.options_size = sizeof(struct release_options),
	.check = check,
};
