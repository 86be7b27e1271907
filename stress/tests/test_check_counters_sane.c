/* SPDX-License-Identifier: MIT */
/*
 * Counters that can be true, and every way in which they cannot.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(counters_sane, .init = record);

Test(counters_sane, numbers_that_can_be_true_are_no_finding)
{
	ASSERT_NOTHING("counters-sane", &recorded);
}

Test(counters_sane, a_number_below_zero_is_a_finding_that_names_it)
{
	recorded.moments[AT_WORK].values[HQ_STAT_DIRTY] = -(uint64_t)4096;
	recorded.moments[AT_IDLE].values[HQ_STAT_DIRTY] = -(uint64_t)8192;
	const struct hq_findings findings = observed_check("counters-sane", &recorded.seen);

	cr_assert_eq(findings.count, 1);
	cr_expect(strstr(findings.list[0].text, "below zero: dirty"));
	cr_expect_eq(findings.list[0].count, 2);
	cr_expect(strstr(findings.list[0].evidence, "dirty -4 KiB"), "%s",
		  findings.list[0].evidence);
}

Test(counters_sane, more_allocated_than_active_bytes_are_a_finding)
{
	recorded.moments[AT_WORKED].values[HQ_STAT_ALLOCATED] += HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "more allocated than active");
}

Test(counters_sane, what_lies_between_may_be_unknown)
{
	recorded_forget(&recorded, HQ_STAT_ACTIVE);
	recorded_forget(&recorded, HQ_STAT_RESIDENT);
	ASSERT_NOTHING("counters-sane:kernel=no", &recorded);
	recorded.moments[AT_WORKED].values[HQ_STAT_ALLOCATED] = 200 * HQ_MIB;
	ASSERT_SAYS("counters-sane:kernel=no", &recorded, false, "more allocated than mapped");
}

Test(counters_sane, resident_memory_that_is_not_told_is_a_gap)
{
	recorded_forget(&recorded, HQ_STAT_RESIDENT);
	ASSERT_SAYS("counters-sane", &recorded, true, "does not say what is resident");
}

Test(counters_sane, resident_memory_that_is_told_at_work_only_is_a_gap)
{
	for (int i = 0; i < MOMENTS; i++)
		if (i != AT_WORK)
			recorded.moments[i].known &= ~(1u << HQ_STAT_RESIDENT);
	ASSERT_SAYS("counters-sane", &recorded, true, "does not say what is resident");
}

Test(counters_sane, numbers_of_different_moments_get_the_slack)
{
	recorded.seen.stats_promises = HQ_STATS_IS_TOUCHED;
	recorded.moments[AT_WORK].values[HQ_STAT_ALLOCATED] += 3 * HQ_MIB;
	ASSERT_NOTHING("counters-sane", &recorded);
	recorded.moments[AT_WORK].values[HQ_STAT_ALLOCATED] += 3 * HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "more allocated than active");
	ASSERT_NOTHING("counters-sane:slack=8MiB", &recorded);
}

Test(counters_sane, fewer_allocated_bytes_than_were_asked_for_are_a_finding)
{
	recorded.moments[AT_WORKED].values[HQ_STAT_ALLOCATED] = 40 * HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "fewer allocated bytes");
}

Test(counters_sane, less_resident_memory_than_the_kernel_shows_is_a_finding)
{
	recorded.moments[AT_IDLE].rss_bytes = 60 * HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "less resident memory than the kernel");
	recorded.moments[AT_IDLE].lazyfree_bytes = 56 * HQ_MIB;
	ASSERT_NOTHING("counters-sane", &recorded);
}

Test(counters_sane, more_resident_memory_is_one_only_where_it_means_what_was_touched)
{
	recorded.moments[AT_FREED].rss_bytes = 20 * HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "more resident memory than the kernel");
	recorded.seen.stats_promises = 0;
	ASSERT_NOTHING("counters-sane", &recorded);
}

Test(counters_sane, what_the_kernel_still_had_in_the_idle_reading_before_is_no_more_than_it)
{
	hq_stats_set(&recorded.moments[AT_IDLE_LATE], HQ_STAT_RESIDENT, 30 * HQ_MIB);
	hq_stats_set(&recorded.moments[AT_IDLE_LATE], HQ_STAT_DIRTY, 30 * HQ_MIB);
	ASSERT_SAYS("counters-sane", &recorded, false, "more resident memory than the kernel");
	hq_stats_set(&recorded.moments[AT_IDLE], HQ_STAT_RESIDENT, 30 * HQ_MIB);
	recorded.moments[AT_IDLE].rss_bytes = 30 * HQ_MIB;
	ASSERT_NOTHING("counters-sane", &recorded);
}

Test(counters_sane, sums_of_ended_threads_are_looked_at_only_when_they_have_ended)
{
	recorded.seen.stats_promises = HQ_STATS_IS_SUMMED;
	recorded_forget(&recorded, HQ_STAT_ALLOCATED);
	recorded_forget(&recorded, HQ_STAT_ACTIVE);
	recorded.moments[AT_WORKED].values[HQ_STAT_RESIDENT] = 0;
	ASSERT_NOTHING("counters-sane", &recorded);
	recorded.moments[AT_FREED].values[HQ_STAT_RESIDENT] = 0;
	ASSERT_SAYS("counters-sane", &recorded, false, "less resident memory");
}

Test(counters_sane, an_allocator_without_statistics_is_a_gap)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded.moments[i].known = 0;
	ASSERT_SAYS("counters-sane", &recorded, true, "offers no statistics");
}

Test(counters_sane, no_records_and_lost_records_are_gaps)
{
	recorded.seen.stats_dropped = 7;
	ASSERT_SAYS("counters-sane", &recorded, true, "7 records of statistics were lost");
	recorded.seen.stats_count = 0;
	ASSERT_SAYS("counters-sane", &recorded, true, "no statistics were recorded");
}

Test(counters_sane, a_difference_of_two_moments_may_be_a_little_below_zero_at_work)
{
	recorded.moments[AT_WORK].values[HQ_STAT_ALLOCATED] = -(uint64_t)HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "below zero: allocated");
	recorded.seen.stats_promises = HQ_STATS_IS_TOUCHED;
	ASSERT_NOTHING("counters-sane", &recorded);
	recorded.moments[AT_WORK].values[HQ_STAT_ALLOCATED] = -(uint64_t)(9 * HQ_MIB);
	ASSERT_SAYS("counters-sane", &recorded, false, "below zero: allocated");
	recorded.moments[AT_WORK].values[HQ_STAT_ALLOCATED] = 0;
	recorded.moments[AT_IDLE].values[HQ_STAT_ALLOCATED] = -(uint64_t)HQ_MIB;
	ASSERT_SAYS("counters-sane", &recorded, false, "below zero: allocated");
}
