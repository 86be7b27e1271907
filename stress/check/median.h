/* SPDX-License-Identifier: MIT */
/*
 * The value in the middle. Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_MEDIAN_H
#define HQ_STRESS_CHECK_MEDIAN_H

#include <stddef.h>

/* Sorts the values, of which there must be one; of an even number, halfway between the two. */
double hq_median(double *values, size_t count);

#endif
