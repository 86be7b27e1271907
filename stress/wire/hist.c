/* SPDX-License-Identifier: MIT */
/*
 * Reading histograms: bounds of buckets, sums and quantiles. Recording is inline in the header,
 * since it stands between every two calls of the allocator under test.
 */
#include <math.h>

#include "stress/wire/hist.h"

static uint64_t upper_of(uint32_t index, uint32_t linear, uint32_t octaves)
{
	const uint32_t steps = linear / 2;

	if (index < linear)
		return index;
	if (index >= linear + octaves * steps - 1) /* The last bucket takes whatever is larger. */
		return UINT64_MAX;
	const uint32_t octave = (index - linear) / steps + 1;
	const uint64_t step = steps + (index - linear) % steps;

	return ((step + 1) << octave) - 1;
}

uint64_t hq_hist_upper(uint32_t index)
{
	return upper_of(index, HQ_HIST_LINEAR, HQ_HIST_OCTAVES);
}

uint64_t hq_coarse_upper(uint32_t index)
{
	return upper_of(index, HQ_COARSE_LINEAR, HQ_COARSE_OCTAVES);
}

static void raise_max(struct hq_hist *into, uint64_t max_ns)
{
	if (max_ns > hq_load_relaxed(&into->max_ns))
		hq_store_relaxed(&into->max_ns, max_ns);
}

void hq_hist_add(struct hq_hist *into, const struct hq_hist *from)
{
	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++)
		hq_count_own(&into->buckets[i], hq_load_relaxed(&from->buckets[i]));
	raise_max(into, hq_load_relaxed(&from->max_ns));
}

/* A coarse bucket and the last of the fine ones that lie in it end at the same value. */
void hq_hist_add_coarse(struct hq_hist *into, const struct hq_coarse_hist *from)
{
	for (uint32_t i = 0; i < HQ_COARSE_BUCKETS; i++)
		hq_count_own(&into->buckets[hq_hist_index(hq_coarse_upper(i))],
			     hq_load_relaxed(&from->buckets[i]));
	raise_max(into, hq_load_relaxed(&from->max_ns));
}

uint64_t hq_coarse_count(const struct hq_coarse_hist *hist)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_COARSE_BUCKETS; i++)
		count += hq_load_relaxed(&hist->buckets[i]);
	return count;
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
