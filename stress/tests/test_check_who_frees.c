/* SPDX-License-Identifier: MIT */
/* who-frees: resident memory against what is live. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

#define CONTRACT "who-frees:times=3:slack=4MiB"

/* 2 MiB before the work and 10 MiB live: 36 MiB are allowed. */
static struct hq_observations observed_peak(uint64_t peak_bytes)
{
	static struct hq_sample samples[] = { { 0, 2 * HQ_MIB }, { HQ_S, 30 * HQ_MIB } };
	struct hq_observations seen = observed_good();

	seen.samples = samples;
	seen.sample_count = 2;
	seen.rss_start_bytes = 2 * HQ_MIB;
	seen.rss_peak_bytes = peak_bytes;
	seen.requested_peak_bytes = 10 * HQ_MIB;
	seen.freed_bytes = 500 * HQ_MIB;
	return seen;
}

Test(who_frees, memory_within_the_bound_is_good)
{
	const struct hq_observations seen = observed_peak(36 * HQ_MIB);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(who_frees, memory_beyond_the_bound_is_a_finding_with_its_course)
{
	const struct hq_observations seen = observed_peak(37 * HQ_MIB);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "37 MiB with at most 10 MiB live, 36 MiB allowed"),
		  "%s", found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "+1 s: 30 MiB resident"), "%s",
		  found.list[0].evidence);
}

Test(who_frees, unknown_peak_is_a_gap)
{
	struct hq_observations seen = observed_peak(0);

	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen = observed_peak(HQ_MIB);
	seen.requested_peak_bytes = 0;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(who_frees, too_few_frees_to_break_the_bound_are_a_gap)
{
	struct hq_observations seen = observed_peak(20 * HQ_MIB);

	seen.freed_bytes = 34 * HQ_MIB;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen.freed_bytes++;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(who_frees, program_of_which_nobody_knows_what_is_live_is_a_gap)
{
	struct hq_observations seen = observed_peak(500 * HQ_MIB);

	seen.is_host = false;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}
