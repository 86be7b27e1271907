/* SPDX-License-Identifier: MIT */
/* The list of findings: order, room, evidence lines. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/check/evidence.h"
#include "stress/tests/observed.h"

Test(finding, an_added_finding_carries_checker_text_and_count_one)
{
	struct hq_findings findings = { 0 };

	cr_assert(hq_finding_add(&findings, "overlap", "block %d", 7));
	cr_assert_eq(findings.count, 1);
	cr_assert_str_eq(findings.list[0].checker, "overlap");
	cr_assert_str_eq(findings.list[0].text, "block 7");
	cr_assert_eq(findings.list[0].count, 1);
	cr_assert(!findings.list[0].gap);
}

Test(finding, an_added_gap_is_marked_as_gap)
{
	struct hq_findings findings = { 0 };

	hq_gap_add(&findings, "injected", "silent");
	cr_assert(findings.list[0].gap);
}

Test(finding, a_full_list_of_findings_counts_what_it_leaves_out)
{
	struct hq_findings findings = { 0 };

	for (int i = 0; i < HQ_FINDINGS_MAX; i++)
		hq_finding_add(&findings, "expect", "%d", i);
	cr_assert_null(hq_finding_add(&findings, "expect", "one more"));
	cr_assert_null(hq_gap_add(&findings, "expect", "one more"));
	cr_assert_eq(findings.count, HQ_FINDINGS_MAX);
	cr_assert_eq(findings.left_out, 2);
}

Test(finding, a_finding_takes_the_place_of_the_last_gap_in_a_full_list)
{
	struct hq_findings findings = { 0 };

	for (int i = 0; i < HQ_FINDINGS_MAX - 1; i++)
		hq_gap_add(&findings, "injected", "%d", i);
	hq_finding_add(&findings, "overlap", "real");
	cr_assert(hq_finding_add(&findings, "content", "real as well"));
	cr_assert_eq(findings.count, HQ_FINDINGS_MAX);
	cr_assert_eq(findings.left_out, 1);
	cr_assert_str_eq(findings.list[HQ_FINDINGS_MAX - 2].text, "real");
	cr_assert_str_eq(findings.list[HQ_FINDINGS_MAX - 1].text, "real as well");
	cr_assert_str_eq(findings.list[HQ_FINDINGS_MAX - 3].text, "29");
}

Test(finding, a_text_that_is_too_long_is_cut)
{
	struct hq_findings findings = { 0 };
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	hq_finding_add(&findings, text, "%s", text);
	cr_assert_eq(strlen(findings.list[0].text), sizeof(findings.list[0].text) - 1);
	cr_assert_eq(strlen(findings.list[0].checker), sizeof(findings.list[0].checker) - 1);
}

Test(finding, evidence_lines_are_separated_by_a_line_feed)
{
	struct hq_findings findings = { 0 };
	struct hq_finding *finding = hq_finding_add(&findings, "survived", "x");

	cr_assert(hq_evidence_line(finding, "first"));
	cr_assert(hq_evidence_line(finding, "second %d", 2));
	cr_assert_str_eq(finding->evidence, "first\nsecond 2");
}

Test(finding, an_evidence_line_without_room_is_left_out_whole)
{
	struct hq_findings findings = { 0 };
	struct hq_finding *finding = hq_finding_add(&findings, "survived", "x");

	cr_assert(hq_evidence_line(finding, "%0600d", 1));
	cr_assert(!hq_evidence_line(finding, "%050d", 2));
	cr_assert_eq(strlen(finding->evidence), 600);
	cr_assert(hq_evidence_line(finding, "%038d", 3));
	cr_assert_eq(strlen(finding->evidence), 639);
	cr_assert(!hq_evidence_line(finding, "%s", ""));
}

Test(finding, evidence_for_a_finding_that_found_no_room_is_ignored)
{
	cr_assert(!hq_evidence_line(NULL, "nothing"));
}
