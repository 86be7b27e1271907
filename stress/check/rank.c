/* SPDX-License-Identifier: MIT */
/*
 * The exact distribution comes from its generating function, the Gaussian binomial coefficient
 * prod (1 - q^(right + i)) / (1 - q^i): the coefficient of q^u is the number of orders in which u
 * pairs have the left value below. What is far out is a sum of few small integers, so it is exact
 * where it matters.
 */
#include "stress/check/rank.h"

size_t hq_rank_above(const double *left, size_t left_count, const double *right, size_t right_count,
		     bool tie_is_above)
{
	size_t above = 0;

	for (size_t i = 0; i < left_count; i++) {
		for (size_t j = 0; j < right_count; j++)
			above += left[i] > right[j] || (tie_is_above && left[i] == right[j]);
	}
	return above;
}

/* Multiplies by 1 - q^degree. */
static void multiply(double *orders, size_t size, size_t degree)
{
	for (size_t u = size; u-- > degree;)
		orders[u] -= orders[u - degree];
}

/* Divides by 1 - q^degree. */
static void divide(double *orders, size_t size, size_t degree)
{
	for (size_t u = degree; u < size; u++)
		orders[u] += orders[u - degree];
}

double hq_rank_chance(size_t left_count, size_t right_count, size_t above)
{
	const size_t pairs = left_count * right_count, size = pairs + 1;
	double orders[HQ_RANK_MAX * HQ_RANK_MAX + 1] = { 1.0 };
	double all = 0.0, tail = 0.0;

	if (pairs == 0 || left_count > HQ_RANK_MAX || right_count > HQ_RANK_MAX)
		return 1.0;
	for (size_t i = 1; i <= left_count; i++) {
		multiply(orders, size, right_count + i);
		divide(orders, size, i);
	}
	/* It is symmetric: `above` pairs above are as likely as that many below. */
	for (size_t u = 0; u < size; u++) {
		all += orders[u];
		tail += u + above <= pairs ? orders[u] : 0.0;
	}
	return tail / all;
}
