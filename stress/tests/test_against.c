/* SPDX-License-Identifier: MIT */
/*
 * How far a bound against clean runs can be trusted: the whole procedure, pair after pair as a case
 * runs them, on series that were drawn and not measured. Without a difference it must accuse as
 * rarely as it says; a planted one it must find; and room under a bound must be enough to pass.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stress/tests/observed.h"

#define PAIRS_MAX 32

struct rates {
	unsigned int series, accused, passed, open, pairs;
};

struct experiment {
	const char *expectation;
	double ratio;  /* of the faulted values to the clean ones */
	double spread; /* standard deviation of the logarithm */
	double wild; /* share of runs that another program on the machine makes five times worse */
	size_t pairs;
};

static double draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)((*state >> 11) + 1) / 9007199254740993.0;
}

/* Latencies and sizes: never negative, with a long tail. */
static uint64_t draw_value(uint64_t *state, const struct experiment *experiment, double scale)
{
	const double normal = sqrt(-2.0 * log(draw(state))) * cos(2.0 * M_PI * draw(state));
	const bool wild = draw(state) < experiment->wild;

	return (uint64_t)(1e6 * scale * exp(experiment->spread * normal) * (wild ? 5.0 : 1.0));
}

static void add_run(struct hq_observations *run, uint64_t value)
{
	*run = observed_good();
	run->has_samples = true;
	run->rss_peak_bytes = value;
}

static void run_series(const struct experiment *experiment,
		       const struct hq_expectation *expectation, uint64_t *state,
		       struct rates *rates)
{
	static struct hq_observations faulted[PAIRS_MAX], clean[PAIRS_MAX];
	const struct hq_observations *faulted_list[PAIRS_MAX], *clean_list[PAIRS_MAX];
	struct hq_series series = { .runs = faulted_list,
				    .clean_runs = clean_list,
				    .confidence = { .false_alarm = 0.001, .missed = 0.05 } };
	struct hq_findings findings = { 0 };

	for (size_t i = 0; i < experiment->pairs; i++) {
		add_run(&clean[i], draw_value(state, experiment, 1.0));
		add_run(&faulted[i], draw_value(state, experiment, experiment->ratio));
		faulted_list[i] = &faulted[i];
		clean_list[i] = &clean[i];
		series.run_count = series.clean_count = i + 1;
		rates->pairs++;
		if (hq_expectation_is_settled(expectation, &series))
			break;
	}
	hq_expectation_judge(expectation, &series, &findings);
	rates->series++;
	rates->passed += findings.count == 0;
	rates->accused += findings.count > 0 && !findings.list[0].gap;
	rates->open += findings.count > 0 && findings.list[0].gap;
}

static struct rates run_experiment(const struct experiment *experiment, unsigned int count)
{
	struct rates rates = { 0 };
	struct hq_expectation expectation;
	struct hq_error error;
	uint64_t state = 42;

	cr_assert_eq(hq_expectation_parse(experiment->expectation, true, &expectation, &error), 0,
		     "%s", error.text);
	for (unsigned int i = 0; i < count; i++)
		run_series(experiment, &expectation, &state, &rates);
	return rates;
}

TestSuite(against, .timeout = 120);

/* 20 are due at the stated rate, and four standard deviations more are bad luck, not a mistake. */
#define A_A_SERIES  20000u
#define ACCUSED_MAX 38u

Test(against, without_a_difference_false_alarms_keep_to_the_stated_rate)
{
	static const struct experiment experiments[] = {
		{ "rss.peak <= clean", 1.0, 0.05, 0.0, 7 },
		{ "rss.peak <= clean", 1.0, 0.8, 0.1, 7 },
		{ "rss.peak >= clean", 1.0, 0.3, 0.05, 7 },
		{ "rss.peak <= clean", 1.0, 0.3, 0.3, 10 },
		{ "rss.peak <= 3 * clean", 3.0, 0.3, 0.1, 7 },
	};

	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		const struct rates rates = run_experiment(&experiments[i], A_A_SERIES);

		cr_assert_leq(rates.accused, ACCUSED_MAX, "experiment %zu: %u of %u", i,
			      rates.accused, rates.series);
	}
}

Test(against, room_under_a_bound_makes_false_alarms_vanish_and_series_short)
{
	const struct rates rates = run_experiment(
		&(struct experiment){ "rss.peak <= 2 * clean", 1.0, 0.2, 0.0, 7 }, 5000);

	cr_assert_eq(rates.accused, 0);
	cr_assert_geq(rates.passed, 4990, "%u", rates.passed);
	cr_assert_leq(rates.pairs, 5000 * 7 / 2, "%u", rates.pairs);
}

Test(against, planted_doubling_is_found_and_never_passes)
{
	static const struct experiment experiments[] = {
		{ "rss.peak <= clean", 2.0, 0.1, 0.0, 7 },
		{ "rss.peak <= 1.2 * clean", 2.0, 0.1, 0.0, 7 },
		{ "rss.peak <= clean + 1KiB", 2.0, 0.15, 0.0, 7 },
		{ "rss.peak >= 0.8 * clean", 0.4, 0.1, 0.0, 7 },
	};

	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		const struct rates rates = run_experiment(&experiments[i], 1000);

		cr_assert_geq(rates.accused, 950, "experiment %zu: %u", i, rates.accused);
		cr_assert_eq(rates.passed, 0, "experiment %zu: %u passed", i, rates.passed);
	}
}

Test(against, noise_that_hides_a_doubling_is_inconclusive_more_often_than_passed)
{
	const struct rates rates =
		run_experiment(&(struct experiment){ "rss.peak <= clean", 2.0, 1.0, 0.2, 7 }, 1000);

	cr_assert_geq(rates.open, 500, "%u open", rates.open);
	cr_assert_leq(rates.passed, 50, "%u passed", rates.passed);
}

Test(against, target_exactly_at_its_bound_is_let_pass_in_few_series)
{
	const struct rates rates =
		run_experiment(&(struct experiment){ "rss.peak <= clean", 1.0, 0.3, 0.0, 7 }, 5000);

	cr_assert_leq(rates.passed, 5000 * 20 / 100, "%u passed", rates.passed);
}

Test(against, pairs_needed_follow_from_the_rate)
{
	cr_assert_eq(hq_confidence_pairs(&(struct hq_confidence){ .false_alarm = 0.001 }), 7);
	cr_assert_eq(hq_confidence_pairs(&(struct hq_confidence){ .false_alarm = 0.01 }), 5);
	cr_assert_eq(hq_confidence_pairs(&(struct hq_confidence){ .false_alarm = 0.05 }), 3);
	cr_assert_eq(hq_confidence_pairs(&(struct hq_confidence){ .false_alarm = 1.0 }), 1);
}
