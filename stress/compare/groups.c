/* SPDX-License-Identifier: MIT */
/*
 * Summing up parts. Changes that are infinite (A had none at all) are left out of averages and
 * curves.
 */
#include "stress/compare/groups.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_part(const struct hq_series_of_pairs *series, const char *metric)
{
	return series->part[0] && !strcmp(series->metric, metric) &&
	       isfinite(series->difference.relative);
}

size_t hq_groups_changes(const struct hq_comparison *comparison, const char *metric,
			 double *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		if (is_part(&comparison->series[i], metric))
			changes[count++] = comparison->series[i].difference.relative;
	}
	gsl_sort(changes, 1, count);
	return count;
}

static double spread_of(const double *values, size_t count)
{
	size_t low, high;

	gsl_stats_minmax_index(&low, &high, values, 1, count);
	const double range = values[high] - values[low], median = hq_median_of(values, count);

	return range == 0.0 ? 0.0 : range / fabs(median);
}

size_t hq_groups_spreads(const struct hq_comparison *comparison, const char *metric,
			 enum hq_side side, double *spreads)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		const struct hq_series_of_pairs *series = &comparison->series[i];

		if (is_part(series, metric))
			spreads[count++] = spread_of(series->values[side], comparison->pairs);
	}
	gsl_sort(spreads, 1, count);
	return count;
}

/* ---- groups ---- */

static struct hq_group *group_of(struct hq_group *groups, size_t *count, const char *name)
{
	for (size_t i = 0; i < *count; i++) {
		if (!strcmp(groups[i].name, name))
			return &groups[i];
	}
	if (*count == HQ_GROUPS_MAX)
		return NULL;
	strcpy(groups[*count].name, name);
	return &groups[(*count)++];
}

static int by_size_of_change(const void *left, const void *right)
{
	const double a = fabs(((const struct hq_group *)left)->change);
	const double b = fabs(((const struct hq_group *)right)->change);

	return (b > a) - (b < a);
}

static void find_most(const struct hq_comparison *comparison, const char *metric,
		      struct hq_part_summary *summary)
{
	struct hq_group groups[HQ_GROUPS_MAX] = { { .parts = 0 } };
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		const struct hq_series_of_pairs *series = &comparison->series[i];
		struct hq_group *group = NULL;

		if (is_part(series, metric))
			group = group_of(groups, &count, series->group);
		if (!group)
			continue;
		group->parts++;
		group->change +=
			(series->difference.relative - group->change) / (double)group->parts;
	}
	qsort(groups, count, sizeof(*groups), by_size_of_change);
	summary->most_count = count < HQ_GROUPS_MOST ? count : HQ_GROUPS_MOST;
	memcpy(summary->most, groups, summary->most_count * sizeof(*groups));
}

static void count_changes(const struct hq_comparison *comparison, const char *metric,
			  struct hq_part_summary *summary)
{
	for (size_t i = 0; i < comparison->count; i++) {
		const enum hq_change change = comparison->series[i].difference.change;

		if (!is_part(&comparison->series[i], metric))
			continue;
		summary->changed += change == HQ_CHANGE_LOWER || change == HQ_CHANGE_HIGHER;
		summary->unstable += change == HQ_CHANGE_UNSTABLE;
	}
}

bool hq_groups_sum(const struct hq_comparison *comparison, const char *metric,
		   struct hq_part_summary *summary)
{
	double *changes = calloc(comparison->count + 1, sizeof(*changes));
	const size_t count = changes ? hq_groups_changes(comparison, metric, changes) : 0;

	*summary = (struct hq_part_summary){ .parts = count };
	strcpy(summary->metric, metric);
	if (count) {
		summary->min = changes[0];
		summary->median = gsl_stats_median_from_sorted_data(changes, 1, count);
		summary->max = changes[count - 1];
		summary->average = gsl_stats_mean(changes, 1, count);
		count_changes(comparison, metric, summary);
		find_most(comparison, metric, summary);
	}
	free(changes);
	return count > 0;
}
