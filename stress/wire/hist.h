/* SPDX-License-Identifier: MIT */
/*
 * Log-linear latency histogram with 3 significant digits, in shared memory: one writer, one store
 * per sample, no pointer. The bucket layout is HdrHistogram's for lowest value 1, 3 digits: values
 * below 2048 are exact, above them each power of two has 1024 buckets, so the error is below
 * 1/1024. Source of the layout: HdrHistogram, "bucket" and "sub bucket" arithmetic.
 */
#ifndef HQ_STRESS_WIRE_HIST_H
#define HQ_STRESS_WIRE_HIST_H

#include <stdint.h>

#include "injectors/atomic.h"

#define HQ_HIST_LINEAR  2048u /* values below are exact */
#define HQ_HIST_STEPS   1024u /* buckets per octave above */
#define HQ_HIST_OCTAVES 26u   /* up to 2^37 ns, 137 s; larger values count in the last bucket */
#define HQ_HIST_BUCKETS (HQ_HIST_LINEAR + HQ_HIST_OCTAVES * HQ_HIST_STEPS)

struct hq_hist {
	_Atomic uint64_t max_ns;
	_Atomic uint32_t buckets[HQ_HIST_BUCKETS];
};

static inline uint32_t hq_hist_index(uint64_t ns)
{
	if (ns < HQ_HIST_LINEAR)
		return (uint32_t)ns;
	const uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns) - 10u; /* 1 for 2048..4095 */

	if (octave > HQ_HIST_OCTAVES)
		return HQ_HIST_BUCKETS - 1;
	return HQ_HIST_LINEAR + (octave - 1) * HQ_HIST_STEPS +
	       (uint32_t)((ns >> octave) - HQ_HIST_STEPS);
}

/* One sample: one store, unless it is the largest so far. Only the owning thread may call it. */
static inline void hq_hist_record(struct hq_hist *hist, uint64_t ns)
{
	hq_count_own(&hist->buckets[hq_hist_index(ns)], 1);
	if (ns > hq_load_relaxed(&hist->max_ns))
		hq_store_relaxed(&hist->max_ns, ns);
}

/* Largest value that counts in bucket `index`. */
uint64_t hq_hist_upper(uint32_t index);

/* Adds `from` to `into` (which nobody else writes). */
void hq_hist_add(struct hq_hist *into, const struct hq_hist *from);

uint64_t hq_hist_count(const struct hq_hist *hist);

/* The mean, each sample taken for the middle of its bucket: exact below 2048 ns. 0 if empty. */
double hq_hist_mean_ns(const struct hq_hist *hist);

/*
 * The value at or below which `quantile` (0..1) of the samples lie: never below the exact quantile
 * and at most 1/1024 above it, and never above the maximum. 0 for an empty histogram.
 */
uint64_t hq_hist_quantile(const struct hq_hist *hist, double quantile);

#endif
