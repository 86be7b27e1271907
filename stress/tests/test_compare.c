/* SPDX-License-Identifier: MIT */
/*
 * Comparisons: the tests against figures that R gives for the same values, and the rates at which
 * they raise alarms on series that are drawn from one distribution, or from two.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#include "stress/compare/claim.h"
#include "stress/compare/comparison.h"
#include "stress/compare/discovery.h"
#include "stress/compare/groups.h"

static bool near(double value, double wanted, double within)
{
	return fabs(value - wanted) <= within * fabs(wanted);
}

/* ---- the t-test ---- */

/* Sleep data of Student's paper, which come with R: t.test(extra ~ group, data = sleep). */
static const double sleep_one[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
static const double sleep_two[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };

Test(compare, the_t_test_gives_what_r_gives_for_student_s_sleep_data)
{
	const struct hq_welch test = hq_welch_test(sleep_one, 10, sleep_two, 10, 0.95);

	cr_expect(near(test.t, 1.8608, 1e-4), "t is %g", test.t);
	cr_expect(near(test.freedom, 17.776, 1e-4), "df is %g", test.freedom);
	cr_expect(near(test.p, 0.07939, 1e-3), "p is %g", test.p);
	cr_expect(near(test.low, -0.2054832, 1e-5), "low is %g", test.low);
	cr_expect(near(test.high, 3.3654832, 1e-6), "high is %g", test.high);
}

Test(compare, equal_constants_do_not_differ)
{
	const double values[] = { 7, 7, 7 };
	const struct hq_welch test = hq_welch_test(values, 3, values, 3, 0.95);

	cr_expect_eq(test.p, 1.0);
	cr_expect_eq(test.t, 0.0);
}

Test(compare, unequal_constants_differ_for_certain)
{
	const double a[] = { 7, 7, 7 }, b[] = { 8, 8, 8 };
	const struct hq_welch test = hq_welch_test(a, 3, b, 3, 0.95);

	cr_expect_eq(test.p, 0.0);
	cr_expect_eq(test.low, 1.0);
	cr_expect_eq(test.high, 1.0);
}

Test(compare, a_small_spread_of_large_numbers_is_seen)
{
	const double a[] = { 1e15 + 1, 1e15 + 2, 1e15 + 3 }, b[] = { 1e15 + 1, 1e15 + 2, 1e15 + 3 };

	cr_expect(near(hq_moments_of(a, 3).deviation, 1.0, 0.3));
	cr_expect_gt(hq_welch_test(a, 3, b, 3, 0.95).p, 0.5);
}

/* ---- permutations ---- */

Test(compare, three_pairs_that_all_fall_have_the_chance_that_counting_gives)
{
	const double a[] = { 10, 11, 12 }, b[] = { 1, 2, 3 };

	/* Of eight ways two, the one that was seen and its mirror, lie so far apart. */
	cr_expect_eq(hq_permute_test(a, b, 3, 1), 2.0 / 8.0);
}

Test(compare, drawn_ways_agree_with_a_difference_that_is_plain)
{
	double a[20], b[20];

	for (int i = 0; i < 20; i++) {
		a[i] = 100 + i;
		b[i] = 200 + 2 * i;
	}
	cr_expect_leq(hq_permute_test(a, b, 20, 1), 0.001);
	cr_expect_eq(hq_permute_test(a, a, 20, 1), 1.0);
}

Test(compare, the_permutation_test_gives_what_r_gives_for_student_s_sleep_data)
{
	/* wilcox.test(paired = TRUE, exact = TRUE) without the pair that does not differ: 1 / 256.
	 */
	const double a[] = { 0.7, -1.6, -0.2, -1.2, 3.4, 3.7, 0.8, 0.0, 2.0 };
	const double b[] = { 1.9, 0.8, 1.1, 0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };

	cr_expect(near(hq_permute_test(a, b, 9, 1), 2.0 / 512.0, 1e-9));
}

Test(compare, the_interval_of_medians_holds_the_median_that_was_seen)
{
	const double a[] = { 10, 11, 12, 13, 14 }, b[] = { 20, 21, 22, 23, 24 };
	double low, high;

	hq_permute_reach(a, b, 5, 0.95, 1, &low, &high);
	cr_expect_leq(low, 10.0);
	cr_expect_geq(high, 10.0);
}

Test(compare, no_pair_says_nothing)
{
	double low, high;

	cr_expect_eq(hq_permute_test(sleep_one, sleep_two, 0, 1), 1.0);
	hq_permute_reach(sleep_one, sleep_two, 0, 0.95, 1, &low, &high);
	cr_expect(isinf(low) && isinf(high));
}

/* ---- false discoveries ---- */

Test(compare, chances_are_raised_as_r_raises_them)
{
	/* p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "BH") */
	const double p[] = { 0.01, 0.04, 0.03, 0.005, 0.5 };
	const double wanted[] = { 0.025, 0.05, 0.05, 0.025, 0.5 };
	double q[5];

	cr_assert_eq(hq_discovery_adjust(p, q, 5), 0);
	for (int i = 0; i < 5; i++)
		cr_expect(near(q[i], wanted[i], 1e-9), "q[%d] is %g", i, q[i]);
}

Test(compare, a_question_without_answer_does_not_count)
{
	const double p[] = { 0.02, NAN, 0.9 };
	double q[3];

	cr_assert_eq(hq_discovery_adjust(p, q, 3), 0);
	cr_expect(near(q[0], 0.04, 1e-9));
	cr_expect(isnan(q[1]));
	cr_assert_eq(hq_discovery_adjust(p, q, 0), 0);
}

/* ---- comparisons ---- */

/* Ten metrics of which `planted` are `shift` higher on side B, all with a spread of 3 %. */
static void draw(struct hq_comparison *comparison, gsl_rng *draws, size_t pairs, int planted,
		 double shift)
{
	for (int metric = 0; metric < 10; metric++) {
		struct hq_series_of_pairs what = { .unit = HQ_UNIT_COUNT };

		/* Every second one is judged by permutations. */
		snprintf(what.metric, sizeof(what.metric), metric % 2 ? "m%d.max" : "m%d", metric);
		for (size_t pair = 0; pair < pairs; pair++) {
			const double factor = metric < planted ? 1.0 + shift : 1.0;

			hq_comparison_add(comparison, HQ_SIDE_A, pair, &what,
					  1000 + gsl_ran_gaussian(draws, 30));
			hq_comparison_add(comparison, HQ_SIDE_B, pair, &what,
					  factor * (1000 + gsl_ran_gaussian(draws, 30)));
		}
	}
}

static struct hq_comparison new_comparison(void)
{
	return (struct hq_comparison){
		.confidence = 0.95, .discovery = 0.05, .resolution = 0.05, .seed = 42
	};
}

static bool is_changed(const struct hq_series_of_pairs *series)
{
	return series->difference.change == HQ_CHANGE_LOWER ||
	       series->difference.change == HQ_CHANGE_HIGHER;
}

/* Of many comparisons: those with a change, and planted ones that were called higher. */
struct tally {
	int alarmed, found;
};

static struct tally compare_often(unsigned long seed, int rounds, int planted, double shift)
{
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);
	struct tally tally = { 0, 0 };

	gsl_rng_set(draws, seed);
	for (int round = 0; round < rounds; round++) {
		struct hq_comparison comparison = new_comparison();
		bool alarmed = false;

		draw(&comparison, draws, 10, planted, shift);
		cr_assert_eq(hq_comparison_judge(&comparison), 0);
		for (size_t i = 0; i < comparison.count; i++)
			alarmed = alarmed || is_changed(&comparison.series[i]);
		for (int i = 0; i < planted; i++)
			tally.found += comparison.series[i].difference.change == HQ_CHANGE_HIGHER;
		tally.alarmed += alarmed;
		hq_comparison_clear(&comparison);
	}
	gsl_rng_free(draws);
	return tally;
}

