/* SPDX-License-Identifier: MIT */
/* Growth in steady state: the second quarter of the work against the last. */
#include <criterion/criterion.h>

#include "stress/check/growth.h"
#include "stress/tests/observed.h"

#define MAPPINGS offsetof(struct hq_space, mappings)

/* Work of 1 s, read every 100 ms; the n-th reading has mappings[n]. */
static struct hq_observations observed_series(const uint64_t mappings[11])
{
	struct hq_observations seen = observed_good();

	for (size_t i = 0; i < 11; i++)
		seen.spaces[i] = (struct hq_space_sample){ .time_ns = i * 100 * HQ_MS,
							   .space.mappings = mappings[i] };
	seen.space_count = 11;
	return seen;
}

Test(growth, most_of_the_second_and_of_the_last_quarter_are_told)
{
	static const uint64_t series[11] = { 1, 90, 90, 7, 9, 8, 80, 80, 11, 12, 10 };
	const struct hq_observations seen = observed_series(series);
	struct hq_growth growth;

	cr_assert(hq_growth_space(&seen, MAPPINGS, &growth));
	cr_expect_eq(growth.early, 9);
	cr_expect_eq(growth.late, 12);
}

Test(growth, readings_after_the_work_do_not_count)
{
	static const uint64_t series[11] = { 1, 1, 1, 1, 1, 1, 1, 1, 2, 90, 90 };
	struct hq_observations seen = observed_series(series);
	struct hq_growth growth;

	seen.worked_ns = 850 * HQ_MS;
	cr_assert(hq_growth_space(&seen, MAPPINGS, &growth));
	cr_expect_eq(growth.late, 2);
}

Test(growth, quarter_without_a_reading_says_nothing)
{
	static const uint64_t series[11] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct hq_observations seen = observed_series(series);
	struct hq_growth growth;

	seen.space_count = 7;
	cr_expect_not(hq_growth_space(&seen, MAPPINGS, &growth));
	seen.space_count = 0;
	cr_expect_not(hq_growth_space(&seen, MAPPINGS, &growth));
}

Test(growth, resident_memory_is_that_of_the_samples)
{
	static struct hq_sample samples[] = { { 300 * HQ_MS, 5 },
					      { 400 * HQ_MS, 7 },
					      { 600 * HQ_MS, 90 },
					      { 900 * HQ_MS, 8 },
					      { 1100 * HQ_MS, 90 } };
	struct hq_observations seen = observed_good();
	struct hq_growth growth;

	cr_expect_not(hq_growth_resident(&seen, &growth));
	seen.samples = samples;
	seen.sample_count = 5;
	cr_assert(hq_growth_resident(&seen, &growth));
	cr_expect_eq(growth.early, 7);
	cr_expect_eq(growth.late, 8);
}
