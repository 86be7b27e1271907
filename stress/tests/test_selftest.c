/* SPDX-License-Identifier: MIT */
/*
 * The self-test's pure parts: tables read, results classified, rows judged, the score.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/command/selftest.h"

static const struct hq_selftest_bug bug = {
	.name = "same-twice", .checker = "overlap", .scenario = "s", .budget_ns = 1000
};

static struct hq_result result_of(const char *checker, const char *other, bool gap)
{
	struct hq_result result = { .verdict = HQ_VERDICT_FAIL, .wall_ns = 500, .judged_ns = 2000 };

	if (checker)
		strcpy(result.findings.list[result.findings.count++].checker, checker);
	if (other)
		strcpy(result.findings.list[result.findings.count++].checker, other);
	if (gap)
		result.findings.list[0].gap = true;
	return result;
}

static struct hq_selftest_seen seen_of(const struct hq_result *result, uint64_t fired)
{
	const struct hq_selftest_fires fires = { .count = fired, .first_ns = fired ? 1600 : 0 };
	struct hq_selftest_seen seen;

	hq_selftest_classify(&bug, result, &fires, &seen);
	return seen;
}

/* ---- classes ---- */

Test(selftest, finding_of_the_intended_checker_alone_is_caught)
{
	const struct hq_result result = result_of("overlap", NULL, false);
	const struct hq_selftest_seen seen = seen_of(&result, 3);

	cr_assert_eq(seen.catch, HQ_CATCH_INTENDED);
	cr_assert(seen.alone);
}

Test(selftest, intended_checker_counts_also_when_another_speaks_first)
{
	const struct hq_result result = result_of("content", "overlap", false);
	const struct hq_selftest_seen seen = seen_of(&result, 3);

	cr_assert_eq(seen.catch, HQ_CATCH_INTENDED);
	cr_assert_str_eq(seen.checker, "overlap");
	cr_assert_not(seen.alone);
}

Test(selftest, finding_of_another_checker_is_caught_by_another)
{
	const struct hq_result result = result_of("content", NULL, false);
	const struct hq_selftest_seen seen = seen_of(&result, 3);

	cr_assert_eq(seen.catch, HQ_CATCH_OTHER);
	cr_assert_str_eq(seen.checker, "content");
}

Test(selftest, finding_with_a_moment_is_timed_from_the_first_strike_to_it)
{
	struct hq_result result = result_of("content", "overlap", false);

	result.findings.list[0].time_ns = 1610;
	result.findings.list[1].time_ns = 1650;
	const struct hq_selftest_seen seen = seen_of(&result, 3);

	cr_assert(seen.by_event);
	cr_assert_eq(seen.found_ns, 50);
	cr_assert_eq(seen.took_ns, 500);
}

Test(selftest, finding_about_a_whole_run_is_timed_to_the_verdict)
{
	const struct hq_result result = result_of("overlap", NULL, false);
	const struct hq_selftest_seen seen = seen_of(&result, 3);

	cr_assert_not(seen.by_event);
	cr_assert_eq(seen.found_ns, 400);
}

Test(selftest, strike_without_a_time_is_timed_from_the_start)
{
	const struct hq_result result = result_of("overlap", NULL, false);
	const struct hq_selftest_fires fires = { .count = 1 };
	struct hq_selftest_seen seen;

	hq_selftest_classify(&bug, &result, &fires, &seen);
	cr_assert_eq(seen.found_ns, 500);
}

Test(selftest, row_has_the_longest_time_and_says_event_only_if_all_were)
{
	struct hq_selftest_row row = { .bug = &bug };
	struct hq_selftest_seen seen = { .checker = "overlap", .by_event = true, .found_ns = 70 };

	hq_selftest_add(&row, &seen);
	cr_assert(row.by_event);
	seen.by_event = false;
	seen.found_ns = 30;
	hq_selftest_add(&row, &seen);
	cr_assert_eq(row.found_ns, 70);
	cr_assert_not(row.by_event);
}

