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

/*
 * The same with 2 digits, for histograms of which a thread has many: values below 256 are exact,
 * above them the error is below 1/128.
 */
#define HQ_COARSE_LINEAR  256u
#define HQ_COARSE_STEPS   128u
#define HQ_COARSE_OCTAVES 29u /* up to 2^37 ns as well */
#define HQ_COARSE_BUCKETS (HQ_COARSE_LINEAR + HQ_COARSE_OCTAVES * HQ_COARSE_STEPS)

struct hq_coarse_hist {
	_Atomic uint64_t max_ns;
	_Atomic uint32_t buckets[HQ_COARSE_BUCKETS];
};

/* `linear` is a power of 2, and twice the buckets of an octave. All but `ns` is constant. */
static inline uint32_t hq_hist_slot(uint64_t ns, uint32_t linear, uint32_t octaves)
{
	const uint32_t steps = linear / 2;

	if (ns < linear)
		return (uint32_t)ns;
	/* 1 for the first octave above the linear part. */
	const uint32_t octave = (uint32_t)(__builtin_clz(steps) + 32 - __builtin_clzll(ns));

	if (octave > octaves)
		return linear + octaves * steps - 1;
	return linear + (octave - 1) * steps + (uint32_t)((ns >> octave) - steps);
}

static inline uint32_t hq_hist_index(uint64_t ns)
{
	return hq_hist_slot(ns, HQ_HIST_LINEAR, HQ_HIST_OCTAVES);
}

static inline uint32_t hq_coarse_index(uint64_t ns)
{
	return hq_hist_slot(ns, HQ_COARSE_LINEAR, HQ_COARSE_OCTAVES);
}

/* One sample: one store, unless it is the largest so far. Only the owning thread may call it. */
static inline void hq_hist_record(struct hq_hist *hist, uint64_t ns)
{
	hq_count_own(&hist->buckets[hq_hist_index(ns)], 1);
	if (ns > hq_load_relaxed(&hist->max_ns))
		hq_store_relaxed(&hist->max_ns, ns);
}

static inline void hq_coarse_record(struct hq_coarse_hist *hist, uint64_t ns)
{
	hq_count_own(&hist->buckets[hq_coarse_index(ns)], 1);
	if (ns > hq_load_relaxed(&hist->max_ns))
		hq_store_relaxed(&hist->max_ns, ns);
}

/* Largest value that counts in bucket `index`. */
uint64_t hq_hist_upper(uint32_t index);
uint64_t hq_coarse_upper(uint32_t index);

/* Adds `from` to `into` (which nobody else writes). */
void hq_hist_add(struct hq_hist *into, const struct hq_hist *from);

/* The same from a coarse one: each sample is taken for the largest value of its bucket. */
void hq_hist_add_coarse(struct hq_hist *into, const struct hq_coarse_hist *from);

uint64_t hq_hist_count(const struct hq_hist *hist);
uint64_t hq_coarse_count(const struct hq_coarse_hist *hist);

/* The mean, each sample taken for the middle of its bucket: exact below 2048 ns. 0 if empty. */
double hq_hist_mean_ns(const struct hq_hist *hist);

/*
 * The value at or below which `quantile` (0..1) of the samples lie: never below the exact quantile
 * and at most 1/1024 above it, and never above the maximum. 0 for an empty histogram.
 */
uint64_t hq_hist_quantile(const struct hq_hist *hist, double quantile);

#endif
