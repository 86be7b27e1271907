/* SPDX-License-Identifier: MIT */
/* The last line, the exit status and the table of formats. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/report/summary.h"
#include "stress/tests/reported.h"

static struct hq_suite suite_of(const struct hq_result *results, size_t count)
{
	return (struct hq_suite){
		.results = results, .count = count, .seed = 42, .wall_ns = 31240000000
	};
}

static void assert_last_line(const struct hq_suite *suite, const char *expected)
{
	char line[300];

	cr_assert_str_eq(hq_suite_last_line(suite, line, sizeof(line)), expected);
}

Test(last_line, counts_each_verdict_that_came_up)
{
	struct hq_result results[7];
	struct hq_suite suite = suite_of(results, reported_all(results));

	assert_last_line(&suite, "7 scenarios: 1 pass, 1 fail, 1 error, 1 xpass, 1 inconclusive, "
				 "1 xfail, 1 skip (seed 42, 31.2 s)");
}

Test(last_line, one_scenario_is_singular)
{
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");
	struct hq_suite suite = suite_of(&result, 1);

	assert_last_line(&suite, "1 scenario: 1 pass (seed 42, 31.2 s)");
}

Test(last_line, nothing_run_is_said)
{
	struct hq_suite suite = suite_of(NULL, 0);

	assert_last_line(&suite, "0 scenarios: nothing was run (seed 42, 31.2 s)");
}

Test(last_line, an_interrupt_is_said)
{
	const struct hq_result result = reported(HQ_VERDICT_INCONCLUSIVE, "bedrock");
	struct hq_suite suite = suite_of(&result, 1);

	suite.interrupted = true;
	assert_last_line(&suite, "1 scenario: 1 inconclusive (interrupted, seed 42, 31.2 s)");
}

static int status_of(enum hq_verdict first, enum hq_verdict second)
{
	const struct hq_result results[2] = { reported(first, "a"), reported(second, "b") };
	const struct hq_suite suite = suite_of(results, 2);

	return hq_suite_exit_status(&suite);
}

Test(exit_status, is_0_when_all_came_out_as_expected)
{
	cr_assert_eq(status_of(HQ_VERDICT_PASS, HQ_VERDICT_PASS), 0);
	cr_assert_eq(status_of(HQ_VERDICT_PASS, HQ_VERDICT_XFAIL), 0);
	cr_assert_eq(status_of(HQ_VERDICT_PASS, HQ_VERDICT_SKIP), 0);
	cr_assert_eq(status_of(HQ_VERDICT_XFAIL, HQ_VERDICT_SKIP), 0);
}

Test(exit_status, is_1_for_fail_and_xpass)
{
	cr_assert_eq(status_of(HQ_VERDICT_PASS, HQ_VERDICT_FAIL), 1);
	cr_assert_eq(status_of(HQ_VERDICT_XPASS, HQ_VERDICT_SKIP), 1);
	cr_assert_eq(status_of(HQ_VERDICT_FAIL, HQ_VERDICT_INCONCLUSIVE), 1);
}

Test(exit_status, is_3_for_any_error)
{
	cr_assert_eq(status_of(HQ_VERDICT_FAIL, HQ_VERDICT_ERROR), 3);
}

Test(exit_status, is_4_when_nothing_failed_but_something_is_inconclusive)
{
	cr_assert_eq(status_of(HQ_VERDICT_INCONCLUSIVE, HQ_VERDICT_PASS), 4);
	cr_assert_eq(status_of(HQ_VERDICT_INCONCLUSIVE, HQ_VERDICT_SKIP), 4);
}

Test(exit_status, is_5_when_nothing_was_run)
{
	const struct hq_suite suite = suite_of(NULL, 0);

	cr_assert_eq(hq_suite_exit_status(&suite), 5);
}

Test(exit_status, is_77_when_all_was_skipped)
{
	cr_assert_eq(status_of(HQ_VERDICT_SKIP, HQ_VERDICT_SKIP), 77);
}

Test(message, is_the_reason_then_the_first_finding_then_the_first_gap)
{
	struct hq_result result = reported(HQ_VERDICT_FAIL, "bedrock");

	cr_assert_str_eq(hq_result_message(&result), "");
	hq_gap_add(&result.findings, "injected", "a gap");
	cr_assert_str_eq(hq_result_message(&result), "a gap");
	hq_finding_add(&result.findings, "content", "a finding");
	cr_assert_str_eq(hq_result_message(&result), "a finding");
	strcpy(result.reason, "a reason");
	cr_assert_str_eq(hq_result_message(&result), "a reason");
}

Test(formats, are_found_by_name_and_explained)
{
	static const char *const names[] = { "html", "json", "junit", "tap", "text", "usage" };

	for (size_t i = 0; i < 6; i++) {
		cr_assert_str_eq(hq_format_find(names[i])->name, names[i]);
		cr_assert(hq_format_find(names[i])->help[0]);
	}
	cr_assert_null(hq_format_find("xml"));
}

Test(formats, each_reports_a_stream_that_cannot_be_written)
{
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");
	const struct hq_suite suite = suite_of(&result, 1);

	for (size_t i = 0; hq_formats[i]; i++) {
		FILE *full = fopen("/dev/full", "w");

		if (!full)
			cr_skip_test("no /dev/full");
		cr_assert_lt(hq_formats[i]->write(&suite, full), 0, "%s", hq_formats[i]->name);
		fclose(full);
	}
}