Test(selftest, gap_is_no_catch)
{
	const struct hq_result result = result_of("overlap", NULL, true);

	cr_assert_eq(seen_of(&result, 3).catch, HQ_CATCH_MISSED);
}

Test(selftest, gap_is_the_catch_of_a_bug_that_leaves_no_proof)
{
	const struct hq_selftest_bug silent = {
		.name = "silent", .checker = "overlap", .contract = "proof", .scenario = "s"
	};
	const struct hq_selftest_fires fires = { .count = 1 };
	struct hq_result result = result_of("overlap", NULL, true);
	struct hq_selftest_seen seen;

	result.verdict = HQ_VERDICT_INCONCLUSIVE;
	hq_selftest_classify(&silent, &result, &fires, &seen);
	cr_assert_eq(seen.catch, HQ_CATCH_INTENDED);
	cr_assert(seen.alone);
	result = result_of("content", NULL, true);
	result.verdict = HQ_VERDICT_INCONCLUSIVE;
	hq_selftest_classify(&silent, &result, &fires, &seen);
	cr_assert_eq(seen.catch, HQ_CATCH_OTHER);
	result.verdict = HQ_VERDICT_FAIL;
	hq_selftest_classify(&silent, &result, &fires, &seen);
	cr_assert_eq(seen.catch, HQ_CATCH_MISSED);
}

Test(selftest, quiet_run_in_which_the_bug_fired_is_missed)
{
	const struct hq_result result = result_of(NULL, NULL, false);

	cr_assert_eq(seen_of(&result, 1).catch, HQ_CATCH_MISSED);
}

Test(selftest, run_in_which_it_never_fired_proves_nothing_whatever_was_found)
{
	const struct hq_result quiet = result_of(NULL, NULL, false);
	const struct hq_result loud = result_of("overlap", NULL, false);

	cr_assert_eq(seen_of(&quiet, 0).catch, HQ_CATCH_NEVER_FIRED);
	cr_assert_eq(seen_of(&loud, 0).catch, HQ_CATCH_NEVER_FIRED);
}

Test(selftest, catch_over_the_budget_is_late)
{
	struct hq_result result = result_of("overlap", NULL, false);

	result.wall_ns = 1001;
	cr_assert_eq(seen_of(&result, 1).catch, HQ_CATCH_LATE);
}

Test(selftest, skipped_run_was_not_run)
{
	struct hq_result result = result_of(NULL, NULL, false);

	result.verdict = HQ_VERDICT_SKIP;
	cr_assert_eq(seen_of(&result, 0).catch, HQ_CATCH_NOT_RUN);
}

/* ---- rows ---- */

static enum hq_catch judge(size_t intended, size_t other, size_t missed, size_t never)
{
	struct hq_selftest_row row = {
		.bug = &bug,
		.runs = intended + other + missed + never,
		.counts = { [HQ_CATCH_INTENDED] = intended,
			    [HQ_CATCH_OTHER] = other,
			    [HQ_CATCH_MISSED] = missed,
			    [HQ_CATCH_NEVER_FIRED] = never },
	};

	hq_selftest_judge(&row);
	return row.catch;
}

Test(selftest, nineteen_of_twenty_are_enough_and_eighteen_are_not)
{
	cr_assert_eq(judge(19, 0, 1, 0), HQ_CATCH_INTENDED);
	cr_assert_eq(judge(18, 0, 2, 0), HQ_CATCH_MISSED);
}

Test(selftest, one_run_must_be_caught)
{
	cr_assert_eq(judge(1, 0, 0, 0), HQ_CATCH_INTENDED);
	cr_assert_eq(judge(0, 0, 1, 0), HQ_CATCH_MISSED);
}

Test(selftest, catches_of_both_kinds_add_up_to_caught_by_another)
{
	cr_assert_eq(judge(10, 10, 0, 0), HQ_CATCH_OTHER);
}

Test(selftest, row_that_fired_nowhere_never_fired)
{
	cr_assert_eq(judge(0, 0, 0, 5), HQ_CATCH_NEVER_FIRED);
}

