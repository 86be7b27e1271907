/* SPDX-License-Identifier: MIT */
/*
 * What an allocator keeps beside the live blocks is bounded by size at every moment, whichever
 * threads made the bursts: resident memory is at most (1 + keep) times the most that was live of
 * late, and some slack. It is measured from outside, so that nothing depends on what the allocator
 * counts: unused pages, caches and holes alike.
 *
 * How much of it is lazily freed, and so is not kept, is read at quiet points only. What was read
 * at work is believed to have had as much of it as any of those: beyond that it is a finding, and
 * between the two nobody can tell.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "cache-bounded";

#define SHOWN 3u

struct cache_bounded_options {
	double keep;
	uint64_t slack;
	uint64_t recent;
};

static const struct hq_option options_table[] = {
	{ "keep", HQ_OPTION_SHARE, offsetof(struct cache_bounded_options, keep), "50%", 0, 0, NULL,
	  "share of the live bytes that may be kept besides them" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct cache_bounded_options, slack), "16MiB", 0, 0,
	  NULL, "and so many bytes more" },
	{ "recent", HQ_OPTION_DURATION, offsetof(struct cache_bounded_options, recent), "1s", 0, 0,
	  NULL, "live is the most that was live since so long ago" },
	{ .name = NULL },
};

/* The most that was live at or shortly before the record, over the records. */
static uint64_t recent_bytes(const struct hq_observations *observations, size_t index,
			     uint64_t recent_ns)
{
	const uint64_t now_ns = observations->stats[index].time_ns;
	uint64_t most = 0;

	for (size_t i = index + 1; i-- > 0;) {
		const struct hq_stats_record *record = &observations->stats[i];
		const uint64_t live = record->live_bytes + record->live_spread_bytes;

		if (record->time_ns + recent_ns < now_ns)
			break;
		most = live > most ? live : most;
	}
	return most;
}

/* At most so much of the record's resident memory is taken for lazily freed unseen. */
static uint64_t unseen_lazy_bytes(const struct hq_observations *observations,
				  const struct hq_stats_record *record)
{
	uint64_t most = 0;

	for (size_t i = 0; !record->has_lazyfree && i < observations->stats_count; i++) {
		if (observations->stats[i].lazyfree_bytes > most)
			most = observations->stats[i].lazyfree_bytes;
	}
	return most;
}

static struct hq_finding *report(double held, double bound, struct hq_findings *findings)
{
	char much[HQ_UNITS_TEXT], allowed[HQ_UNITS_TEXT];

	hq_value_print(much, sizeof(much), HQ_UNIT_BYTES, held);
	hq_value_print(allowed, sizeof(allowed), HQ_UNIT_BYTES, bound);
	return hq_finding_add(findings, name, "it holds %s where at most %s may be held", much,
			      allowed);
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct cache_bounded_options *options = values;
	struct hq_finding *finding = NULL;
	bool any = false, at_work = false, unsure = false;

	if (!hq_moments_are_there(observations, name, findings))
		return;
	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];
		const double live = (double)recent_bytes(observations, i, options->recent);
		const double held = (double)hq_moment_rss_bytes(observations, record);
		const double bound = live * (1 + options->keep) + (double)options->slack;

		any = any || live > 0;
		at_work = at_work || !hq_moment_is_quiet(record);
		if (held <= bound)
			continue;
		if (held - (double)unseen_lazy_bytes(observations, record) <= bound) {
			unsure = true;
			continue;
		}
		if (finding)
			finding->count++;
		else
			finding = report(held, bound, findings);
		if (finding && finding->count <= SHOWN)
			hq_moment_show(record, finding);
	}
	if (!any)
		hq_gap_add(findings, name, "nothing was live at any moment that was recorded");
	else if (!at_work)
		hq_gap_add(findings, name, "no moment was recorded while it worked");
	else if (unsure && !finding)
		hq_gap_add(findings, name,
			   "what it held at work may have been lazily freed, or too much");
}

const struct hq_checker hq_check_cache_bounded = {
	.name = name,
	.promise = "what is kept beside the live blocks is bounded by their size at every moment",
	.needs = "a built-in workload that works for longer than `statistics`",
	.on_request = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct cache_bounded_options),
	.check = check,
};
