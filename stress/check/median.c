/* SPDX-License-Identifier: MIT */
/*
 * By sorting: the series here are short.
 */
#include "stress/check/median.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double hq_median(double *values, size_t count)
{
	qsort(values, count, sizeof(values[0]), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}