Test(selftest, row_without_runs_was_not_run)
{
	cr_assert_eq(judge(0, 0, 0, 0), HQ_CATCH_NOT_RUN);
}

Test(selftest, alone_means_in_every_run_and_always_the_same)
{
	struct hq_selftest_row row = { .bug = &bug };
	const struct hq_selftest_seen alone = { .checker = "overlap", .alone = true };
	const struct hq_selftest_seen together = { .checker = "overlap", .alone = false };

	hq_selftest_add(&row, &alone);
	cr_assert(row.alone);
	hq_selftest_add(&row, &together);
	hq_selftest_add(&row, &alone);
	cr_assert_not(row.alone);
}

/* ---- the score ---- */

Test(selftest, last_line_counts_every_class_and_leaves_out_what_has_no_checker)
{
	const struct hq_selftest_bug uncovered = { .checker = "-" };
	const struct hq_selftest_row rows[] = {
		{ .bug = &bug, .catch = HQ_CATCH_INTENDED },
		{ .bug = &bug, .catch = HQ_CATCH_OTHER },
		{ .bug = &bug, .catch = HQ_CATCH_NEVER_FIRED },
		{ .bug = &uncovered, .catch = HQ_CATCH_MISSED },
	};
	struct hq_selftest_score score;
	char line[300];

	hq_selftest_count(rows, 4, &score);
	cr_assert_str_eq(hq_selftest_last_line(&score, 42, 1500000000, line, sizeof(line)),
			 "mutation score: 2 of 3 caught, 1 by the intended checker, 0 missed, "
			 "0 too late, 1 never fired, 0 not run; 1 without a checker (seed 42, "
			 "1.5 s)");
	cr_assert_not(hq_selftest_is_good(&score));
}

static bool is_good(enum hq_catch catch)
{
	const struct hq_selftest_bug uncovered = { .checker = "-" };
	const struct hq_selftest_row rows[] = {
		{ .bug = &bug, .catch = catch },
		{ .bug = &uncovered, .catch = HQ_CATCH_MISSED },
	};
	struct hq_selftest_score score;

	hq_selftest_count(rows, 2, &score);
	return hq_selftest_is_good(&score);
}

Test(selftest, score_is_good_when_every_bug_was_caught_by_the_checker_meant_for_it)
{
	cr_assert(is_good(HQ_CATCH_INTENDED));
}

Test(selftest, score_is_bad_when_a_bug_was_caught_by_luck_or_late)
{
	cr_assert_not(is_good(HQ_CATCH_OTHER));
	cr_assert_not(is_good(HQ_CATCH_LATE));
}

/* ---- without any bug ---- */

Test(selftest, finding_without_any_bug_is_unclean_for_every_bug)
{
	cr_assert_not(hq_selftest_is_clean(HQ_VERDICT_FAIL, false));
	cr_assert_not(hq_selftest_is_clean(HQ_VERDICT_ERROR, true));
	cr_assert(hq_selftest_is_clean(HQ_VERDICT_PASS, true));
}

Test(selftest, gap_without_any_bug_is_unclean_only_where_a_bug_is_caught_by_a_gap)
{
	cr_assert(hq_selftest_is_clean(HQ_VERDICT_INCONCLUSIVE, false));
	cr_assert_not(hq_selftest_is_clean(HQ_VERDICT_INCONCLUSIVE, true));
}

Test(selftest, skipped_run_without_any_bug_leaves_rows_that_were_not_run)
{
	cr_assert(hq_selftest_is_clean(HQ_VERDICT_SKIP, true));
}

/* ---- tables ---- */

static const char list[] = "a\tplace\talways\toverlap\tgives twice\n"
			   "b\tsizes\talways\t-\twraps around\n";

static int read_table(const char *text, struct hq_selftest_bugs *bugs, struct hq_error *error)
{
	char path[] = "/tmp/heapquake-test-XXXXXX";
	const int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	const int status = hq_selftest_read_table(path, bugs, error);

	unlink(path);
	return status;
}

