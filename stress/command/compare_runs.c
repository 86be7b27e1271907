/* SPDX-License-Identifier: MIT */
/*
 * Pairs of runs. A machine that gets slower or faster meanwhile does so for both sides of a pair,
 * and since the order is drawn, being the second is no disadvantage of one side.
 *
 * Whether to go on is decided by the width of intervals alone, never by what they say: who stops as
 * soon as a difference shows finds differences everywhere.
 */
#include "stress/command/compare_runs.h"

#include <errno.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/clock.h"
#include "stress/command/trouble.h"

#define PAIRS_LEAST 5 /* before a width means anything */

struct runs {
	const struct hq_plan *sides;
	const struct hq_compare_stop *stop;
	struct hq_plan *plans; /* of all pairs, in the order in which they run; strings borrowed */
	enum hq_side *side_of; /* of each */
	size_t ended;
	bool broken; /* no memory for what was measured */
	uint64_t started_ns;
	struct hq_comparison *comparison;
	struct hq_compare_outcome *outcome;
};

/* A side's plan as it is run: nothing is judged but the contracts. */
static void place(struct runs *runs, size_t index, enum hq_side side)
{
	struct hq_plan *plan = &runs->plans[index];

	*plan = runs->sides[side];
	plan->expectation_count = 0;
	plan->needs_clean = false;
	runs->side_of[index] = side;
}

static void draw_order(struct runs *runs)
{
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);

	if (draws)
		gsl_rng_set(draws, (unsigned long)runs->comparison->seed);
	for (size_t pair = 0; pair < runs->stop->pairs; pair++) {
		const bool a_first = draws ? gsl_rng_uniform(draws) < 0.5 : pair % 2 == 0;

		place(runs, 2 * pair, a_first ? HQ_SIDE_A : HQ_SIDE_B);
		place(runs, 2 * pair + 1, a_first ? HQ_SIDE_B : HQ_SIDE_A);
	}
	if (draws)
		gsl_rng_free(draws);
}

/* Each part has three series of its own. */
static void enter_parts(struct runs *runs, size_t pair, enum hq_side side,
			const struct hq_result *result)
{
	for (size_t i = 0; i < result->part_count; i++) {
		const struct hq_result_part *part = &result->parts[i];
		const struct {
			const char *metric;
			enum hq_unit unit;
			double value;
		} rows[] = { { "query.time", HQ_UNIT_NS, part->wall_ns },
			     { "query.cpu", HQ_UNIT_NS, part->cpu_ns },
			     { "query.faults", HQ_UNIT_COUNT, part->faults } };

		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
			struct hq_series_of_pairs what = { .unit = rows[row].unit };

			strcpy(what.metric, rows[row].metric);
			strcpy(what.part, part->name);
			strcpy(what.group, part->group);
			if (hq_comparison_add(runs->comparison, side, pair, &what, rows[row].value))
				runs->broken = true;
		}
	}
}

static void enter(struct runs *runs, const struct hq_result *result)
{
	const size_t pair = runs->ended / 2;
	const enum hq_side side = runs->side_of[runs->ended];

	strcpy(runs->outcome->folders[side], result->folder);
	for (size_t i = 0; i < result->metric_count; i++) {
		const struct hq_result_metric *metric = &result->metrics[i];
		struct hq_series_of_pairs what = { .unit = metric->unit };

		strcpy(what.metric, metric->name);
		if (hq_comparison_add(runs->comparison, side, pair, &what, metric->value))
			runs->broken = true;
	}
	enter_parts(runs, pair, side, result);
}

static void say(const struct runs *runs, const struct hq_result *result, char *text, size_t size)
{
	snprintf(text, size, "%s on side %s: %.480s", hq_verdict_name(result->verdict),
		 runs->side_of[runs->ended] == HQ_SIDE_A ? "A" : "B", hq_trouble_reason(result));
}

