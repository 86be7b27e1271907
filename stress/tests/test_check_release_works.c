/* SPDX-License-Identifier: MIT */
/*
 * The call that gives memory back: what it leaves, and what it says.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(release_works, .init = record);

Test(release_works, what_gives_back_what_it_says_is_no_finding)
{
	ASSERT_NOTHING("release-works", &recorded);
}

Test(release_works, what_keeps_its_memory_is_a_finding)
{
	recorded.moments[AT_RELEASED].release = HQ_RELEASE_SILENT;
	recorded.moments[AT_RELEASED].rss_bytes = 40 * HQ_MIB;
	ASSERT_SAYS("release-works", &recorded, false, "keeps 40 MiB; at most 11 MiB may stay");
	ASSERT_NOTHING("release-works:slack=40MiB", &recorded);
}

Test(release_works, live_blocks_may_stay_and_a_share_beside_them)
{
	recorded.moments[AT_RELEASED].live_bytes = 30 * HQ_MIB;
	recorded.moments[AT_RELEASED].rss_bytes = 42 * HQ_MIB;
	recorded.moments[AT_RELEASED].released_bytes = 18 * HQ_MIB;
	ASSERT_NOTHING("release-works", &recorded);
}

Test(release_works, what_says_that_there_is_nothing_to_give_is_taken_by_its_word)
{
	recorded.moments[AT_RELEASED].release = HQ_RELEASE_EMPTY;
	recorded.moments[AT_RELEASED].rss_bytes = 40 * HQ_MIB;
	ASSERT_NOTHING("release-works", &recorded);
}

Test(release_works, a_figure_that_is_not_gone_is_a_finding)
{
	recorded.moments[AT_RELEASED].released_bytes = 100 * HQ_MIB;
	ASSERT_SAYS("release-works", &recorded, false, "gave back 100 MiB; gone are 57 MiB");
}

Test(release_works, pages_that_the_kernel_may_take_count_as_given)
{
	recorded.moments[AT_RELEASED].rss_bytes = 60 * HQ_MIB;
	recorded.moments[AT_RELEASED].lazyfree_bytes = 57 * HQ_MIB;
	ASSERT_NOTHING("release-works", &recorded);
}

Test(release_works, without_such_a_call_or_without_the_moment_it_is_a_gap)
{
	recorded.moments[AT_RELEASED].release = HQ_RELEASE_NONE;
	ASSERT_SAYS("release-works", &recorded, true, "no call to give memory back");
	recorded.moments[AT_RELEASED].point = HQ_STATS_IDLE;
	ASSERT_SAYS("release-works", &recorded, true, "never came to the point");
}
