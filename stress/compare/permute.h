/* SPDX-License-Identifier: MIT */
/*
 * A permutation test for what no t-test is for: quantiles, peaks and maxima, whose distributions
 * have long tails. The runs were made in pairs, and which side went first was drawn; if the sides
 * are the same, swapping the two values of a pair changes nothing. So: of all ways to swap, how
 * many give a sum of signed ranks as far from 0 as the one that was seen? Ranks, so that one wild
 * run weighs no more than any other.
 *
 * Source: R. A. Fisher, "The Design of Experiments" (1935), chapter 3; F. Wilcoxon, "Individual
 * comparisons by ranking methods", Biometrics Bulletin 1 (1945).
 */
#ifndef HQ_STRESS_COMPARE_PERMUTE_H
#define HQ_STRESS_COMPARE_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

#define HQ_PAIRS_MAX     128
#define HQ_PERMUTE_EXACT 13   /* pairs up to which every way is tried */
#define HQ_PERMUTE_DRAWN 9999 /* ways that are drawn beyond that */
#define HQ_REACH_DRAWN   2000

/* NAN of none, or of more than HQ_PAIRS_MAX. */
double hq_median_of(const double *values, size_t count);

/*
 * The chance of such a sum, in both directions together. a[i] and b[i] are of one pair. `seed`
 * matters beyond HQ_PERMUTE_EXACT pairs only. 1 without any pair, or with more than HQ_PAIRS_MAX.
 */
double hq_permute_test(const double *a, const double *b, size_t pairs, uint64_t seed);

/*
 * Confidence interval of median b - median a, by drawing pairs anew from those that were seen.
 * Source: B. Efron, "Bootstrap methods", Ann. Statist. 7 (1979). Infinite without any pair.
 */
void hq_permute_reach(const double *a, const double *b, size_t pairs, double confidence,
		      uint64_t seed, double *low, double *high);

#endif