static void note_trouble(struct runs *runs, const struct hq_result *result)
{
	struct hq_compare_outcome *outcome = runs->outcome;

	if (result->verdict == HQ_VERDICT_INCONCLUSIVE && !outcome->doubt[0])
		say(runs, result, outcome->doubt, sizeof(outcome->doubt));
	if (!hq_is_trouble(result->verdict) || result->verdict <= outcome->worst)
		return;
	outcome->worst = result->verdict;
	say(runs, result, outcome->trouble, sizeof(outcome->trouble));
}

static bool is_resolved(const struct hq_comparison *comparison, const char *metric)
{
	const struct hq_series_of_pairs *series = hq_comparison_find(comparison, metric);

	return !series || hq_difference_reach(&series->difference) <= comparison->resolution;
}

static bool are_resolved(const struct runs *runs)
{
	static const char *const watched[] = { "cpu.total", "faults.minor", "rss.peak" };
	const struct hq_compare_stop *stop = runs->stop;

	for (size_t i = 0; !stop->claim_count && i < sizeof(watched) / sizeof(watched[0]); i++) {
		if (!is_resolved(runs->comparison, watched[i]))
			return false;
	}
	for (size_t i = 0; i < stop->claim_count; i++) {
		if (!is_resolved(runs->comparison, stop->claims[i].metric))
			return false;
	}
	return true;
}

/* Asked after each pair. */
static bool have_enough(struct runs *runs)
{
	const size_t pairs = runs->ended / 2;

	if (!runs->stop->budget_ns)
		return false;
	if (pairs >= 2 && hq_now_ns() - runs->started_ns >= runs->stop->budget_ns)
		return true;
	return pairs >= PAIRS_LEAST && hq_comparison_judge(runs->comparison) == 0 &&
	       are_resolved(runs);
}

static bool on_result(void *cookie, const struct hq_result *result)
{
	struct runs *runs = cookie;

	if (hq_suite_interrupted())
		return true;
	note_trouble(runs, result);
	enter(runs, result);
	runs->ended++;
	if (runs->broken || hq_is_trouble(runs->outcome->worst))
		return true;
	return runs->ended % 2 == 0 && have_enough(runs);
}

/* The last pair may be half: an interrupted or stopped suite ends anywhere. */
static int drop_half(struct runs *runs, struct hq_error *error)
{
	runs->comparison->pairs = runs->ended / 2;
	if (runs->broken)
		return hq_error_set(error, "out of memory");
	return 0;
}

int hq_compare_runs(const struct hq_plan sides[2], const struct hq_compare_stop *stop,
		    const struct hq_suite_settings *settings, struct hq_comparison *comparison,
		    struct hq_compare_outcome *outcome, struct hq_error *error)
{
	struct runs runs = {
		.sides = sides,
		.stop = stop,
		.plans = calloc(2 * stop->pairs, sizeof(*runs.plans)),
		.side_of = calloc(2 * stop->pairs, sizeof(*runs.side_of)),
		.started_ns = hq_now_ns(),
		.comparison = comparison,
		.outcome = outcome,
	};
	struct hq_suite_settings asked = *settings;
	struct hq_suite_run suite = { .results = NULL };
	int status = runs.plans && runs.side_of ? 0 : hq_error_set(error, "out of memory");

	*outcome = (struct hq_compare_outcome){ .worst = HQ_VERDICT_PASS };
	asked.jobs = 1;
	asked.all_metrics = true;
	asked.enough = on_result;
	asked.enough_cookie = &runs;
	if (!status) {
		draw_order(&runs);
		status = hq_suite_run(runs.plans, 2 * stop->pairs, &asked, &suite, error);
	}
	if (!status)
		status = drop_half(&runs, error);
	outcome->interrupted_by = suite.interrupted_by;
	outcome->wall_ns = hq_now_ns() - runs.started_ns;
	hq_suite_clear(&suite);
	free(runs.plans);
	free(runs.side_of);
	return status;
}
