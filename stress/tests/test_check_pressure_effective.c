/* SPDX-License-Identifier: MIT */
/* pressure-effective: figures that fall, that stay, that are not told, and that were never high. */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(pressure_effective, .init = record);

Test(pressure_effective, figure_that_falls_is_good)
{
	ASSERT_NOTHING("pressure-effective", &recorded);
	ASSERT_NOTHING("pressure-effective:figure=active", &recorded);
}

Test(pressure_effective, figure_that_stays_is_a_finding_although_memory_is_gone)
{
	recorded.moments[AT_RELEASED].values[HQ_STAT_RESIDENT] = 60 * HQ_MIB;
	ASSERT_SAYS("pressure-effective", &recorded, false,
		    "figure 'resident' down (it is 60 MiB, at most 15.2 MiB allowed)");
}

Test(pressure_effective, what_is_live_may_stay)
{
	recorded.moments[AT_RELEASED].values[HQ_STAT_RESIDENT] = 60 * HQ_MIB;
	recorded.moments[AT_RELEASED].live_bytes = 50 * HQ_MIB;
	ASSERT_NOTHING("pressure-effective", &recorded);
}

Test(pressure_effective, what_comes_after_the_call_does_not_count_as_its_height)
{
	recorded.moments[AT_IDLE].values[HQ_STAT_RESIDENT] = 900 * HQ_MIB;
	recorded.moments[AT_RELEASED].values[HQ_STAT_RESIDENT] = 60 * HQ_MIB;
	ASSERT_SAYS("pressure-effective", &recorded, false, "at most 15.2 MiB");
}

Test(pressure_effective, figure_that_went_below_zero_hides_nothing)
{
	recorded.moments[AT_WORK].values[HQ_STAT_RESIDENT] = -(uint64_t)4096;
	recorded.moments[AT_RELEASED].values[HQ_STAT_RESIDENT] = 60 * HQ_MIB;
	ASSERT_SAYS("pressure-effective", &recorded, false, "at most 15.2 MiB");
}

Test(pressure_effective, figure_that_is_not_told_is_a_gap)
{
	recorded_forget(&recorded, HQ_STAT_RESIDENT);
	ASSERT_SAYS("pressure-effective", &recorded, true, "does not tell the figure 'resident'");
}

Test(pressure_effective, allocator_that_was_not_asked_is_a_gap)
{
	recorded.moments[AT_RELEASED].release = HQ_RELEASE_NONE;
	ASSERT_SAYS("pressure-effective", &recorded, true, "was not asked");
}

Test(pressure_effective, figure_that_was_never_high_is_a_gap)
{
	ASSERT_SAYS("pressure-effective:slack=200MiB", &recorded, true, "never high enough");
}
