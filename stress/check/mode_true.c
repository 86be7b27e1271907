/* SPDX-License-Identifier: MIT */
/*
 * What an allocator says of the way it works is what it does: it has as many threads of its own as
 * it says, no more caches than there are threads, and it gives pages back lazily only if it says
 * so. A thread comes and goes while it is counted, so what counts is what every quiet reading
 * shows. What it says nothing of is not compared, which is a gap where the scenario asks for it.
 */
#include <inttypes.h>

#include "stress/check/moments.h"
#include "stress/check/table.h"

static const char name[] = "mode-true";

struct mode_true_options {
	uint64_t slack;
	bool threads, caches, lazy;
};

static const struct hq_option options_table[] = {
	{ "slack", HQ_OPTION_SIZE, offsetof(struct mode_true_options, slack), "256KiB", 0, 0, NULL,
	  "so many lazily freed bytes may be somebody else's" },
	{ "threads", HQ_OPTION_BOOL, offsetof(struct mode_true_options, threads), "yes", 0, 0, NULL,
	  "without its number of threads nothing is proven" },
	{ "caches", HQ_OPTION_BOOL, offsetof(struct mode_true_options, caches), "no", 0, 0, NULL,
	  "without its number of caches nothing is proven" },
	{ "lazy", HQ_OPTION_BOOL, offsetof(struct mode_true_options, lazy), "no", 0, 0, NULL,
	  "without its number of lazy purges, or the kernel's LazyFree, nothing is proven" },
	{ .name = NULL },
};

/* Threads that are neither the host's first one nor a worker. */
static uint64_t own_threads(const struct hq_stats_record *record)
{
	const uint64_t known = 1 + record->workers;

	return record->threads > known ? record->threads - known : 0;
}

static bool counts_threads(const struct hq_stats_record *record)
{
	return (record->point == HQ_STATS_WORKED || record->point == HQ_STATS_IDLE) &&
	       record->threads != 0 && hq_moment_knows(record, HQ_STAT_BACKGROUND);
}

/* False if nothing is known of it. */
static bool check_threads(const struct hq_observations *observations, struct hq_findings *findings)
{
	const struct hq_stats_record *last = NULL;
	bool right = false;

	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (!counts_threads(record))
			continue;
		last = record;
		right = right || record->values[HQ_STAT_BACKGROUND] == own_threads(record);
	}
	if (last && !right)
		hq_moment_show(last,
			       hq_finding_add(findings, name,
					      "it says that it has %" PRIu64
					      " threads of its own, and the process has %" PRIu64,
					      last->values[HQ_STAT_BACKGROUND], own_threads(last)));
	return last != NULL;
}

static bool check_caches(const struct hq_observations *observations, struct hq_findings *findings)
{
	bool known = false;

	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (!hq_moment_knows(record, HQ_STAT_CACHES) || record->threads == 0)
			continue;
		known = true;
		if (record->values[HQ_STAT_CACHES] <= record->threads)
			continue;
		hq_moment_show(record,
			       hq_finding_add(findings, name,
					      "it says that it has caches of %" PRIu64
					      " threads, and the process has %" PRIu64 " threads",
					      record->values[HQ_STAT_CACHES], record->threads));
		break;
	}
	return known;
}

static bool check_lazy(const struct hq_observations *observations, uint64_t slack,
		       struct hq_findings *findings)
{
	bool known = false;

	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (!hq_moment_knows(record, HQ_STAT_LAZY_PURGES) || !record->has_lazyfree)
			continue;
		known = true;
		if (record->values[HQ_STAT_LAZY_PURGES] != 0 || record->lazyfree_bytes <= slack)
			continue;
		hq_moment_show(record, hq_finding_add(findings, name,
						      "it says that it gives nothing back lazily, "
						      "and there are such pages"));
		break;
	}
	return known;
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct mode_true_options *options = values;

	if (!hq_moments_are_there(observations, name, findings))
		return;
	if (!check_threads(observations, findings) && options->threads)
		hq_gap_add(findings, name, "this allocator says nothing of its threads");
	if (!check_caches(observations, findings) && options->caches)
		hq_gap_add(findings, name, "this allocator says nothing of its caches");
	if (!check_lazy(observations, options->slack, findings) && options->lazy)
		hq_gap_add(findings, name, "nothing is said of lazy purges, or of LazyFree");
}

const struct hq_checker hq_check_mode_true = {
	.name = name,
	.promise = "what the allocator says of its own threads, caches and purges is what it has",
	.needs = "statistics of the allocator that say it",
	.on_request = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct mode_true_options),
	.check = check,
};
