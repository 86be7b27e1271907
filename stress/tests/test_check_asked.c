/* SPDX-License-Identifier: MIT */
/* Contracts as they are asked for: names, options, and which checkers look at a run. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static const struct hq_checker *find(const char *name)
{
	struct hq_error error;

	return hq_checker_find(name, strlen(name), &error);
}

/* A run that breaks idle-falls with its defaults: all of its burst is there at the end. */
static struct hq_observations observed_kept(void)
{
	struct hq_observations seen = observed_good();

	seen.rss_peak_bytes = 256 * HQ_MIB;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = 1500 * HQ_MS, .rss_bytes = 256 * HQ_MIB };
	seen.quiet[1] = (struct hq_quiet){ .time_ns = 4600 * HQ_MS, .rss_bytes = 250 * HQ_MIB };
	seen.quiet_count = 2;
	return seen;
}

static bool has_finding_of(const struct hq_findings *findings, const char *checker)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (!strcmp(findings->list[i].checker, checker))
			return true;
	}
	return false;
}

Test(asked, unknown_name_is_answered_with_the_nearest)
{
	struct hq_error error = { .text = "" };

	cr_assert_null(hq_checker_find("idle-fals:within=1s", 9, &error));
	cr_assert_str_eq(error.text, "unknown contract 'idle-fals'; did you mean 'idle-falls'?");
}

Test(asked, options_are_set_word_by_word_over_the_defaults)
{
	struct hq_asked asked;
	struct hq_error error = { .text = "" };

	cr_assert_eq(hq_asked_init(&asked, find("idle-falls"), &error), 0);
	cr_assert_eq(hq_asked_set(&asked, "within=2s:slack=1MiB", &error), 0, "%s", error.text);
	cr_assert_eq(hq_asked_idle_ns(&asked), 2 * HQ_S);
	cr_assert_eq(hq_asked_set(&asked, "", &error), 0);
	cr_assert_eq(hq_asked_idle_ns(&asked), 2 * HQ_S);
}

Test(asked, wrong_options_are_refused)
{
	static const char *const wrong[] = { "witin=2s", "within=2", "within", "keep=2MiB", ":" };
	struct hq_asked asked;
	struct hq_error error;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(hq_asked_init(&asked, find("idle-falls"), &error), 0);
		cr_expect_lt(hq_asked_set(&asked, wrong[i], &error), 0, "'%s'", wrong[i]);
	}
	cr_assert_eq(hq_asked_init(&asked, find("overlap"), &error), 0);
	cr_expect_lt(hq_asked_set(&asked, "within=2s", &error), 0);
}

Test(asked, checker_on_request_looks_only_where_it_is_asked_for)
{
	const struct hq_observations seen = observed_kept();
	struct hq_findings findings = { 0 };
	struct hq_asked asked;
	struct hq_error error;

	hq_asked_check(NULL, 0, false, &seen, &findings);
	cr_assert_not(has_finding_of(&findings, "idle-falls"));
	cr_assert_eq(hq_asked_init(&asked, find("idle-falls"), &error), 0);
	hq_asked_check(&asked, 1, false, &seen, &findings);
	cr_assert(has_finding_of(&findings, "idle-falls"));
}

Test(asked, checker_gets_the_options_it_was_asked_with)
{
	const struct hq_observations seen = observed_kept();
	struct hq_findings findings = { 0 };
	struct hq_asked asked;
	struct hq_error error;

	cr_assert_eq(hq_asked_init(&asked, find("idle-falls"), &error), 0);
	cr_assert_eq(hq_asked_set(&asked, "keep=98%", &error), 0);
	hq_asked_check(&asked, 1, false, &seen, &findings);
	cr_assert_not(has_finding_of(&findings, "idle-falls"));
}

Test(asked, checker_that_always_looks_need_not_be_asked_for)
{
	struct hq_observations seen = observed_good();
	struct hq_findings findings = { 0 };

	seen.outcome = HQ_OUTCOME_HUNG;
	hq_asked_check(NULL, 0, false, &seen, &findings);
	cr_assert(has_finding_of(&findings, "survived"));
}

Test(asked, checker_of_what_was_injected_does_not_look_at_a_clean_run)
{
	const struct hq_observations seen = observed_good();
	struct hq_findings findings = { 0 };
	struct hq_asked asked;
	struct hq_error error;

	cr_assert_eq(hq_asked_init(&asked, find("page-size"), &error), 0);
	hq_asked_check(&asked, 1, true, &seen, &findings);
	cr_assert_not(has_finding_of(&findings, "page-size"));
	hq_asked_check(&asked, 1, false, &seen, &findings);
	cr_assert(has_finding_of(&findings, "page-size"));
}

Test(asked, what_the_host_has_to_do_is_what_any_of_them_asks)
{
	struct hq_asked asked[2];
	struct hq_error error = { .text = "" };

	cr_assert_eq(hq_asked_init(&asked[0], find("idle-falls"), &error), 0);
	cr_assert_eq(hq_asked_init(&asked[1], find("release-works"), &error), 0);
	cr_expect_eq(hq_asked_takes(asked, 0), 0);
	cr_expect_eq(hq_asked_takes(asked, 1), 0);
	cr_expect_eq(hq_asked_takes(asked, 2), HQ_TAKES_STATS | HQ_TAKES_RELEASE);
}