Test(compare, without_a_difference_one_comparison_in_twenty_raises_an_alarm_at_most)
{
	const int alarmed = compare_often(42, 1000, 0, 0.0).alarmed;

	/* 50 are expected at most, with a deviation of 7; 71 would be three of them above. */
	cr_expect_leq(alarmed, 71, "%d of 1000 comparisons of the same raised an alarm", alarmed);
}

Test(compare, planted_differences_of_three_deviations_are_found)
{
	const int found = compare_often(7, 50, 4, 0.09).found;

	cr_expect_geq(found, 180, "%d of 200 planted differences were found", found);
}

Test(compare, a_metric_that_one_run_did_not_show_is_left_out)
{
	struct hq_comparison comparison = new_comparison();
	const struct hq_series_of_pairs seen = { .metric = "seen" }, lost = { .metric = "lost" };

	for (size_t pair = 0; pair < 3; pair++) {
		hq_comparison_add(&comparison, HQ_SIDE_A, pair, &seen, 1.0);
		hq_comparison_add(&comparison, HQ_SIDE_B, pair, &seen, 1.0);
		hq_comparison_add(&comparison, HQ_SIDE_A, pair, &lost, 1.0);
	}
	cr_assert_eq(hq_comparison_judge(&comparison), 0);
	cr_expect_not_null(hq_comparison_find(&comparison, "seen"));
	cr_expect_null(hq_comparison_find(&comparison, "lost"));
	hq_comparison_clear(&comparison);
}

