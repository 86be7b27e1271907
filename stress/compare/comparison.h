/* SPDX-License-Identifier: MIT */
/*
 * What differs between two sides, A and B, that were run in pairs. Pure: values in, differences
 * out. Nouns:
 *
 *   series       one metric of one part of the work: a value a pair on each side
 *   part         a query of a workload that has several, "" for the whole
 *   comparison   all series, and how they are judged
 *   difference   what came out for one series
 */
#ifndef HQ_STRESS_COMPARE_COMPARISON_H
#define HQ_STRESS_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/check/check.h"
#include "stress/compare/permute.h"
#include "stress/compare/welch.h"

enum hq_side { HQ_SIDE_A, HQ_SIDE_B };

enum hq_change {
	HQ_CHANGE_SAME,     /* no difference seen, and none larger than the resolution is likely */
	HQ_CHANGE_LOWER,    /* B is lower */
	HQ_CHANGE_HIGHER,   /* B is higher */
	HQ_CHANGE_UNSTABLE, /* no difference seen, but one larger than the resolution would be
			       missed */
};

/* Which test fits the metric. */
enum hq_test {
	HQ_TEST_WELCH,   /* sums and counts: means, t-test */
	HQ_TEST_PERMUTE, /* quantiles, peaks, maxima: medians, permutations */
};

struct hq_difference {
	enum hq_test test;
	size_t pairs;
	struct hq_welch welch; /* means, deviations; its t only where `test` says so */
	double a, b;           /* mean or median */
	double relative;       /* (b - a) / |a|; infinite if a alone is 0 */
	double low, high;      /* confidence interval of `relative` */
	double p, q;           /* of this series alone; among all of the comparison */
	enum hq_change change;
};

struct hq_series_of_pairs {
	char metric[72];
	char part[48];  /* "" for the whole work */
	char group[32]; /* of parts; "" */
	enum hq_unit unit;
	double values[2][HQ_PAIRS_MAX]; /* enum hq_side; NAN: not seen in that run */
	struct hq_difference difference;
};

struct hq_comparison {
	double confidence; /* of the intervals: 0.95 */
	double discovery;  /* rate of false discoveries that is let through: 0.05 */
	double resolution; /* relative change that must not be missed: 0.05 */
	uint64_t seed;     /* of what is drawn */
	size_t pairs;
	struct hq_series_of_pairs *series;
	size_t count, room;
};

/* Enters a value; `pair` counts from 0. 0, -ENOMEM, or -ERANGE beyond HQ_PAIRS_MAX. */
int hq_comparison_add(struct hq_comparison *comparison, enum hq_side side, size_t pair,
		      const struct hq_series_of_pairs *what, double value);

/*
 * Drops series that were not seen in every run of both sides, and judges the rest. May be called
 * again when there are more pairs. 0, -ENOMEM, or -ENODATA with less than two pairs.
 */
int hq_comparison_judge(struct hq_comparison *comparison);

/* The series of the whole work; NULL if there is none of that name. */
const struct hq_series_of_pairs *hq_comparison_find(const struct hq_comparison *comparison,
						    const char *metric);

/* Half the width of the interval: the smallest relative change that would have been seen. */
double hq_difference_reach(const struct hq_difference *difference);

const char *hq_change_name(enum hq_change change); /* "same", "lower", "higher", "unstable" */

void hq_comparison_clear(struct hq_comparison *comparison);

#endif
