/* SPDX-License-Identifier: MIT */
/*
 * Purges of whole pages, and a process that does not grow while it idles.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static struct hq_sample samples[] = {
	{ .time_ns = HQ_S, .rss_bytes = 100 * HQ_MIB },
	{ .time_ns = 1600 * HQ_MS, .rss_bytes = 60 * HQ_MIB },
	{ .time_ns = 2 * HQ_S, .rss_bytes = 10 * HQ_MIB },
	{ .time_ns = 3 * HQ_S, .rss_bytes = 30 * HQ_MIB },
};

static void record(void)
{
	recorded_good(&recorded);
	recorded.seen.samples = samples;
	recorded.seen.sample_count = 3;
}

TestSuite(page_size, .init = record);

#define PURGES 3

static struct hq_fault_seen purges[PURGES];

static void purge(int index, uint64_t address, uint64_t length, uint64_t advice)
{
	purges[index].fault =
		(struct hq_fault){ .args = { address, length, advice }, .call = HQ_CALL_MADVISE };
	recorded.seen.faults = purges;
	recorded.seen.fault_count = (size_t)index + 1;
}

static void purge_whole(void)
{
	purge(0, 0x7f0000001000, 8192, 4);
	purge(1, 0x7f0000004000, 4096, 8);
}

Test(page_size, whole_pages_are_no_finding)
{
	purge_whole();
	ASSERT_NOTHING("page-size", &recorded);
}

Test(page_size, an_odd_length_is_a_finding_with_the_call)
{
	purge_whole();
	purge(2, 0x7f0000001000, 8176, 4);
	ASSERT_SAYS("page-size", &recorded, false, "does not cover whole pages of 4096");
	const struct hq_findings findings = observed_check("page-size", &recorded.seen);

	cr_expect(strstr(findings.list[0].evidence, "8176, MADV_DONTNEED"));
}

Test(page_size, pages_of_another_size_are_judged_by_theirs)
{
	purge_whole();
	recorded.seen.page_bytes = 65536;
	ASSERT_SAYS("page-size", &recorded, false, "whole pages of 65536");
}

Test(page_size, other_advice_is_not_looked_at)
{
	purge_whole();
	purge(2, 0x7f0000001000, 100, 14);
	ASSERT_NOTHING("page-size", &recorded);
}

Test(page_size, an_idle_process_that_grows_is_a_finding)
{
	purge_whole();
	ASSERT_NOTHING("page-size", &recorded);
	recorded.seen.sample_count = 4;
	ASSERT_SAYS("page-size", &recorded, false, "rose from 10 MiB to 30 MiB");
}

Test(page_size, without_a_recorded_purge_it_is_a_gap)
{
	ASSERT_SAYS("page-size", &recorded, true, "no purge was recorded");
}

Test(page_size, records_that_were_lost_are_a_gap_unless_one_is_bad_already)
{
	purge_whole();
	recorded.seen.faults_dropped = 1;
	ASSERT_SAYS("page-size", &recorded, true, "not every purge");
	purge(2, 0x7f0000001000, 8176, 4);
	ASSERT_SAYS("page-size", &recorded, false, "does not cover whole pages");
}

Test(page_size, an_idle_process_of_which_less_than_two_readings_were_taken_is_a_gap)
{
	purge_whole();
	recorded.seen.sample_count = 2;
	ASSERT_SAYS("page-size", &recorded, true, "not read in an idle process");
	recorded.seen.sample_count = 3;
	recorded.seen.freed_ns = 0;
	ASSERT_SAYS("page-size", &recorded, true, "not read in an idle process");
	recorded.seen.outcome = HQ_OUTCOME_SIGNALED;
	ASSERT_NOTHING("page-size", &recorded);
}

Test(page_size, idle_time_is_asked_for)
{
	struct hq_error error;
	struct hq_asked asked;

	cr_assert_eq(hq_asked_init(&asked, hq_checker_find("page-size", 9, &error), &error), 0);
	cr_assert_gt(hq_asked_idle_ns(&asked), 0);
}