Test(compare, wide_series_without_a_difference_are_unstable_not_the_same)
{
	struct hq_comparison comparison = new_comparison();
	const struct hq_series_of_pairs wide = { .metric = "wide" };
	const double a[] = { 100, 180, 60, 140 }, b[] = { 110, 90, 170, 70 };

	for (size_t pair = 0; pair < 4; pair++) {
		hq_comparison_add(&comparison, HQ_SIDE_A, pair, &wide, a[pair]);
		hq_comparison_add(&comparison, HQ_SIDE_B, pair, &wide, b[pair]);
	}
	cr_assert_eq(hq_comparison_judge(&comparison), 0);
	cr_expect_eq(comparison.series[0].difference.change, HQ_CHANGE_UNSTABLE);
	hq_comparison_clear(&comparison);
}

Test(compare, a_rise_from_nothing_that_is_not_certain_is_unstable_not_the_same)
{
	struct hq_comparison comparison = new_comparison();
	const struct hq_series_of_pairs rare = { .metric = "rare.max" };
	const double b[] = { 3, 1, 2, 4 };

	/* Four pairs cannot give a chance below 1 in 8, but the interval lies above 0. */
	for (size_t pair = 0; pair < 4; pair++) {
		hq_comparison_add(&comparison, HQ_SIDE_A, pair, &rare, 0.0);
		hq_comparison_add(&comparison, HQ_SIDE_B, pair, &rare, b[pair]);
	}
	cr_assert_eq(hq_comparison_judge(&comparison), 0);
	cr_expect_gt(comparison.series[0].difference.low, 0.0);
	cr_expect_eq(comparison.series[0].difference.change, HQ_CHANGE_UNSTABLE);
	hq_comparison_clear(&comparison);
}

Test(compare, one_pair_is_not_enough)
{
	struct hq_comparison comparison = new_comparison();
	const struct hq_series_of_pairs what = { .metric = "x" };

	hq_comparison_add(&comparison, HQ_SIDE_A, 0, &what, 1.0);
	hq_comparison_add(&comparison, HQ_SIDE_B, 0, &what, 2.0);
	cr_expect_eq(hq_comparison_judge(&comparison), -ENODATA);
	cr_expect_eq(hq_comparison_add(&comparison, HQ_SIDE_A, HQ_PAIRS_MAX, &what, 1.0), -ERANGE);
	hq_comparison_clear(&comparison);
}

/* ---- claims ---- */

