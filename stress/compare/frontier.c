/* SPDX-License-Identifier: MIT */
/*
 * Every point against every other: grids are small.
 */
#include "stress/compare/frontier.h"

#include <math.h>

/* Below 0: `left` is better. */
static int rank(double left, double right, double tolerance)
{
	if (isnan(left) || isnan(right))
		return isnan(left) - isnan(right);
	if (fabs(left - right) <= tolerance * fmax(fabs(left), fabs(right)))
		return 0;
	return left < right ? -1 : 1;
}

static bool dominates(const double *one, const double *other, size_t metrics, double tolerance)
{
	bool better = false;

	for (size_t i = 0; i < metrics; i++) {
		const int order = rank(one[i], other[i], tolerance);

		if (order > 0)
			return false;
		better = better || order < 0;
	}
	return better;
}

void hq_frontier_find(const double *values, size_t points, size_t metrics, double tolerance,
		      bool *on_frontier)
{
	for (size_t i = 0; i < points; i++) {
		on_frontier[i] = true;
		for (size_t j = 0; on_frontier[i] && j < points; j++)
			on_frontier[i] = !dominates(values + j * metrics, values + i * metrics,
						    metrics, tolerance);
	}
}
