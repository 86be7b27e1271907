/* SPDX-License-Identifier: MIT */
/* steady: memory that stays, memory that rises, and runs that do not say. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

#define SAMPLES 1000

static struct hq_sample samples[SAMPLES];

/* One second of work around 10 MiB, which rises by so much over its second half. */
static struct hq_observations rising_by(uint64_t bytes)
{
	struct hq_observations seen = observed_good();

	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] =
			(struct hq_sample){ .time_ns = (i + 1) * HQ_MS,
					    .rss_bytes = 10 * HQ_MIB + i * bytes * 2 / SAMPLES };
	seen.has_samples = true;
	seen.samples = samples;
	seen.sample_count = SAMPLES;
	return seen;
}

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("steady:rise=2%:slack=64KiB", seen);
}

Test(steady, memory_that_stays_is_good)
{
	const struct hq_observations seen = rising_by(0);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(steady, small_rise_is_good_and_a_larger_one_a_finding)
{
	struct hq_observations seen = rising_by(200 * HQ_KIB);

	cr_assert_eq(judge(&seen).count, 0);
	seen = rising_by(400 * HQ_KIB);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "resident memory keeps rising under steady work"));
	cr_assert(strstr(found.list[0].evidence, "128 samples"), "%s", found.list[0].evidence);
}

Test(steady, rise_of_the_first_half_is_the_work_taking_hold)
{
	struct hq_observations seen = rising_by(0);

	for (size_t i = 0; i < SAMPLES / 2; i++)
		samples[i].rss_bytes = i * 16384;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(steady, memory_that_falls_is_good)
{
	struct hq_observations seen = rising_by(0);

	for (size_t i = 0; i < SAMPLES; i++)
		samples[i].rss_bytes -= i * 4096;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(steady, without_samples_it_cannot_tell)
{
	struct hq_observations seen = rising_by(400 * HQ_KIB);

	seen.sample_count = 505;
	cr_assert(judge(&seen).list[0].gap);
	cr_assert(strstr(judge(&seen).list[0].text, "6 samples of resident memory"), "%s",
		  judge(&seen).list[0].text);
	seen.has_samples = false;
	cr_assert(judge(&seen).list[0].gap);
}
