/* SPDX-License-Identifier: MIT */
/*
 * Welch's t-test: do two series of runs have different means, when nothing is known of their
 * spreads? With the degrees of freedom of Welch and Satterthwaite and a confidence interval for the
 * difference, as R's t.test prints them.
 *
 * Source: B. L. Welch, "The generalization of 'Student's' problem when several different population
 * variances are involved", Biometrika 34 (1947).
 */
#ifndef HQ_STRESS_COMPARE_WELCH_H
#define HQ_STRESS_COMPARE_WELCH_H

#include <stddef.h>

struct hq_moments {
	double mean;
	double deviation; /* of the sample, n - 1; 0 for a single value */
};

struct hq_welch {
	struct hq_moments a, b;
	double t;         /* of mean b - mean a; infinite where only the means differ */
	double freedom;   /* degrees of freedom, not rounded */
	double p;         /* two-sided */
	double low, high; /* confidence interval of mean b - mean a */
};

struct hq_moments hq_moments_of(const double *values, size_t count);

/*
 * Both sides need two values at least. `confidence` is that of the interval, 0.95 for 95 %. Series
 * without any spread are compared by their values alone: p is 1 if they are equal, 0 if not.
 */
struct hq_welch hq_welch_test(const double *a, size_t a_count, const double *b, size_t b_count,
			      double confidence);

#endif
