/* SPDX-License-Identifier: MIT */
/* The table of checkers as a whole. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

Test(checkers, are_sorted_by_name)
{
	for (size_t i = 1; hq_checkers[i]; i++)
		cr_assert_lt(strcmp(hq_checkers[i - 1]->name, hq_checkers[i]->name), 0, "%s",
			     hq_checkers[i]->name);
}

Test(checkers, each_says_what_it_promises_and_needs)
{
	for (size_t i = 0; hq_checkers[i]; i++) {
		const struct hq_checker *checker = hq_checkers[i];
		struct hq_finding finding;

		cr_assert(checker->promise[0] && checker->needs[0] && checker->check);
		cr_assert_lt(strlen(checker->name), sizeof(finding.checker));
	}
}

Test(checkers, options_have_defaults_and_fit)
{
	for (size_t i = 0; hq_checkers[i]; i++) {
		struct hq_error error = { .text = "" };
		struct hq_asked asked;

		cr_assert_eq(hq_asked_init(&asked, hq_checkers[i], &error), 0, "%s: %s",
			     hq_checkers[i]->name, error.text);
		cr_assert_leq(hq_checkers[i]->options_size, sizeof(asked.options));
		cr_assert_eq(hq_checkers[i]->options != NULL, hq_checkers[i]->options_size > 0);
	}
}

Test(checkers, all_are_quiet_about_a_good_run)
{
	struct hq_sample samples[] = { { 0, 1 }, { HQ_S, 1 } };
	struct hq_observations good = observed_good();
	struct hq_findings findings = { 0 };
	static struct hq_hist hist[HQ_LATENCY_COUNT];

	good.has_samples = true;
	good.samples = samples;
	good.sample_count = 2;
	good.hist = hist;
	hq_asked_check(NULL, 0, false, &good, &findings);
	cr_assert_eq(findings.count, 0, "%s: %s", findings.list[0].checker, findings.list[0].text);
}
