/* SPDX-License-Identifier: MIT */
/*
 * What is kept beside the live blocks, at every moment.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(cache_bounded, .init = record);

Test(cache_bounded, what_is_in_proportion_is_no_finding)
{
	ASSERT_NOTHING("cache-bounded", &recorded);
}

Test(cache_bounded, too_much_at_any_moment_is_a_finding)
{
	recorded.moments[AT_WORK].rss_bytes = 100 * HQ_MIB;
	ASSERT_SAYS("cache-bounded", &recorded, false, "holds 99 MiB where at most 64 MiB");
	ASSERT_NOTHING("cache-bounded:keep=100%:slack=64MiB", &recorded);
}

Test(cache_bounded, what_was_live_of_late_counts_as_live)
{
	/* 60 MiB half a second after 64 MiB were live. */
	ASSERT_NOTHING("cache-bounded:recent=600ms", &recorded);
	ASSERT_SAYS("cache-bounded:recent=100ms", &recorded, false, "holds 60 MiB");
}

Test(cache_bounded, moments_are_counted_and_the_first_ones_shown)
{
	for (int i = AT_FREED; i < MOMENTS; i++)
		recorded.moments[i].rss_bytes = 200 * HQ_MIB;
	const struct hq_findings findings = observed_check("cache-bounded", &recorded.seen);

	cr_assert_eq(findings.count, 1);
	cr_expect_eq(findings.list[0].count, 4);
	cr_expect(strstr(findings.list[0].evidence, "when everything was freed"));
}

Test(cache_bounded, lazily_freed_pages_are_not_kept)
{
	recorded.moments[AT_IDLE_LATE].rss_bytes = 100 * HQ_MIB;
	recorded.moments[AT_IDLE_LATE].lazyfree_bytes = 96 * HQ_MIB;
	ASSERT_NOTHING("cache-bounded", &recorded);
}

Test(cache_bounded, when_nothing_was_live_it_is_a_gap)
{
	for (int i = 0; i < MOMENTS; i++) {
		recorded.moments[i].live_bytes = 0;
		recorded.moments[i].rss_bytes = 0;
	}
	ASSERT_SAYS("cache-bounded", &recorded, true, "nothing was live");
}

Test(cache_bounded, when_no_moment_at_work_was_recorded_it_is_a_gap)
{
	recorded.moments[AT_WORK].point = HQ_STATS_WORKED;
	ASSERT_SAYS("cache-bounded", &recorded, true, "while it worked");
}

Test(cache_bounded, what_may_be_lazily_freed_at_work_is_a_gap_and_more_a_finding)
{
	recorded.moments[AT_WORKED].lazyfree_bytes = 40 * HQ_MIB;
	recorded.moments[AT_WORK].rss_bytes = 100 * HQ_MIB;
	ASSERT_SAYS("cache-bounded", &recorded, true, "may have been lazily freed");
	recorded.moments[AT_WORK].rss_bytes = 106 * HQ_MIB;
	ASSERT_SAYS("cache-bounded", &recorded, false, "holds 105 MiB where at most 64 MiB");
}
