/* SPDX-License-Identifier: MIT */
/*
 * Purges of whole pages, and a process that does not grow while it idles.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
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
	static struct hq_sample samples[] = {
		{ .time_ns = HQ_S, .rss_bytes = 100 * HQ_MIB },
		{ .time_ns = 1600 * HQ_MS, .rss_bytes = 60 * HQ_MIB },
		{ .time_ns = 2 * HQ_S, .rss_bytes = 10 * HQ_MIB },
		{ .time_ns = 3 * HQ_S, .rss_bytes = 30 * HQ_MIB },
	};

	purge_whole();
	recorded.seen.samples = samples;
	recorded.seen.sample_count = 3;
	ASSERT_NOTHING("page-size", &recorded);
	recorded.seen.sample_count = 4;
	ASSERT_SAYS("page-size", &recorded, false, "rose from 10 MiB to 30 MiB");
}

Test(page_size, without_a_recorded_purge_it_is_a_gap)
{
	ASSERT_SAYS("page-size", &recorded, true, "no purge was recorded");
}
