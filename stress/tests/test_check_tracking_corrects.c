/* SPDX-License-Identifier: MIT */
/*
 * Resident memory as it is counted and as it is, after faults.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(tracking_corrects, .init = record);

static struct hq_fault_seen fault = { .fault = { .time_ns = GATE_NS + 900 * HQ_MS } };

static void add_fault(void)
{
	recorded.seen.faults = &fault;
	recorded.seen.fault_count = 1;
}

Test(tracking_corrects, what_agrees_after_the_faults_is_no_finding)
{
	add_fault();
	ASSERT_NOTHING("tracking-corrects", &recorded);
}

Test(tracking_corrects, what_stays_too_low_or_too_high_is_a_finding)
{
	add_fault();
	recorded.moments[AT_IDLE_LATE].values[HQ_STAT_RESIDENT] = 30 * HQ_MIB;
	ASSERT_SAYS("tracking-corrects", &recorded, false, "counts 30 MiB");
	recorded.moments[AT_IDLE_LATE].values[HQ_STAT_RESIDENT] = 3 * HQ_MIB;
	recorded.moments[AT_IDLE_LATE].rss_bytes = 30 * HQ_MIB;
	ASSERT_SAYS("tracking-corrects", &recorded, false, "counts 3 MiB");
	ASSERT_NOTHING("tracking-corrects:slack=64MiB", &recorded);
}

Test(tracking_corrects, until_the_last_reading_it_may_correct_itself)
{
	add_fault();
	recorded.moments[AT_WORKED].values[HQ_STAT_RESIDENT] = 9 * HQ_MIB;
	recorded.moments[AT_IDLE].values[HQ_STAT_RESIDENT] = 90 * HQ_MIB;
	ASSERT_NOTHING("tracking-corrects", &recorded);
}

Test(tracking_corrects, what_is_committed_may_be_more_but_not_less_and_not_below_zero)
{
	uint64_t *const resident = &recorded.moments[AT_IDLE_LATE].values[HQ_STAT_RESIDENT];

	add_fault();
	recorded.seen.stats_promises = HQ_STATS_IS_SUMMED;
	*resident = 100 * HQ_MIB;
	ASSERT_NOTHING("tracking-corrects", &recorded);
	*resident = -(uint64_t)HQ_MIB;
	ASSERT_SAYS("tracking-corrects", &recorded, false, "counts -1 MiB");
	*resident = 0;
	ASSERT_SAYS("tracking-corrects", &recorded, false, "counts 0 B");
}

Test(tracking_corrects, without_a_fault_there_is_nothing_to_correct)
{
	ASSERT_SAYS("tracking-corrects", &recorded, true, "no fault");
}

Test(tracking_corrects, without_a_reading_after_the_last_fault_it_is_a_gap)
{
	add_fault();
	ASSERT_SAYS("tracking-corrects:after=10s", &recorded, true, "nothing is known");
	recorded_forget(&recorded, HQ_STAT_RESIDENT);
	ASSERT_SAYS("tracking-corrects", &recorded, true, "nothing is known");
}