static enum hq_claim_verdict claim_about(const char *text, double low, double high)
{
	struct hq_series_of_pairs series = {
		.metric = "faults.minor",
		.difference = { .relative = (low + high) / 2, .low = low, .high = high },
	};
	const struct hq_comparison comparison = { .series = &series, .count = 1 };
	struct hq_error error;
	struct hq_claim claim;

	cr_assert_eq(hq_claim_parse(text, true, &claim, &error), 0, "%s", error.text);
	return hq_claim_judge(&claim, &comparison, &error);
}

Test(compare, a_claim_holds_where_all_of_the_interval_keeps_it)
{
	cr_expect_eq(claim_about("faults.minor <= -30%", -0.55, -0.45), HQ_CLAIM_HOLDS);
	cr_expect_eq(claim_about("faults.minor>=5%", 0.06, 0.10), HQ_CLAIM_HOLDS);
}

Test(compare, a_claim_is_broken_where_none_of_the_interval_keeps_it)
{
	cr_expect_eq(claim_about("faults.minor <= -30%", -0.25, -0.15), HQ_CLAIM_BROKEN);
	cr_expect_eq(claim_about("faults.minor >= 0%", -0.25, -0.15), HQ_CLAIM_BROKEN);
}

Test(compare, a_claim_is_open_where_the_bound_lies_within_or_nothing_was_seen)
{
	cr_expect_eq(claim_about("faults.minor <= -30%", -0.40, -0.20), HQ_CLAIM_OPEN);
	cr_expect_eq(claim_about("rss.peak <= -30%", -0.40, -0.35), HQ_CLAIM_OPEN);
}

Test(compare, a_claim_that_says_nothing_is_refused_with_a_sentence)
{
	static const char *const bad[] = { "",
					   "faults.minor",
					   "faults.minor <= 30",
					   "faults.minor == 3%",
					   "faults.miner <= 3%",
					   "faults.minor <= nan%",
					   "faults.minor <= 3% and more" };
	struct hq_claim claim;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hq_error error = { "" };

		cr_expect_eq(hq_claim_parse(bad[i], true, &claim, &error), -EINVAL, "'%s'", bad[i]);
		cr_expect_neq(error.text[0], '\0');
	}
}

/* ---- parts ---- */

Test(compare, parts_are_summed_by_metric_and_group)
{
	struct hq_comparison comparison = new_comparison();
	static const double factors[] = { 0.5, 0.6, 1.0, 1.1 };

	for (int part = 0; part < 4; part++) {
		struct hq_series_of_pairs what = { .metric = "query.time", .unit = HQ_UNIT_NS };

		snprintf(what.part, sizeof(what.part), "q%d", part);
		strcpy(what.group, part < 2 ? "sort" : "math");
		for (size_t pair = 0; pair < 8; pair++) {
			hq_comparison_add(&comparison, HQ_SIDE_A, pair, &what,
					  100.0 + (double)(pair % 2));
			hq_comparison_add(&comparison, HQ_SIDE_B, pair, &what,
					  factors[part] * (100.0 + (double)(pair % 2)));
		}
	}
	struct hq_part_summary summary;
	double spreads[4];

	cr_assert_eq(hq_comparison_judge(&comparison), 0);
	cr_assert(hq_groups_sum(&comparison, "query.time", &summary));
	cr_expect_eq(summary.parts, 4);
	cr_expect_eq(summary.changed, 3);
	cr_expect(near(summary.min, -0.5, 1e-9));
	cr_expect(near(summary.max, 0.1, 1e-6));
	cr_expect(near(summary.median, -0.2, 1e-6));
	cr_expect_str_eq(summary.most[0].name, "sort");
	cr_expect(near(summary.most[0].change, -0.45, 1e-6));
	cr_expect_eq(hq_groups_spreads(&comparison, "query.time", HQ_SIDE_A, spreads), 4);
	cr_expect(near(spreads[3], 1.0 / 100.5, 1e-6));
	cr_expect_not(hq_groups_sum(&comparison, "faults.minor", &summary));
	hq_comparison_clear(&comparison);
}
