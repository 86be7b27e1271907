/* SPDX-License-Identifier: MIT */
/* idle-falls: good runs, bad ones, and runs that do not say. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

/* Everything is freed at 1.5 s, after a burst of 200 MiB. */
static struct hq_observations observed_idle(uint64_t second_ns, uint64_t second_bytes)
{
	struct hq_observations seen = observed_good();

	seen.rss_start_bytes = 4 * HQ_MIB;
	seen.rss_peak_bytes = 204 * HQ_MIB;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = 1500 * HQ_MS, .rss_bytes = 200 * HQ_MIB };
	seen.quiet[1] = (struct hq_quiet){ .time_ns = second_ns, .rss_bytes = second_bytes };
	seen.quiet_count = 2;
	return seen;
}

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("idle-falls:within=2s:keep=25%:slack=2MiB", seen);
}

Test(idle_falls, memory_that_fell_in_time_is_good)
{
	const struct hq_observations seen = observed_idle(3600 * HQ_MS, 56 * HQ_MIB);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(idle_falls, memory_that_stayed_is_a_finding_with_its_readings)
{
	const struct hq_observations seen = observed_idle(3600 * HQ_MS, 57 * HQ_MIB);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "57 MiB after 2.1 s, at most 56 MiB"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "204 MiB at the peak"), "%s",
		  found.list[0].evidence);
}

Test(idle_falls, lazily_free_pages_do_not_count)
{
	struct hq_observations seen = observed_idle(3600 * HQ_MS, 200 * HQ_MIB);

	seen.quiet[1].lazyfree_bytes = 150 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(idle_falls, reading_before_its_time_does_not_count)
{
	const struct hq_observations seen = observed_idle(3400 * HQ_MS, 10 * HQ_MIB);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}

Test(idle_falls, late_reading_can_accuse_but_not_acquit)
{
	const struct hq_observations fell = observed_idle(4100 * HQ_MS, 10 * HQ_MIB);
	const struct hq_observations stayed = observed_idle(4100 * HQ_MS, 100 * HQ_MIB);
	const struct hq_findings gap = judge(&fell), found = judge(&stayed);

	cr_assert_eq(gap.count, 1);
	cr_assert(gap.list[0].gap);
	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
}

Test(idle_falls, burst_of_which_all_may_stay_is_a_gap)
{
	struct hq_observations seen = observed_idle(3600 * HQ_MS, 5 * HQ_MIB);

	seen.rss_peak_bytes = 6 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 1);
	cr_assert(judge(&seen).list[0].gap);
	seen.rss_peak_bytes = 7 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(idle_falls, run_that_never_frees_everything_is_a_gap)
{
	struct hq_observations seen = observed_idle(3600 * HQ_MS, 10 * HQ_MIB);

	seen.freed_ns = 0;
	cr_assert_eq(judge(&seen).count, 1);
	cr_assert(judge(&seen).list[0].gap);
}

Test(idle_falls, run_that_ended_early_is_left_to_others)
{
	struct hq_observations seen = observed_idle(3600 * HQ_MS, 200 * HQ_MIB);

	seen.outcome = HQ_OUTCOME_HUNG;
	cr_assert_eq(judge(&seen).count, 0);
}
