/* SPDX-License-Identifier: MIT */
/* The checkers and metrics of a limit that a program keeps by a tracker of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "stress/tests/observed.h"

#define WORD(word) limit.words[HQ_LIMIT_##word]

/* Four threads below a hard limit of 24 MiB, with true figures. */
static struct hq_observations kept(void)
{
	struct hq_observations seen = observed_good();

	seen.limit.workers = 4;
	seen.limit.admitted_least = 200;
	seen.WORD(HARD_BYTES) = 24 * HQ_MIB;
	seen.WORD(SOFT_BYTES) = 16 * HQ_MIB;
	seen.WORD(REQUEST_BYTES) = 64 * HQ_KIB;
	seen.WORD(PEAK_BYTES) = 24 * HQ_MIB;
	seen.WORD(EARLY_BYTES) = 17 * HQ_MIB;
	seen.WORD(QUIETS) = 1;
	seen.WORD(ADMITTED) = 1000;
	seen.WORD(REFUSED) = 1000;
	seen.WORD(ROWS) = 16000;
	return seen;
}

/* The same by a total that is taken every 50 ms; 1 MiB is taken and given in 10 ms. */
static struct hq_observations cached(void)
{
	struct hq_observations seen = kept();

	seen.WORD(STALE_NS) = 50 * HQ_MS;
	seen.WORD(AHEAD_BYTES) = 64 * HQ_KIB;
	seen.WORD(TAKEN_BYTES) = HQ_MIB;
	seen.WORD(GIVEN_BYTES) = HQ_MIB;
	seen.WORD(STEP_NS) = 15 * HQ_MS;
	seen.WORD(OLDEST_NS) = 55 * HQ_MS;
	return seen;
}

static const char *const contracts[] = { "limit-fair", "limit-fresh", "limit-graded", "limit-held",
					 "limit-reopens" };

static void expect_one(const char *contract, const struct hq_observations *seen, bool gap,
		       const char *words)
{
	const struct hq_findings findings = observed_check(contract, seen);

	cr_assert_eq(findings.count, 1, "%s", contract);
	cr_expect_eq(findings.list[0].gap, gap, "%s", contract);
	cr_expect(strstr(findings.list[0].text, words), "%s", findings.list[0].text);
}

static void expect_none(const char *contract, const struct hq_observations *seen)
{
	const struct hq_findings findings = observed_check(contract, seen);

	cr_expect_eq(findings.count, 0, "%s: %s", contract, findings.list[0].text);
}

Test(limits, a_workload_without_a_limit_is_a_gap)
{
	const struct hq_observations seen = observed_good();

	for (size_t i = 0; i < 5; i++)
		expect_one(contracts[i], &seen, true, "no limit of its own");
}

Test(limits, a_limit_that_was_never_near_is_a_gap)
{
	struct hq_observations seen = cached();

	seen.WORD(REFUSED) = 0;
	for (size_t i = 0; i < 5; i++)
		expect_one(contracts[i], &seen, true, "nothing was refused");
}

Test(limits, a_limit_that_was_kept_is_fine)
{
	const struct hq_observations seen = kept(), old = cached();

	for (size_t i = 0; i < 5; i++) {
		expect_none(contracts[i], &old);
		if (strcmp(contracts[i], "limit-fresh") != 0)
			expect_none(contracts[i], &seen);
	}
}

/* ---- held ---- */

Test(limit_held, true_figures_may_be_passed_by_nothing)
{
	struct hq_observations seen = kept();

	seen.WORD(PEAK_BYTES) += 1;
	expect_one("limit-held", &seen, false, "passed its own limit by 1 B, at most 0 B expected");
}

Test(limit_held, or_by_what_is_admitted_at_the_same_moment)
{
	struct hq_observations seen = kept();

	seen.WORD(AHEAD_BYTES) = 4096;
	seen.WORD(PEAK_BYTES) += 4096;
	expect_none("limit-held", &seen);
	seen.WORD(PEAK_BYTES) += 1;
	expect_one("limit-held", &seen, false, "passed its own limit");
}

Test(limit_held, rate_does_not_excuse_a_true_figure)
{
	struct hq_observations seen = cached();

	seen.WORD(STALE_NS) = 0;
	seen.WORD(PEAK_BYTES) += HQ_MIB;
	expect_one("limit-held", &seen, false, "passed its own limit by 1 MiB");
}

/* 1 MiB in 10 ms, for 50 ms, twice 15 ms off the CPU and two windows more: 10 MiB. */
Test(limit_held, an_old_figure_is_passed_by_the_rate_times_its_age_at_most)
{
	struct hq_observations seen = cached();

	seen.WORD(PEAK_BYTES) += 10 * HQ_MIB + 64 * HQ_KIB;
	expect_none("limit-held", &seen);
	seen.WORD(PEAK_BYTES) += 2;
	expect_one("limit-held", &seen, false, "at most 10.06 MiB expected");
}

/* ---- fresh ---- */

Test(limit_fresh, a_tracker_without_old_figures_is_a_gap)
{
	const struct hq_observations seen = kept();

	expect_one("limit-fresh", &seen, true, "never old");
}

