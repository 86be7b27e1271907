/* SPDX-License-Identifier: MIT */
/*
 * Histograms against the exact answer: the layout of the buckets, and quantiles of random samples,
 * which may never be below the exact quantile and at most 1/1024 above it.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stress/wire/band.h"
#include "stress/wire/hist.h"

static struct hq_hist *new_hist(void)
{
	struct hq_hist *hist = malloc(sizeof(*hist));

	cr_assert_not_null(hist);
	memset((void *)hist, 0, sizeof(*hist));
	return hist;
}

static void expect_own_bounds(uint32_t buckets, uint32_t (*index)(uint64_t),
			      uint64_t (*upper)(uint32_t))
{
	for (uint32_t i = 0; i < buckets - 1; i++) {
		cr_assert_eq(index(upper(i)), i, "bucket %" PRIu32, i);
		cr_assert_eq(index(upper(i) + 1), i + 1, "bucket %" PRIu32, i);
	}
	cr_assert_eq(upper(buckets - 1), UINT64_MAX);
	cr_assert_eq(index(UINT64_MAX), buckets - 1);
}

Test(hist, every_bucket_ends_at_its_own_upper_bound)
{
	expect_own_bounds(HQ_HIST_BUCKETS, hq_hist_index, hq_hist_upper);
}

Test(hist, every_coarse_bucket_ends_at_its_own_upper_bound)
{
	expect_own_bounds(HQ_COARSE_BUCKETS, hq_coarse_index, hq_coarse_upper);
}

Test(hist, a_coarse_bucket_ends_where_a_fine_one_does)
{
	for (uint32_t i = 0; i < HQ_COARSE_BUCKETS - 1; i++) {
		const uint64_t upper = hq_coarse_upper(i);

		cr_assert_eq(hq_hist_upper(hq_hist_index(upper)), upper, "bucket %" PRIu32, i);
	}
}

Test(hist, samples_of_a_coarse_histogram_grow_by_one_in_128_at_most)
{
	struct hq_coarse_hist *coarse = calloc(1, sizeof(*coarse));
	struct hq_hist *fine = new_hist();

	for (uint64_t ns = 1; ns < 1ull << 37; ns += 1 + ns / 3) {
		memset((void *)coarse, 0, sizeof(*coarse));
		memset((void *)fine, 0, sizeof(*fine));
		hq_coarse_record(coarse, ns);
		/* The largest is kept as it is: without a larger one the test would be of that. */
		hq_coarse_record(coarse, UINT64_MAX);
		hq_hist_add_coarse(fine, coarse);
		const uint64_t found = hq_hist_quantile(fine, 0.5);

		cr_assert_geq(found, ns);
		cr_assert_leq(found, ns + ns / 128);
		cr_assert_eq(hq_hist_count(fine), 2);
		cr_assert_eq(hq_coarse_count(coarse), 2);
		cr_assert_eq(hq_hist_quantile(fine, 1), UINT64_MAX);
	}
	free(fine);
	free((void *)coarse);
}

