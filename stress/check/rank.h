/* SPDX-License-Identifier: MIT */
/*
 * Mann and Whitney's rank test, exact: how often would two series of runs differ that much by
 * chance, if they came from one and the same distribution? It knows ranks only, so one wild run
 * weighs no more than any other, and no shape of the distribution is assumed. Private to
 * stress/check.
 */
#ifndef HQ_STRESS_CHECK_RANK_H
#define HQ_STRESS_CHECK_RANK_H

#include <stdbool.h>
#include <stddef.h>

#define HQ_RANK_MAX 32 /* values on a side */

/* In how many of the pairs of one value each the left one is above; a tie counts as told. */
size_t hq_rank_above(const double *left, size_t left_count, const double *right, size_t right_count,
		     bool tie_is_above);

/*
 * The chance of `above` or more of the left_count * right_count pairs where there is no difference.
 * 1 when a side is empty.
 */
double hq_rank_chance(size_t left_count, size_t right_count, size_t above);

#endif
