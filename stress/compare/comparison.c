/* SPDX-License-Identifier: MIT */
/*
 * Judging series. Each has its own test; what counts as changed is decided over all together, since
 * sixty metrics are sixty chances for an accident.
 */
#include "stress/compare/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stress/compare/discovery.h"

static struct hq_series_of_pairs *find(const struct hq_comparison *comparison, const char *metric,
				       const char *part)
{
	for (size_t i = 0; i < comparison->count; i++) {
		if (!strcmp(comparison->series[i].metric, metric) &&
		    !strcmp(comparison->series[i].part, part))
			return &comparison->series[i];
	}
	return NULL;
}

static struct hq_series_of_pairs *append(struct hq_comparison *comparison,
					 const struct hq_series_of_pairs *what)
{
	if (comparison->count == comparison->room) {
		const size_t room = comparison->room ? 2 * comparison->room : 64;
		struct hq_series_of_pairs *grown =
			reallocarray(comparison->series, room, sizeof(*grown));

		if (!grown)
			return NULL;
		comparison->series = grown;
		comparison->room = room;
	}
	struct hq_series_of_pairs *series = &comparison->series[comparison->count++];

	*series = *what;
	for (size_t i = 0; i < HQ_PAIRS_MAX; i++)
		series->values[HQ_SIDE_A][i] = series->values[HQ_SIDE_B][i] = NAN;
	return series;
}

int hq_comparison_add(struct hq_comparison *comparison, enum hq_side side, size_t pair,
		      const struct hq_series_of_pairs *what, double value)
{
	struct hq_series_of_pairs *series = find(comparison, what->metric, what->part);

	if (pair >= HQ_PAIRS_MAX)
		return -ERANGE;
	if (!series)
		series = append(comparison, what);
	if (!series)
		return -ENOMEM;
	series->values[side][pair] = value;
	if (pair >= comparison->pairs)
		comparison->pairs = pair + 1;
	return 0;
}

static bool is_whole(const struct hq_series_of_pairs *series, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		if (isnan(series->values[HQ_SIDE_A][i]) || isnan(series->values[HQ_SIDE_B][i]))
			return false;
	}
	return true;
}

static void drop_broken(struct hq_comparison *comparison)
{
	size_t kept = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		if (!is_whole(&comparison->series[i], comparison->pairs))
			continue;
		if (kept != i)
			comparison->series[kept] = comparison->series[i];
		kept++;
	}
	comparison->count = kept;
}

/* What has a long tail by its nature: quantiles, largest values, peaks. */
static enum hq_test test_for(const char *metric)
{
	const char *last = strrchr(metric, '.');

	last = last ? last + 1 : metric;
	if (!strncmp(metric, "latency.", 8) && strcmp(last, "count") && strcmp(last, "mean"))
		return HQ_TEST_PERMUTE;
	if (!strcmp(last, "max") || !strcmp(last, "peak"))
		return HQ_TEST_PERMUTE;
	return HQ_TEST_WELCH;
}

static double relative_to(double base, double difference)
{
	if (difference == 0.0)
		return 0.0;
	return base == 0.0 ? copysign(INFINITY, difference) : difference / fabs(base);
}

static void measure(const struct hq_comparison *comparison, struct hq_series_of_pairs *series)
{
	const double *a = series->values[HQ_SIDE_A], *b = series->values[HQ_SIDE_B];
	struct hq_difference *difference = &series->difference;
	const size_t pairs = comparison->pairs;
	double low, high;

	difference->test = test_for(series->metric);
	difference->pairs = pairs;
	difference->welch = hq_welch_test(a, pairs, b, pairs, comparison->confidence);
	difference->a = difference->welch.a.mean;
	difference->b = difference->welch.b.mean;
	difference->p = difference->welch.p;
	low = difference->welch.low;
	high = difference->welch.high;
	if (difference->test == HQ_TEST_PERMUTE) {
		difference->a = hq_median_of(a, pairs);
		difference->b = hq_median_of(b, pairs);
		difference->p = hq_permute_test(a, b, pairs, comparison->seed);
		hq_permute_reach(a, b, pairs, comparison->confidence, comparison->seed, &low,
				 &high);
	}
	difference->relative = relative_to(difference->a, difference->b - difference->a);
	difference->low = relative_to(difference->a, low);
	difference->high = relative_to(difference->a, high);
}

double hq_difference_reach(const struct hq_difference *difference)
{
	return (difference->high - difference->low) / 2.0;
}

static enum hq_change judge_one(const struct hq_comparison *comparison,
				const struct hq_difference *difference)
{
	if (difference->q <= comparison->discovery)
		return difference->b < difference->a ? HQ_CHANGE_LOWER : HQ_CHANGE_HIGHER;
	/* The reach is no number where A was 0 and both ends are infinite: nothing is ruled out. */
	if (hq_difference_reach(difference) <= comparison->resolution)
		return HQ_CHANGE_SAME;
	return HQ_CHANGE_UNSTABLE;
}

/* Raises each p to what the number of questions demands. */
static int adjust(struct hq_comparison *comparison)
{
	double *p = calloc(2 * comparison->count + 1, sizeof(*p));
	double *q = p + comparison->count;
	int status = p ? 0 : -ENOMEM;

	for (size_t i = 0; !status && i < comparison->count; i++)
		p[i] = comparison->series[i].difference.p;
	if (!status)
		status = hq_discovery_adjust(p, q, comparison->count);
	for (size_t i = 0; !status && i < comparison->count; i++)
		comparison->series[i].difference.q = q[i];
	free(p);
	return status;
}

int hq_comparison_judge(struct hq_comparison *comparison)
{
	if (comparison->pairs < 2)
		return -ENODATA;
	drop_broken(comparison);
	for (size_t i = 0; i < comparison->count; i++)
		measure(comparison, &comparison->series[i]);
	const int status = adjust(comparison);

	for (size_t i = 0; !status && i < comparison->count; i++) {
		struct hq_difference *difference = &comparison->series[i].difference;

		difference->change = judge_one(comparison, difference);
	}
	return status;
}

const struct hq_series_of_pairs *hq_comparison_find(const struct hq_comparison *comparison,
						    const char *metric)
{
	return find(comparison, metric, "");
}

const char *hq_change_name(enum hq_change change)
{
	static const char *const names[] = {
		[HQ_CHANGE_SAME] = "same",
		[HQ_CHANGE_LOWER] = "lower",
		[HQ_CHANGE_HIGHER] = "higher",
		[HQ_CHANGE_UNSTABLE] = "unstable",
	};

	return names[change];
}

void hq_comparison_clear(struct hq_comparison *comparison)
{
	free(comparison->series);
	comparison->series = NULL;
	comparison->count = comparison->room = comparison->pairs = 0;
}
