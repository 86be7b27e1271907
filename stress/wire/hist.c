/* SPDX-License-Identifier: MIT */
/*
 * Reading histograms: bounds of buckets, sums and quantiles. Recording is inline in the header,
 * since it stands between every two calls of the allocator under test.
 */
#include <math.h>

#include "stress/wire/hist.h"

uint64_t hq_hist_upper(uint32_t index)
{
	if (index < HQ_HIST_LINEAR)
		return index;
	if (index >= HQ_HIST_BUCKETS - 1) /* The last bucket takes whatever is larger. */
		return UINT64_MAX;
	const uint32_t octave = (index - HQ_HIST_LINEAR) / HQ_HIST_STEPS + 1;
	const uint64_t step = HQ_HIST_STEPS + (index - HQ_HIST_LINEAR) % HQ_HIST_STEPS;

	return ((step + 1) << octave) - 1;
}

void hq_hist_add(struct hq_hist *into, const struct hq_hist *from)
{
	const uint64_t max_ns = hq_load_relaxed(&from->max_ns);

	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++)
		hq_count_own(&into->buckets[i], hq_load_relaxed(&from->buckets[i]));
	if (max_ns > hq_load_relaxed(&into->max_ns))
		hq_store_relaxed(&into->max_ns, max_ns);
}

uint64_t hq_hist_count(const struct hq_hist *hist)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++)
		count += hq_load_relaxed(&hist->buckets[i]);
	return count;
}

/* The last bucket has no end of its own; its samples are taken for the largest. */
static double middle_ns(const struct hq_hist *hist, uint32_t index)
{
	if (index == HQ_HIST_BUCKETS - 1)
		return (double)hq_load_relaxed(&hist->max_ns);
	const double upper = (double)hq_hist_upper(index);
	const double below = index ? (double)hq_hist_upper(index - 1) : -1;

	return (below + 1 + upper) / 2;
}

double hq_hist_mean_ns(const struct hq_hist *hist)
{
	const uint64_t count = hq_hist_count(hist);
	double sum_ns = 0;

	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++)
		sum_ns += middle_ns(hist, i) * hq_load_relaxed(&hist->buckets[i]);
	return count ? sum_ns / (double)count : 0;
}

/*
 * The rank of a quantile, from 1. The product is rounded down a little first, so that 0.07 of 100
 * samples is the 7th: the nearest double to 0.07 lies above it.
 */
static uint64_t quantile_rank(double quantile, uint64_t count)
{
	const double rank = ceil(nextafter(quantile, 0) * (double)count);

	if (!(rank > 1))
		return 1;
	return rank < (double)count ? (uint64_t)rank : count;
}

uint64_t hq_hist_quantile(const struct hq_hist *hist, double quantile)
{
	const uint64_t count = hq_hist_count(hist);
	const uint64_t max_ns = hq_load_relaxed(&hist->max_ns);
	uint64_t below = 0;

	if (count == 0)
		return 0;
	const uint64_t rank = quantile_rank(quantile, count);

	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++) {
		below += hq_load_relaxed(&hist->buckets[i]);
		if (below >= rank) {
			const uint64_t upper = hq_hist_upper(i);

			return upper < max_ns ? upper : max_ns;
		}
	}
	return max_ns;
}