Test(hist, a_size_belongs_to_the_band_that_bears_its_bound)
{
	static const struct {
		uint64_t bytes;
		const char *band;
	} table[] = {
		{ 0, "256B" },           { 256, "256B" },     { 257, "4KiB" },
		{ 4096, "4KiB" },        { 4097, "64KiB" },   { 65536, "64KiB" },
		{ 65537, "1MiB" },       { 1048576, "1MiB" }, { 1048577, "above" },
		{ UINT64_MAX, "above" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_str_eq(hq_band_name(hq_band_of(table[i].bytes)), table[i].band,
				 "%" PRIu64, table[i].bytes);
}

Test(hist, an_empty_histogram_has_quantile_zero)
{
	struct hq_hist *hist = new_hist();

	cr_expect_eq(hq_hist_count(hist), 0);
	cr_expect_eq(hq_hist_quantile(hist, 0.5), 0);
	free(hist);
}

Test(hist, a_single_sample_is_every_quantile)
{
	static const double quantiles[] = { 0, 0.5, 0.999, 1 };
	struct hq_hist *hist = new_hist();

	hq_hist_record(hist, 123456789);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(hq_hist_quantile(hist, quantiles[i]), 123456789);
	free(hist);
}

Test(hist, a_sample_beyond_the_last_bucket_is_not_reported_too_small)
{
	struct hq_hist *hist = new_hist();

	hq_hist_record(hist, 1ull << 40);
	cr_expect_eq(hq_hist_quantile(hist, 1), 1ull << 40);
	free(hist);
}

Test(hist, quantiles_that_name_a_sample_are_that_sample)
{
	struct hq_hist *hist = new_hist();

	for (uint64_t ns = 1; ns <= 100; ns++)
		hq_hist_record(hist, ns);
	for (uint64_t percent = 1; percent <= 100; percent++)
		cr_expect_eq(hq_hist_quantile(hist, (double)percent / 100), percent);
	free(hist);
}

static double uniform(void)
{
	return ((double)random() + 1) / ((double)RAND_MAX + 2);
}

static uint64_t draw_uniform(void)
{
	return (uint64_t)(uniform() * 1e6);
}

static uint64_t draw_exponential(void)
{
	return (uint64_t)(-log(uniform()) * 5000);
}

static uint64_t draw_heavy_tail(void)
{
	return (uint64_t)(50 / pow(uniform(), 1.5));
}

static uint64_t draw_two_peaks(void)
{
	return random() % 100 ? 80 + (uint64_t)random() % 20
			      : 4000000 + (uint64_t)random() % 500000;
}

static uint64_t draw_log_uniform(void)
{
	return (uint64_t)exp(uniform() * log(1e11));
}

static uint64_t (*const draws[])(void) = { draw_uniform, draw_exponential, draw_heavy_tail,
					   draw_two_peaks, draw_log_uniform };

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#define SAMPLES 20011

static void expect_near(const struct hq_hist *hist, const uint64_t *sorted, uint64_t rank)
{
	const uint64_t exact = sorted[rank - 1];
	const uint64_t got = hq_hist_quantile(hist, (double)rank / SAMPLES);

	cr_assert_geq(got, exact, "rank %" PRIu64, rank);
	cr_assert_leq((double)got, (double)exact * (1 + 1.0 / 1024), "rank %" PRIu64, rank);
	cr_assert_leq(got, sorted[SAMPLES - 1]);
}

Test(hist, quantiles_of_random_samples_are_at_most_a_thousandth_above_the_exact_ones)
{
	static uint64_t samples[SAMPLES];

	srandom(42);
	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++) {
		struct hq_hist *hist = new_hist();

		for (size_t i = 0; i < SAMPLES; i++) {
			samples[i] = draws[d]();
			hq_hist_record(hist, samples[i]);
		}
		qsort(samples, SAMPLES, sizeof(samples[0]), compare);
		cr_assert_eq(hq_hist_count(hist), SAMPLES);
		for (uint64_t rank = 1; rank <= SAMPLES; rank += 1 + rank / 8)
			expect_near(hist, samples, rank);
		for (uint64_t back = 0; back < 50; back++)
			expect_near(hist, samples, SAMPLES - back);
		free(hist);
	}
}

Test(hist, merged_histograms_are_as_if_recorded_in_one)
{
	struct hq_hist *whole = new_hist(), *a = new_hist(), *b = new_hist();

	srandom(42);
	for (int i = 0; i < 10000; i++) {
		const uint64_t ns = draw_log_uniform();

		hq_hist_record(whole, ns);
		hq_hist_record(i % 3 ? a : b, ns);
	}
	hq_hist_add(a, b);
	cr_assert_eq(memcmp((void *)a, (void *)whole, sizeof(*a)), 0);
	free(whole);
	free(a);
	free(b);
}

Test(hist, mean_is_exact_for_small_values_and_near_for_large_ones)
{
	static struct hq_hist small, large;
	double sum_ns = 0;

	cr_assert_eq(hq_hist_mean_ns(&small), 0);
	for (uint64_t ns = 1; ns <= 1000; ns++)
		hq_hist_record(&small, ns);
	cr_assert_eq(hq_hist_mean_ns(&small), 500.5);
	for (uint64_t ns = 1000000; ns < 3000000; ns += 997) {
		hq_hist_record(&large, ns);
		sum_ns += (double)ns;
	}
	const double mean_ns = sum_ns / (double)hq_hist_count(&large);

	cr_assert_gt(hq_hist_mean_ns(&large), mean_ns * (1 - 1.0 / 1024));
	cr_assert_lt(hq_hist_mean_ns(&large), mean_ns * (1 + 1.0 / 1024));
}
