/* SPDX-License-Identifier: MIT */
/* threads-leave-nothing: what is resident in the end, and what is mapped meanwhile. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed_space.h"

#define CONTRACT "threads-leave-nothing:lives=100:resident=4MiB:mapped=2MiB:mappings=10"

static struct hq_sample samples[11];

/* 100 lives; what is resident and mapped grows by so much over the work of 1 s. */
static struct hq_observations observed_lives(uint64_t resident_bytes, uint64_t mapped_bytes,
					     uint64_t mappings)
{
	const struct hq_space from = { .mapped_bytes = 10 * HQ_MIB, .mappings = 60 };
	const struct hq_space to = { .mapped_bytes = 10 * HQ_MIB + mapped_bytes,
				     .mappings = 60 + mappings };
	struct hq_observations seen = observed_growth(from, to);

	for (uint64_t i = 0; i < 11; i++)
		samples[i] =
			(struct hq_sample){ i * 100 * HQ_MS, 5 * HQ_MIB + resident_bytes * i / 10 };
	seen.samples = samples;
	seen.sample_count = 11;
	seen.lives = 100;
	return seen;
}

/* The one finding, or a failed test. */
static struct hq_finding only_finding(const struct hq_observations *seen)
{
	const struct hq_findings found = observed_check(CONTRACT, seen);

	cr_assert_eq(found.count, 1);
	return found.list[0];
}

Test(threads_leave_nothing, same_before_and_after_is_good)
{
	const struct hq_observations seen = observed_lives(0, 0, 0);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(threads_leave_nothing, a_little_growth_is_good)
{
	const struct hq_observations seen = observed_lives(8 * HQ_MIB, 4 * HQ_MIB, 20);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(threads_leave_nothing, resident_memory_that_grows_is_a_finding)
{
	const struct hq_observations seen = observed_lives(10 * HQ_MIB, 0, 0);
	const struct hq_finding found = only_finding(&seen);

	cr_assert_not(found.gap);
	cr_assert(
		strstr(found.text, "resident memory grows with the threads that ended (10 MiB in"),
		"%s", found.text);
	cr_assert(strstr(found.evidence, "100 threads came and went"), "%s", found.evidence);
}

Test(threads_leave_nothing, mapped_memory_that_grows_is_a_finding)
{
	const struct hq_observations seen = observed_lives(0, 5 * HQ_MIB, 0);

	cr_assert(strstr(only_finding(&seen).text, "12.5 MiB in the second quarter"));
}

Test(threads_leave_nothing, mappings_that_become_more_are_a_finding)
{
	const struct hq_observations seen = observed_lives(0, 0, 40);

	cr_assert(strstr(only_finding(&seen).text, "mappings become more"));
}

Test(threads_leave_nothing, too_few_lives_are_a_gap)
{
	struct hq_observations seen = observed_lives(50 * HQ_MIB, 0, 0);

	seen.lives = 99;
	cr_assert(only_finding(&seen).gap);
}

Test(threads_leave_nothing, missing_readings_are_a_gap)
{
	struct hq_observations seen = observed_lives(0, 0, 0);

	seen.space_count = 2;
	cr_assert(only_finding(&seen).gap);
	seen = observed_lives(0, 0, 0);
	seen.sample_count = 2;
	cr_assert(only_finding(&seen).gap);
}
