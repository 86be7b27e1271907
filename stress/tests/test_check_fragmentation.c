/* SPDX-License-Identifier: MIT */
/*
 * What a requested byte costs while the data are held.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(fragmentation, .init = record);

Test(fragmentation, a_little_more_than_was_asked_for_is_no_finding)
{
	ASSERT_NOTHING("fragmentation", &recorded);
}

Test(fragmentation, more_than_the_pattern_may_cost_is_a_finding_with_the_factor)
{
	recorded.moments[AT_WORKED].rss_bytes = 129 * HQ_MIB;
	ASSERT_SAYS("fragmentation", &recorded, false, "128 MiB of memory for 64 MiB");
	ASSERT_SAYS("fragmentation", &recorded, false, "2.00 bytes for each");
	ASSERT_NOTHING("fragmentation:waste=100%", &recorded);
}

Test(fragmentation, other_moments_do_not_matter)
{
	recorded.moments[AT_FREED].rss_bytes = 400 * HQ_MIB;
	ASSERT_NOTHING("fragmentation", &recorded);
}

Test(fragmentation, when_nothing_is_held_it_is_a_gap)
{
	recorded.moments[AT_WORKED].live_bytes = 0;
	ASSERT_SAYS("fragmentation", &recorded, true, "nothing was held");
}
