/* SPDX-License-Identifier: MIT */
/*
 * Records of statistics as checkers and metrics look at them.
 */
#include "stress/check/moments.h"

#include <errno.h>

#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(moments, .init = record);

Test(moments, what_the_process_had_besides_the_allocator_is_taken_off)
{
	cr_expect_eq(hq_moment_rss_bytes(&recorded.seen, &recorded.moments[AT_WORKED]),
		     72 * HQ_MIB);
	recorded.moments[AT_WORKED].lazyfree_bytes = 2 * HQ_MIB;
	cr_expect_eq(hq_moment_rss_bytes(&recorded.seen, &recorded.moments[AT_WORKED]),
		     70 * HQ_MIB);
	recorded.moments[AT_WORKED].rss_bytes = 0;
	cr_expect_eq(hq_moment_rss_bytes(&recorded.seen, &recorded.moments[AT_WORKED]), 0);
}

Test(moments, a_point_is_its_first_record)
{
	cr_expect_eq(hq_moment_at(&recorded.seen, HQ_STATS_IDLE), &recorded.moments[AT_IDLE]);
	recorded.seen.stats_count = 2;
	cr_expect_null(hq_moment_at(&recorded.seen, HQ_STATS_IDLE));
}

Test(moments, a_metric_is_the_number_at_the_moment_at_which_the_data_are_held)
{
	struct hq_error error;
	enum hq_unit unit;
	double value;

	cr_assert_eq(hq_metric_get(&recorded.seen, "stats.resident", &value, &unit, &error), 0);
	cr_expect_eq(value, 72.0 * HQ_MIB);
	cr_expect_eq(unit, HQ_UNIT_BYTES);
}

Test(moments, a_metric_that_the_allocator_does_not_say_has_no_value)
{
	struct hq_error error;
	enum hq_unit unit;
	double value;

	cr_assert_eq(hq_metric_get(&recorded.seen, "stats.cached", &value, &unit, &error),
		     -ENODATA);
	cr_expect_str_eq(error.text, "this allocator does not say it");
	recorded.seen.stats_count = 0;
	cr_assert_eq(hq_metric_get(&recorded.seen, "stats.active", &value, &unit, &error),
		     -ENODATA);
	cr_expect(strstr(error.text, "no record"));
}

Test(moments, an_expectation_about_it_has_it_taken)
{
	struct hq_expectation expectation;
	struct hq_error error;

	cr_assert_eq(
		hq_expectation_parse("rss.peak <= 2 * stats.active", true, &expectation, &error),
		0);
	cr_expect_eq(hq_expectation_takes(&expectation), HQ_TAKES_STATS);
	cr_assert_eq(hq_expectation_parse("hardware.cycles <= 2 * perf.task_clock", true,
					  &expectation, &error),
		     -EINVAL);
	cr_assert_eq(hq_expectation_parse("hardware.cycles <= 2 * hardware.instructions", true,
					  &expectation, &error),
		     0);
	cr_expect_eq(hq_expectation_takes(&expectation), HQ_TAKES_COUNTERS);
	cr_assert_eq(hq_expectation_parse("calls.mmap.count <= 3", true, &expectation, &error), 0);
	cr_expect_eq(hq_expectation_takes(&expectation), HQ_TAKES_CALLS);
	cr_assert_eq(hq_expectation_parse("rss.peak <= 2MiB", true, &expectation, &error), 0);
	cr_expect_eq(hq_expectation_takes(&expectation), 0);
}
