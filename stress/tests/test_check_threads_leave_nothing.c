/* SPDX-License-Identifier: MIT */
/* threads-leave-nothing: what is resident in the end, and what is mapped meanwhile. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed_space.h"

#define CONTRACT "threads-leave-nothing:lives=100:within=1s:slack=4MiB:mapped=2MiB:mappings=10"

/* 100 lives; mapped memory and mappings grow by so much over the work of 1 s. */
static struct hq_observations observed_lives(uint64_t mapped_bytes, uint64_t mappings)
{
	const struct hq_space from = { .mapped_bytes = 10 * HQ_MIB, .mappings = 60 };
	const struct hq_space to = { .mapped_bytes = 10 * HQ_MIB + mapped_bytes,
				     .mappings = 60 + mappings };
	struct hq_observations seen = observed_growth(from, to);

	seen.lives = 100;
	seen.rss_start_bytes = HQ_MIB;
	seen.rss_peak_bytes = 20 * HQ_MIB;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = 2600 * HQ_MS, .rss_bytes = 5 * HQ_MIB };
	seen.quiet_count = 1;
	return seen;
}

Test(threads_leave_nothing, same_before_and_after_is_good)
{
	const struct hq_observations seen = observed_lives(0, 0);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(threads_leave_nothing, a_little_growth_is_good)
{
	const struct hq_observations seen = observed_lives(4 * HQ_MIB, 20);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(threads_leave_nothing, resident_memory_that_stays_is_a_finding)
{
	struct hq_observations seen = observed_lives(0, 0);
	struct hq_findings found;

	seen.quiet[0].rss_bytes = 6 * HQ_MIB;
	found = observed_check(CONTRACT, &seen);
	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "left memory behind (6 MiB resident"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "100 threads came and went"), "%s",
		  found.list[0].evidence);
}

Test(threads_leave_nothing, mapped_memory_that_grows_is_a_finding)
{
	const struct hq_observations seen = observed_lives(5 * HQ_MIB, 0);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "12.5 MiB in the second quarter"), "%s",
		  found.list[0].text);
}

Test(threads_leave_nothing, mappings_that_become_more_are_a_finding)
{
	const struct hq_observations seen = observed_lives(0, 40);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "mappings become more"), "%s", found.list[0].text);
}

Test(threads_leave_nothing, too_few_lives_are_a_gap)
{
	struct hq_observations seen = observed_lives(50 * HQ_MIB, 0);

	seen.lives = 99;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(threads_leave_nothing, missing_readings_are_gaps)
{
	struct hq_observations seen = observed_lives(0, 0);

	seen.space_count = 2;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen = observed_lives(0, 0);
	seen.quiet_count = 0;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}
