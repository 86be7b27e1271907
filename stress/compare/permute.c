/* SPDX-License-Identifier: MIT */
/*
 * Few pairs are swapped in every possible way, so the answer is exact; of many, ways are drawn, and
 * the one that was seen counts as one of them, so that the chance is never given as 0.
 */
#include "stress/compare/permute.h"

#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

double hq_median_of(const double *values, size_t count)
{
	double sorted[HQ_PAIRS_MAX];

	if (count == 0 || count > HQ_PAIRS_MAX)
		return NAN;
	memcpy(sorted, values, count * sizeof(*sorted));
	gsl_sort(sorted, 1, count);
	return gsl_stats_median_from_sorted_data(sorted, 1, count);
}

static gsl_rng *new_draws(uint64_t seed)
{
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);

	if (draws)
		gsl_rng_set(draws, (unsigned long)seed);
	return draws;
}

/*
 * Signed ranks of the differences, b - a: +1 for the smallest rise, -2 for a fall that is the
 * second in size. Equals share their ranks; pairs without a difference have rank 0.
 */
static void rank_differences(const double *a, const double *b, size_t pairs, double *ranks)
{
	double sizes[HQ_PAIRS_MAX];

	for (size_t i = 0; i < pairs; i++)
		sizes[i] = fabs(b[i] - a[i]);
	for (size_t i = 0; i < pairs; i++) {
		size_t below = 0, equal = 0;

		for (size_t j = 0; j < pairs; j++) {
			below += sizes[j] != 0.0 && sizes[j] < sizes[i];
			equal += sizes[j] == sizes[i];
		}
		const double rank = (double)below + ((double)equal + 1.0) / 2.0;

		ranks[i] = sizes[i] == 0.0 ? 0.0 : copysign(rank, b[i] - a[i]);
	}
}

/* The sum when the pairs of this way are swapped: bits of its number, or draws. */
static double sum_of(const double *ranks, size_t pairs, uint64_t way, gsl_rng *draws)
{
	double sum = 0.0;

	for (size_t i = 0; i < pairs; i++) {
		const bool swapped = draws ? gsl_rng_uniform(draws) < 0.5 : way >> i & 1u;

		sum += swapped ? -ranks[i] : ranks[i];
	}
	return sum;
}

double hq_permute_test(const double *a, const double *b, size_t pairs, uint64_t seed)
{
	const bool exact = pairs <= HQ_PERMUTE_EXACT;
	const uint64_t ways = exact ? 1ull << pairs : HQ_PERMUTE_DRAWN;
	uint64_t as_far = exact ? 0 : 1;
	double ranks[HQ_PAIRS_MAX];

	if (pairs == 0 || pairs > HQ_PAIRS_MAX)
		return 1.0;
	gsl_rng *draws = exact ? NULL : new_draws(seed);

	if (!exact && !draws)
		return 1.0;
	rank_differences(a, b, pairs, ranks);
	double seen = 0.0;

	for (size_t i = 0; i < pairs; i++)
		seen += ranks[i];
	/* Ranks are halves, so sums of them are exact. */
	for (uint64_t way = 0; way < ways; way++)
		as_far += fabs(sum_of(ranks, pairs, way, draws)) >= fabs(seen);
	if (draws)
		gsl_rng_free(draws);
	return (double)as_far / (double)(exact ? ways : ways + 1);
}

void hq_permute_reach(const double *a, const double *b, size_t pairs, double confidence,
		      uint64_t seed, double *low, double *high)
{
	double seen[HQ_REACH_DRAWN], left[HQ_PAIRS_MAX], right[HQ_PAIRS_MAX];
	gsl_rng *draws = pairs && pairs <= HQ_PAIRS_MAX ? new_draws(seed) : NULL;

	*low = -INFINITY;
	*high = INFINITY;
	if (!draws)
		return;
	for (size_t draw = 0; draw < HQ_REACH_DRAWN; draw++) {
		for (size_t i = 0; i < pairs; i++) {
			const size_t one = gsl_rng_uniform_int(draws, pairs);

			left[i] = a[one];
			right[i] = b[one];
		}
		seen[draw] = hq_median_of(right, pairs) - hq_median_of(left, pairs);
	}
	gsl_rng_free(draws);
	gsl_sort(seen, 1, HQ_REACH_DRAWN);
	*low = gsl_stats_quantile_from_sorted_data(seen, 1, HQ_REACH_DRAWN,
						   (1.0 - confidence) / 2.0);
	*high = gsl_stats_quantile_from_sorted_data(seen, 1, HQ_REACH_DRAWN,
						    (1.0 + confidence) / 2.0);
}