Test(selftest, list_of_the_allocator_becomes_bugs)
{
	struct hq_selftest_bugs bugs;
	struct hq_error error;

	cr_assert_eq(hq_selftest_parse_bugs(list, &bugs, &error), 0);
	cr_assert_eq(bugs.count, 2);
	cr_assert_str_eq(bugs.list[1].help, "wraps around");
}

Test(selftest, line_with_a_missing_field_is_refused)
{
	struct hq_selftest_bugs bugs;
	struct hq_error error;

	cr_assert_neq(hq_selftest_parse_bugs("a\tplace\talways\toverlap\n", &bugs, &error), 0);
	cr_assert_str_eq(error.text, "line 1 of the allocator's bugs is not whole");
}

Test(selftest, table_gives_scenario_budget_and_subset)
{
	struct hq_selftest_bugs bugs;
	struct hq_error error;

	hq_selftest_parse_bugs(list, &bugs, &error);
	cr_assert_eq(read_table("a: [calls, 2s, quick]\n", &bugs, &error), 0);
	cr_assert_str_eq(bugs.list[0].scenario, "calls");
	cr_assert_eq(bugs.list[0].budget_ns, 2000000000u);
	cr_assert(bugs.list[0].quick);
}

Test(selftest, table_that_names_no_bug_is_refused)
{
	struct hq_selftest_bugs bugs;
	struct hq_error error;

	hq_selftest_parse_bugs(list, &bugs, &error);
	cr_assert_neq(read_table("a: [calls, 2s]\nc: [calls, 2s]\n", &bugs, &error), 0);
	cr_assert_str_eq(error.text, "line 2: the allocator has no bug 'c'");
}

Test(selftest, bug_with_a_checker_needs_a_scenario)
{
	struct hq_selftest_bugs bugs;
	struct hq_error error;

	hq_selftest_parse_bugs(list, &bugs, &error);
	cr_assert_neq(read_table("b: [calls, 2s]\n", &bugs, &error), 0);
	cr_assert_str_eq(error.text, "bug 'a' has a checker and no scenario");
}

/* ---- the report ---- */

static char *written(int (*write)(const struct hq_selftest_row *, FILE *),
		     const struct hq_selftest_row *row)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	cr_assert_eq(write(row, stream), 0);
	fclose(stream);
	return text;
}

static int write_text(const struct hq_selftest_row *row, FILE *stream)
{
	hq_selftest_write_text(row, 1, 42, 1000000000, stream);
	return 0;
}

static int write_json(const struct hq_selftest_row *row, FILE *stream)
{
	return hq_selftest_write_json(row, 1, 42, 1000000000, stream);
}

static const struct hq_selftest_row caught = {
	.bug = &bug,
	.runs = 1,
	.counts = { [HQ_CATCH_INTENDED] = 1 },
	.catch = HQ_CATCH_INTENDED,
	.checker = "overlap",
	.alone = true,
	.by_event = true,
	.found_ns = 1500,
	.took_ns = 2000000,
};

Test(selftest, report_tells_how_long_the_run_was_and_how_soon_the_bug_was_found)
{
	char *text = written(write_text, &caught);

	cr_assert(strstr(text, "found after"), "%s", text);
	cr_assert(strstr(text, "2 ms       event 1.5 us"), "%s", text);
	free(text);
	text = written(write_json, &caught);
	cr_assert(strstr(text, "\"verdict_after_ns\": 2000000"), "%s", text);
	cr_assert(strstr(text, "\"found_after_ns\": 1500"), "%s", text);
	cr_assert(strstr(text, "\"found_by\": \"event\""), "%s", text);
	free(text);
}

Test(selftest, report_of_a_bug_that_was_missed_has_no_time_of_finding)
{
	struct hq_selftest_row missed = caught;

	missed.counts[HQ_CATCH_INTENDED] = 0;
	missed.counts[HQ_CATCH_MISSED] = 1;
	missed.catch = HQ_CATCH_MISSED;
	missed.checker[0] = '\0';
	char *text = written(write_json, &missed);

	cr_assert(strstr(text, "\"found_by\": \"\""), "%s", text);
	free(text);
}
