/* SPDX-License-Identifier: MIT */
/*
 * What an allocator counts can be true at every moment: nothing below zero, blocks within pages
 * within memory within address space, no less than what was asked for, and as much in memory as the
 * kernel shows.
 *
 * Numbers that are not all of one moment may contradict each other by what went on meanwhile, and
 * what is computed from them may come out below zero: they get the slack. That what is committed is
 * more than what is in memory is no breach for those who say nothing else of it.
 */
#include <inttypes.h>

#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "counters-sane";

#define SHOWN   3u
#define WRAPPED (UINT64_MAX / 4) /* no machine has as much */

struct counters_sane_options {
	double agree;
	uint64_t slack;
	bool kernel;
};

static const struct hq_option options_table[] = {
	{ "agree", HQ_OPTION_SHARE, offsetof(struct counters_sane_options, agree), "20%", 0, 0,
	  NULL, "by so much the allocator's resident bytes may differ from the kernel's" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct counters_sane_options, slack), "4MiB", 0, 0,
	  NULL, "and by so much more; also how far numbers of different moments may differ" },
	{ "kernel", HQ_OPTION_BOOL, offsetof(struct counters_sane_options, kernel), "yes", 0, 0,
	  NULL, "without resident bytes to compare with the kernel's nothing is proven" },
	{ .name = NULL },
};

/* The kinds of breach, each one finding at most. */
enum breach { WRAP, ORDER, TOO_FEW, TOO_LOW, TOO_HIGH, BREACH_COUNT };

struct look {
	const struct hq_observations *observations;
	const struct counters_sane_options *options;
	struct hq_findings *findings;
	struct hq_finding *found[BREACH_COUNT];
};

/* The first one makes the sentence, the next ones are counted and shown as long as there is room.
 */
static void report(struct look *look, enum breach breach, const struct hq_stats_record *record,
		   const char *left, const char *right)
{
	static const char *const sentences[] = {
		[WRAP] = "it counts below zero",
		[ORDER] = "it counts more",
		[TOO_FEW] = "it counts fewer allocated bytes than were asked for",
		[TOO_LOW] = "it counts less resident memory than the kernel",
		[TOO_HIGH] = "it counts more resident memory than the kernel",
	};
	struct hq_finding *finding = look->found[breach];

	if (finding) {
		if (++finding->count > SHOWN)
			return;
	} else if (breach == ORDER) {
		finding = hq_finding_add(look->findings, name, "%s %s than %s bytes",
					 sentences[breach], left, right);
	} else {
		finding = hq_finding_add(look->findings, name, "%s%s%s", sentences[breach],
					 left ? ": " : "", left ? left : "");
	}
	look->found[breach] = finding;
	hq_moment_show(record, finding);
}

/* By how much numbers of that record may contradict each other. */
static uint64_t slack_of(const struct look *look, const struct hq_stats_record *record)
{
	const bool exact = look->observations->stats_promises & HQ_STATS_IS_ONE_MOMENT;

	return exact ? 0 : look->options->slack + record->live_spread_bytes;
}

static bool is_below_zero(const struct look *look, const struct hq_stats_record *record, int stat)
{
	const uint64_t value = record->values[stat];

	if (!hq_moment_knows(record, (enum hq_stat)stat) || value < WRAPPED)
		return false;
	return hq_moment_is_quiet(record) || -value > slack_of(look, record);
}

/* False if the record is of no further use. */
static bool check_wrap(struct look *look, const struct hq_stats_record *record)
{
	bool wrapped = false;

	for (int i = 0; i < HQ_STAT_COUNT; i++) {
		wrapped = wrapped || (hq_moment_knows(record, (enum hq_stat)i) &&
				      record->values[i] >= WRAPPED);
		if (!is_below_zero(look, record, i))
			continue;
		report(look, WRAP, record, hq_moment_stat_name((enum hq_stat)i), NULL);
		return false;
	}
	return !wrapped;
}

static void check_order(struct look *look, const struct hq_stats_record *record)
{
	const uint64_t slack = slack_of(look, record);
	int lower = -1;

	for (int i = HQ_STAT_ALLOCATED; i <= HQ_STAT_MAPPED; i++) {
		if (!hq_moment_knows(record, (enum hq_stat)i))
			continue;
		if (lower >= 0 && record->values[lower] > record->values[i] + slack)
			report(look, ORDER, record, hq_moment_stat_name((enum hq_stat)lower),
			       hq_moment_stat_name((enum hq_stat)i));
		lower = i;
	}
}

static void check_live(struct look *look, const struct hq_stats_record *record)
{
	if (hq_moment_knows(record, HQ_STAT_ALLOCATED) &&
	    record->values[HQ_STAT_ALLOCATED] + look->options->slack < record->live_bytes)
		report(look, TOO_FEW, record, NULL, NULL);
}

/*
 * The kernel is asked after the allocator: what went back in between, while the program did
 * nothing, is still in the reading before.
 */
static double most_by_kernel(const struct hq_observations *observations,
			     const struct hq_stats_record *record)
{
	const uint64_t after = hq_moment_rss_bytes(observations, record);
	const bool did_nothing = record > observations->stats &&
				 record[-1].live_bytes == record->live_bytes &&
				 hq_moment_is_quiet(record - 1);
	const uint64_t before = did_nothing ? hq_moment_rss_bytes(observations, record - 1) : 0;

	return (double)(after > before ? after : before);
}

/* False if there is nothing to compare. */
static bool check_resident(struct look *look, const struct hq_stats_record *record)
{
	const uint32_t promises = look->observations->stats_promises;
	const double factor = 1 + look->options->agree, slack = (double)look->options->slack;
	const double kernel = (double)hq_moment_rss_bytes(look->observations, record);
	const double own = (double)record->values[HQ_STAT_RESIDENT];

	if (!hq_moment_knows(record, HQ_STAT_RESIDENT) ||
	    ((promises & HQ_STATS_IS_SUMMED) && record->workers != 0))
		return false;
	if (kernel > own * factor + slack)
		report(look, TOO_LOW, record, NULL, NULL);
	if ((promises & HQ_STATS_IS_TOUCHED) &&
	    own > most_by_kernel(look->observations, record) * factor + slack)
		report(look, TOO_HIGH, record, NULL, NULL);
	return true;
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	struct look look = { .observations = observations,
			     .options = values,
			     .findings = findings };
	bool any = false, compared = false;

	if (!hq_moments_are_there(observations, name, findings))
		return;
	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		any = any || record->known != 0;
		if (!check_wrap(&look, record))
			continue;
		check_order(&look, record);
		if (!hq_moment_is_quiet(record))
			continue;
		check_live(&look, record);
		compared = check_resident(&look, record) || compared;
	}
	if (!any)
		hq_gap_add(findings, name, "this allocator offers no statistics");
	else if (!compared && look.options->kernel)
		hq_gap_add(findings, name,
			   "this allocator does not say what is resident: the kernel's figure was "
			   "compared with nothing");
}

const struct hq_checker hq_check_counters_sane = {
	.name = name,
	.promise =
		"what the allocator counts is possible at every moment, and near what the kernel "
		"shows",
	.needs = "statistics of the allocator",
	.on_request = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct counters_sane_options),
	.check = check,
};
