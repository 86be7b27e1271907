/* SPDX-License-Identifier: MIT */
/*
 * From the largest p to the smallest: q = p * questions / rank, and never more than that of the
 * next larger p.
 */
#include "stress/compare/discovery.h"

#include <errno.h>
#include <gsl/gsl_heapsort.h>
#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int hq_discovery_adjust(const double *p, double *q, size_t count)
{
	double *known = calloc(count ? count : 1, sizeof(*known));
	size_t *order = calloc(count ? count : 1, sizeof(*order));
	size_t *place = calloc(count ? count : 1, sizeof(*place));
	const int status = known && order && place ? 0 : -ENOMEM;
	size_t questions = 0;
	double least = 1.0;

	for (size_t i = 0; !status && i < count; i++) {
		q[i] = p[i];
		if (isnan(p[i]))
			continue;
		place[questions] = i;
		known[questions++] = p[i];
	}
	if (!status && questions)
		gsl_heapsort_index(order, known, questions, sizeof(*known), by_value);
	for (size_t rank = questions; !status && rank > 0; rank--) {
		const size_t one = order[rank - 1];

		least = fmin(least, known[one] * (double)questions / (double)rank);
		q[place[one]] = least;
	}
	free(known);
	free(order);
	free(place);
	return status;
}
