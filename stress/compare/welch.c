/* SPDX-License-Identifier: MIT */
/*
 * The t-test. Sums are taken twice, once for the mean and once around it: counters of 10^12 with a
 * spread of a few would lose it otherwise.
 */
#include "stress/compare/welch.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

struct hq_moments hq_moments_of(const double *values, size_t count)
{
	struct hq_moments moments = { 0.0, 0.0 };
	double squares = 0.0;

	for (size_t i = 0; i < count; i++)
		moments.mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - moments.mean) * (values[i] - moments.mean);
	if (count > 1)
		moments.deviation = sqrt(squares / (double)(count - 1));
	return moments;
}

/* Nothing varies: what is seen is what there is. */
static void judge_constants(struct hq_welch *test, size_t values)
{
	const double difference = test->b.mean - test->a.mean;

	test->freedom = (double)values - 2.0;
	test->p = difference == 0.0 ? 1.0 : 0.0;
	test->t = difference == 0.0 ? 0.0 : copysign(INFINITY, difference);
	test->low = test->high = difference;
}

struct hq_welch hq_welch_test(const double *a, size_t a_count, const double *b, size_t b_count,
			      double confidence)
{
	struct hq_welch test = { .a = hq_moments_of(a, a_count), .b = hq_moments_of(b, b_count) };
	const double difference = test.b.mean - test.a.mean;
	const double of_a = test.a.deviation * test.a.deviation / (double)a_count;
	const double of_b = test.b.deviation * test.b.deviation / (double)b_count;
	const double error = sqrt(of_a + of_b);

	/* Rounding in the mean alone is no spread. */
	if (error <= 1e-12 * fmax(fabs(test.a.mean), fabs(test.b.mean))) {
		judge_constants(&test, a_count + b_count);
		return test;
	}
	test.freedom =
		(of_a + of_b) * (of_a + of_b) /
		(of_a * of_a / ((double)a_count - 1.0) + of_b * of_b / ((double)b_count - 1.0));
	test.t = difference / error;
	test.p = 2.0 * gsl_cdf_tdist_Q(fabs(test.t), test.freedom);
	const double reach = error * gsl_cdf_tdist_Qinv((1.0 - confidence) / 2.0, test.freedom);

	test.low = difference - reach;
	test.high = difference + reach;
	return test;
}
