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

struct permutation {
	const double *a, *b;
	size_t pairs;
	gsl_rng *draws; /* NULL: every way is tried */
};

static gsl_rng *new_draws(uint64_t seed)
{
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);

	if (draws)
		gsl_rng_set(draws, (unsigned long)seed);
	return draws;
}

/* How far apart the medians are when the pairs of this way are swapped: bits of its number, or
 * draws. */
static double distance_of(const struct permutation *all, uint64_t way)
{
	double left[HQ_PAIRS_MAX], right[HQ_PAIRS_MAX];

	for (size_t i = 0; i < all->pairs; i++) {
		const bool swapped = all->draws ? gsl_rng_uniform(all->draws) < 0.5 : way >> i & 1u;

		left[i] = swapped ? all->b[i] : all->a[i];
		right[i] = swapped ? all->a[i] : all->b[i];
	}
	return fabs(hq_median_of(right, all->pairs) - hq_median_of(left, all->pairs));
}

double hq_permute_test(const double *a, const double *b, size_t pairs, uint64_t seed)
{
	const bool exact = pairs <= HQ_PERMUTE_EXACT;
	const uint64_t ways = exact ? 1ull << pairs : HQ_PERMUTE_DRAWN;
	struct permutation all = { .a = a, .b = b, .pairs = pairs };
	uint64_t as_far = exact ? 0 : 1;

	if (pairs == 0 || pairs > HQ_PAIRS_MAX)
		return 1.0;
	if (!exact && !(all.draws = new_draws(seed)))
		return 1.0;
	const double seen = fabs(hq_median_of(b, pairs) - hq_median_of(a, pairs));

	/* Halves that are added in another order may differ in their last bits. */
	for (uint64_t way = 0; way < ways; way++)
		as_far += distance_of(&all, way) >= seen * (1.0 - 1e-12);
	if (all.draws)
		gsl_rng_free(all.draws);
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
