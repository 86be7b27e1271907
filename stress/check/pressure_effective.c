/* SPDX-License-Identifier: MIT */
/*
 * What is done against pressure reaches what pressure is measured by: once the load has stopped and
 * the allocator was asked to give memory back, the figure by which it (or whoever watches it)
 * decides has fallen. A figure that stays high although all is given back, or one that the call
 * does not touch, makes a watcher shrink for ever.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "pressure-effective";

enum figure { FIGURE_ACTIVE, FIGURE_DIRTY, FIGURE_RESIDENT };
static const char *const figure_names[] = { "active", "dirty", "resident", NULL };
static const enum hq_stat figures[] = {
	[FIGURE_ACTIVE] = HQ_STAT_ACTIVE,
	[FIGURE_DIRTY] = HQ_STAT_DIRTY,
	[FIGURE_RESIDENT] = HQ_STAT_RESIDENT,
};

struct pressure_options {
	uint32_t figure; /* enum figure */
	double keep;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct pressure_options, field)

static const struct hq_option options_table[] = {
	{ "figure", HQ_OPTION_ENUM, AT(figure), "resident", 0, 0, figure_names,
	  "which of the allocator's own figures pressure is measured by" },
	{ "keep", HQ_OPTION_SHARE, AT(keep), "10%", 0, 0, NULL,
	  "share of its highest value that it may still have" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "8MiB", 0, 0, NULL,
	  "what it may have besides, and besides what is live" },
	{ .name = NULL },
};

/*
 * The record in which the figure is highest, up to the moment of the call; NULL: it is not told.
 * One that went below zero, which is for counters-sane, would be the highest of all and hide the
 * rest.
 */
static const struct hq_stats_record *highest(const struct hq_observations *observations,
					     enum hq_stat stat)
{
	const struct hq_stats_record *found = NULL;

	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (record->point == HQ_STATS_RELEASED)
			break;
		if (hq_moment_knows(record, stat) && (int64_t)record->values[stat] >= 0 &&
		    (!found || record->values[stat] > found->values[stat]))
			found = record;
	}
	return found;
}

static void report(const struct pressure_options *options, const struct hq_stats_record *before,
		   const struct hq_stats_record *after, double bound, struct hq_findings *findings)
{
	const enum hq_stat stat = figures[options->figure];
	char value[HQ_UNITS_TEXT], allowed[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	hq_value_print(value, sizeof(value), HQ_UNIT_BYTES, (double)after->values[stat]);
	hq_value_print(allowed, sizeof(allowed), HQ_UNIT_BYTES, bound);
	finding = hq_finding_add(findings, name,
				 "giving memory back does not bring the figure '%s' down "
				 "(it is %s, at most %s allowed)",
				 hq_moment_stat_name(stat), value, allowed);
	hq_moment_show(before, finding);
	hq_moment_show(after, finding);
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct pressure_options *options = values;
	const enum hq_stat stat = figures[options->figure];
	const struct hq_stats_record *before = highest(observations, stat);
	const struct hq_stats_record *after = hq_moment_at(observations, HQ_STATS_RELEASED);

	if (!hq_moments_are_there(observations, name, findings))
		return;
	if (!after || after->release == HQ_RELEASE_NONE) {
		hq_gap_add(findings, name, "the allocator was not asked to give memory back");
		return;
	}
	if (!before || !hq_moment_knows(after, stat)) {
		hq_gap_add(findings, name, "this allocator does not tell the figure '%s'",
			   hq_moment_stat_name(stat));
		return;
	}
	const double bound = options->keep * (double)before->values[stat] +
			     (double)after->live_bytes + (double)options->slack_bytes;

	if ((double)before->values[stat] <= bound)
		hq_gap_add(findings, name, "the figure '%s' was never high enough to fall",
			   hq_moment_stat_name(stat));
	else if ((double)after->values[stat] > bound)
		report(options, before, after, bound, findings);
}

const struct hq_checker hq_check_pressure_effective = {
	.name = name,
	.promise = "the call that gives memory back brings down the figure that asked for it",
	.needs = "an allocator that tells the figure and has such a call, and a burst",
	.on_request = true,
	.takes = HQ_TAKES_STATS | HQ_TAKES_RELEASE,
	.options = options_table,
	.options_size = sizeof(struct pressure_options),
	.check = check,
};
