/* SPDX-License-Identifier: MIT */
/* Findings against what is known. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/check/check.h"

enum shown { QUIET, GAP, FINDING };

static enum hq_verdict judge(enum shown shown, const struct hq_known *known)
{
	struct hq_findings findings = { 0 };

	if (shown != QUIET)
		hq_gap_add(&findings, "injected", "silent");
	if (shown == FINDING)
		hq_finding_add(&findings, "survived", "crash");
	return hq_verdict_judge(&findings, known);
}

Test(verdict, nothing_known_quiet_is_pass)
{
	cr_assert_eq(judge(QUIET, NULL), HQ_VERDICT_PASS);
}

Test(verdict, nothing_known_a_gap_is_inconclusive)
{
	cr_assert_eq(judge(GAP, &(struct hq_known){ 0 }), HQ_VERDICT_INCONCLUSIVE);
}

Test(verdict, nothing_known_a_finding_outweighs_gaps)
{
	cr_assert_eq(judge(FINDING, NULL), HQ_VERDICT_FAIL);
}

Test(verdict, known_fail_seen_is_xfail)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_FAIL };

	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_XFAIL);
}

Test(verdict, known_fail_not_seen_is_xpass)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_FAIL };

	cr_assert_eq(judge(QUIET, &known), HQ_VERDICT_XPASS);
}

Test(verdict, known_sometimes_not_seen_is_pass)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_FAIL, .sometimes = true };

	cr_assert_eq(judge(QUIET, &known), HQ_VERDICT_PASS);
}

Test(verdict, known_sometimes_seen_is_xfail)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_FAIL, .sometimes = true };

	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_XFAIL);
}

Test(verdict, known_fail_that_is_only_a_gap_is_inconclusive)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_FAIL };

	cr_assert_eq(judge(GAP, &known), HQ_VERDICT_INCONCLUSIVE);
}

Test(verdict, known_inconclusive_seen_is_xfail)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_INCONCLUSIVE };

	cr_assert_eq(judge(GAP, &known), HQ_VERDICT_XFAIL);
}

Test(verdict, known_inconclusive_that_fails_is_fail)
{
	struct hq_known known = { .present = true, .verdict = HQ_VERDICT_INCONCLUSIVE };

	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_FAIL);
}

Test(verdict, known_of_one_checker_is_not_excused_by_another)
{
	struct hq_known known = { .present = true,
				  .verdict = HQ_VERDICT_FAIL,
				  .checkers = "expect" };

	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_FAIL);
	strcpy(known.checkers, "survived");
	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_XFAIL);
}

Test(verdict, news_from_another_checker_is_not_excused)
{
	const struct hq_known known = { .present = true,
					.verdict = HQ_VERDICT_FAIL,
					.checkers = "errno,survived" };
	struct hq_findings findings = { .count = 0 };

	hq_finding_add(&findings, "survived", "it crashed");
	hq_finding_add(&findings, "errno", "free changed errno");
	cr_assert_eq(hq_verdict_judge(&findings, &known), HQ_VERDICT_XFAIL);
	hq_finding_add(&findings, "overlap", "two blocks overlap");
	cr_assert_eq(hq_verdict_judge(&findings, &known), HQ_VERDICT_FAIL);
}

Test(verdict, a_gap_of_the_known_checker_is_no_finding_of_it)
{
	struct hq_known known = { .present = true,
				  .verdict = HQ_VERDICT_FAIL,
				  .checkers = "injected" };

	cr_assert_eq(judge(FINDING, &known), HQ_VERDICT_FAIL);
}

Test(verdict, gaps_that_found_no_room_still_count)
{
	struct hq_findings findings = { .left_out = 1 };

	cr_assert_eq(hq_verdict_judge(&findings, NULL), HQ_VERDICT_INCONCLUSIVE);
}

Test(verdict, names_are_those_of_the_documentation)
{
	cr_assert_str_eq(hq_verdict_name(HQ_VERDICT_PASS), "PASS");
	cr_assert_str_eq(hq_verdict_name(HQ_VERDICT_INCONCLUSIVE), "INCONCLUSIVE");
	cr_assert_str_eq(hq_verdict_name(HQ_VERDICT_XPASS), "XPASS");
	cr_assert_str_eq(hq_verdict_name((enum hq_verdict)99), "?");
}

Test(verdict, known_checkers_do_not_cover_what_found_no_room)
{
	struct hq_known known = { .present = true,
				  .verdict = HQ_VERDICT_FAIL,
				  .sometimes = true,
				  .checkers = "survived" };
	struct hq_findings findings = { .left_out = 1 };

	hq_finding_add(&findings, "survived", "crash");
	cr_assert_eq(hq_verdict_judge(&findings, &known), HQ_VERDICT_FAIL);
}