Test(limit_fresh, a_figure_older_than_its_period_and_the_longest_requests_is_found)
{
	struct hq_observations seen = cached();

	seen.WORD(OLDEST_NS) = 105 * HQ_MS;
	expect_none("limit-fresh", &seen);
	seen.WORD(OLDEST_NS) = 106 * HQ_MS;
	expect_one("limit-fresh", &seen, false, "a figure 106 ms old, at most 105 ms expected");
	cr_expect_eq(observed_check("limit-fresh:slack=26ms", &seen).count, 0);
}

Test(limit_fresh, an_older_figure_after_a_newer_one_is_found)
{
	struct hq_observations seen = cached();

	seen.WORD(BACK) = 3;
	expect_one("limit-fresh", &seen, false, "(3 times)");
}

/* ---- graded ---- */

Test(limit_graded, a_refusal_far_below_the_soft_limit_is_found)
{
	struct hq_observations seen = kept();

	seen.WORD(EARLY_BYTES) = 16 * HQ_MIB - 64 * HQ_KIB;
	expect_none("limit-graded", &seen);
	seen.WORD(EARLY_BYTES) -= 1;
	expect_one("limit-graded", &seen, false, "refused while 15.94 MiB were held");
	seen.WORD(STRANDED_BYTES) = HQ_MIB;
	expect_none("limit-graded", &seen);
}

Test(limit_graded, what_was_freed_since_an_old_figure_is_no_matter)
{
	struct hq_observations seen = cached();

	seen.WORD(EARLY_BYTES) = 6 * HQ_MIB;
	expect_none("limit-graded", &seen);
	seen.WORD(EARLY_BYTES) = 5 * HQ_MIB;
	expect_one("limit-graded", &seen, false, "refused while 5 MiB were held");
}

Test(limit_graded, refusing_nearly_all_is_found)
{
	struct hq_observations seen = kept();

	seen.WORD(REFUSED) = 9000;
	expect_none("limit-graded", &seen);
	seen.WORD(REFUSED) = 9100;
	expect_one("limit-graded", &seen, false, "of the requests were refused, at most 90%");
	cr_expect_eq(observed_check("limit-graded:most=95%", &seen).count, 0);
}

Test(limit_graded, refusals_for_the_hard_limit_alone_are_never_early)
{
	struct hq_observations seen = kept();

	seen.WORD(EARLY_BYTES) = 0;
	expect_none("limit-graded", &seen);
}

/* ---- fair ---- */

Test(limit_fair, a_thread_that_is_served_much_less_than_the_others_is_found)
{
	struct hq_observations seen = kept();

	seen.limit.admitted_least = 63;
	expect_none("limit-fair", &seen);
	seen.limit.admitted_least = 62;
	expect_one("limit-fair", &seen, false, "62 of its requests were admitted, 250 of the mean");
	cr_expect_eq(observed_check("limit-fair:share=10%", &seen).count, 0);
}

Test(limit_fair, one_thread_or_a_few_requests_are_a_gap)
{
	struct hq_observations seen = kept();

	seen.WORD(ADMITTED) = 79;
	expect_one("limit-fair", &seen, true, "too few");
	seen = kept();
	seen.limit.workers = 1;
	expect_one("limit-fair", &seen, true, "too few");
}

/* ---- reopens ---- */

Test(limit_reopens, what_counts_as_used_when_nothing_is_held_is_found)
{
	struct hq_observations seen = kept();

	seen.WORD(LEFT_BYTES) = 4096;
	expect_one("limit-reopens", &seen, false, "nothing was held, and 4 KiB counted as used");
	seen.WORD(STRANDED_BYTES) = 4096;
	expect_none("limit-reopens", &seen);
}

Test(limit_reopens, a_run_that_was_never_empty_is_a_gap)
{
	struct hq_observations seen = kept();

	seen.WORD(QUIETS) = 0;
	expect_one("limit-reopens", &seen, true, "no moment");
}

/* ---- metrics ---- */

static void expect_metric(const char *name, double expected, enum hq_unit expected_unit)
{
	struct hq_observations seen = kept();
	struct hq_error error;
	enum hq_unit unit;
	double value;

	seen.WORD(CHECKS) = 1000;
	seen.WORD(CHECKS_CPU_NS) = 4000;
	seen.WORD(ROW_CPU_NS) = 500;
	seen.WORD(PEAK_BYTES) += 100;
	cr_assert_eq(hq_metric_get(&seen, name, &value, &unit, &error), 0, "%s", error.text);
	cr_expect_float_eq(value, expected, 1e-6, "%s: %f", name, value);
	cr_expect_eq(unit, expected_unit);
}

Test(limits, metrics_are_taken_from_what_was_seen)
{
	expect_metric("limit.checks", 250e6, HQ_UNIT_PER_SECOND);
	expect_metric("limit.overshoot", 100, HQ_UNIT_BYTES);
	expect_metric("limit.refused", 0.5, HQ_UNIT_SHARE);
	expect_metric("limit.row_cpu", 500, HQ_UNIT_NS);
}

Test(limits, metrics_of_a_workload_without_a_limit_have_no_value)
{
	static const char *const names[] = { "limit.checks", "limit.overshoot", "limit.refused",
					     "limit.row_cpu" };
	const struct hq_observations seen = observed_good();
	struct hq_error error;
	enum hq_unit unit;
	double value;

	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(hq_metric_get(&seen, names[i], &value, &unit, &error), -ENODATA);
}
