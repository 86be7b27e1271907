/* SPDX-License-Identifier: MIT */
/* The slope of resident memory: true to a line, deaf to what does not last, honest about too
 * little. */
#include <criterion/criterion.h>
#include <errno.h>

#include "stress/check/slope.h"
#include "stress/tests/observed.h"

#define SAMPLES 1000

/* One a millisecond, for a second of work: what `rss_at` says. */
static struct hq_observations sampled(struct hq_sample samples[SAMPLES],
				      uint64_t (*rss_at)(size_t index))
{
	struct hq_observations seen = observed_good();

	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] =
			(struct hq_sample){ .time_ns = (i + 1) * HQ_MS, .rss_bytes = rss_at(i) };
	seen.has_samples = true;
	seen.samples = samples;
	seen.sample_count = SAMPLES;
	return seen;
}

static struct hq_slope measured(uint64_t (*rss_at)(size_t index))
{
	static struct hq_sample samples[SAMPLES];
	const struct hq_observations seen = sampled(samples, rss_at);
	struct hq_slope slope;
	struct hq_error error;

	cr_assert_eq(hq_slope_measure(&seen, &slope, &error), 0);
	return slope;
}

static uint64_t rising(size_t index)
{
	return 10 * HQ_MIB + index * 1024;
}

Test(slope, of_a_line_is_the_lines)
{
	const struct hq_slope slope = measured(rising);

	cr_assert_float_eq(slope.bytes_per_second, 1024000.0, 1.0);
	cr_assert_eq(slope.samples, 128);
	cr_assert(slope.span_ns > 450 * HQ_MS && slope.span_ns <= 500 * HQ_MS);
}

static uint64_t warming(size_t index)
{
	return index < 500 ? index * 65536 : 500 * 65536;
}

Test(slope, does_not_count_how_the_work_took_hold_of_its_memory)
{
	cr_assert_float_eq(measured(warming).bytes_per_second, 0.0, 1.0);
}

/* Two in five samples stand in a burst, at another height each. */
static uint64_t bursting(size_t index)
{
	return rising(index) + (index % 5 < 2 ? (index * 7919 % 64) * HQ_MIB : 0);
}

Test(slope, is_not_moved_by_bursts)
{
	cr_assert_float_eq(measured(bursting).bytes_per_second, 1024000.0, 102400.0, "%g",
			   measured(bursting).bytes_per_second);
}

static uint64_t sawing(size_t index)
{
	return 10 * HQ_MIB + index % 50 * 65536;
}

/* Each tooth rises by 65 MB/s. */
Test(slope, of_memory_that_comes_and_goes_is_a_fraction_of_its_own)
{
	const double slope = measured(sawing).bytes_per_second;

	cr_assert(slope < 2e6 && slope > -2e6, "%g", slope);
}

Test(slope, of_few_samples_is_no_slope)
{
	static struct hq_sample samples[SAMPLES];
	struct hq_observations seen = sampled(samples, rising);
	struct hq_slope slope;
	struct hq_error error;

	seen.sample_count = 510;
	cr_assert_eq(hq_slope_measure(&seen, &slope, &error), -ENODATA);
	cr_assert_str_eq(error.text, "the second half of the work has 11 samples of resident "
				     "memory, fewer than 16");
	seen.sample_count = 0;
	cr_assert_eq(hq_slope_measure(&seen, &slope, &error), -ENODATA);
}

Test(slope, is_a_metric)
{
	static struct hq_sample samples[SAMPLES];
	struct hq_observations seen = sampled(samples, rising);
	enum hq_unit unit;
	struct hq_error error;
	double value;

	cr_assert_eq(hq_metric_get(&seen, "rss.slope", &value, &unit, &error), 0);
	cr_assert_eq(unit, HQ_UNIT_BYTES_PER_SECOND);
	cr_assert_float_eq(value, 1024000.0, 1.0);
	seen.sample_count = 10;
	cr_assert_eq(hq_metric_get(&seen, "rss.slope", &value, &unit, &error), -ENODATA);
}
