/* SPDX-License-Identifier: MIT */
/*
 * What an allocator says of the way it works, and what it has.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(mode_true, .init = record);

Test(mode_true, what_it_says_is_what_it_has)
{
	ASSERT_NOTHING("mode-true", &recorded);
}

Test(mode_true, a_thread_that_is_never_there_is_a_finding)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded.moments[i].threads--;
	ASSERT_SAYS("mode-true", &recorded, false, "1 threads of its own, and the process has 0");
}

Test(mode_true, a_thread_that_it_does_not_tell_is_a_finding)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded.moments[i].values[HQ_STAT_BACKGROUND] = 0;
	ASSERT_SAYS("mode-true", &recorded, false, "0 threads of its own, and the process has 1");
}

Test(mode_true, a_thread_that_comes_late_or_goes_is_none)
{
	recorded.moments[AT_WORKED].threads--;
	recorded.moments[AT_IDLE].threads += 3;
	ASSERT_NOTHING("mode-true", &recorded);
}

Test(mode_true, more_caches_than_threads_are_a_finding)
{
	recorded.moments[AT_IDLE].values[HQ_STAT_CACHES] = 3;
	ASSERT_SAYS("mode-true", &recorded, false, "caches of 3 threads");
}

Test(mode_true, lazily_freed_pages_of_one_that_denies_them_are_a_finding)
{
	recorded.moments[AT_IDLE].lazyfree_bytes = HQ_MIB;
	ASSERT_SAYS("mode-true", &recorded, false, "gives nothing back lazily");
	ASSERT_NOTHING("mode-true:slack=2MiB", &recorded);
	recorded.moments[AT_IDLE].values[HQ_STAT_LAZY_PURGES] = 1;
	ASSERT_NOTHING("mode-true", &recorded);
}

Test(mode_true, threads_that_are_not_told_are_a_gap_whatever_else_is)
{
	recorded_forget(&recorded, HQ_STAT_BACKGROUND);
	ASSERT_SAYS("mode-true", &recorded, true, "nothing of its threads");
	ASSERT_NOTHING("mode-true:threads=no", &recorded);
}

Test(mode_true, caches_that_are_not_told_are_a_gap_where_they_are_asked_for)
{
	recorded_forget(&recorded, HQ_STAT_CACHES);
	ASSERT_NOTHING("mode-true", &recorded);
	ASSERT_SAYS("mode-true:caches=yes", &recorded, true, "nothing of its caches");
}

Test(mode_true, lazy_purges_that_are_not_told_are_a_gap_where_they_are_asked_for)
{
	recorded_forget(&recorded, HQ_STAT_LAZY_PURGES);
	ASSERT_NOTHING("mode-true", &recorded);
	ASSERT_SAYS("mode-true:lazy=yes", &recorded, true, "lazy purges");
}

Test(mode_true, each_part_that_is_missing_is_a_gap_of_its_own)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded.moments[i].known = 0;
	const struct hq_findings findings =
		observed_check("mode-true:caches=yes:lazy=yes", &recorded.seen);

	cr_assert_eq(findings.count, 3);
	for (size_t i = 0; i < findings.count; i++)
		cr_expect(findings.list[i].gap);
}
