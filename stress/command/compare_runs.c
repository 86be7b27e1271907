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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/clock.h"
#include "stress/command/trouble.h"

#define PAIRS_LEAST 5 /* before a width means anything */

struct runs {
	const struct hq_compare_sides *sides;
	const struct hq_compare_stop *stop;
	struct hq_plan *plans; /* of all rounds, in the order in which they run; strings borrowed */
	size_t *side_of;       /* of each: an enum hq_side, or one beside them */
	size_t ended;
	bool broken; /* no memory for what was measured */
	uint64_t started_ns;
	struct hq_comparison *against; /* see hq_compare_runs */
	struct hq_compare_outcome *outcome;
};

/* A side's plan as it is run: nothing is judged but the contracts. */
static void place(struct runs *runs, size_t index, size_t side)
{
	struct hq_plan *plan = &runs->plans[index];

	*plan = runs->sides->plans[side];
	plan->expectation_count = 0;
	plan->needs_clean = false;
	runs->side_of[index] = side;
}

static void draw_order(struct runs *runs)
{
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);

	if (draws)
		gsl_rng_set(draws, (unsigned long)runs->against[0].seed);
	for (size_t pair = 0; pair < runs->stop->pairs; pair++) {
		const bool a_first = draws ? gsl_rng_uniform(draws) < 0.5 : pair % 2 == 0;
		const size_t first = pair * runs->sides->count;

		place(runs, first, a_first ? HQ_SIDE_A : HQ_SIDE_B);
		place(runs, first + 1, a_first ? HQ_SIDE_B : HQ_SIDE_A);
		for (size_t side = 2; side < runs->sides->count; side++)
			place(runs, first + side, side);
	}
	if (draws)
		gsl_rng_free(draws);
}

/* What A measured is one side of every comparison. */
static void add(struct runs *runs, const struct hq_series_of_pairs *what, double value)
{
	const size_t pair = runs->ended / runs->sides->count;
	const size_t side = runs->side_of[runs->ended];
	const size_t first = side == HQ_SIDE_A ? 0 : side - 1;
	const size_t end = side == HQ_SIDE_A ? runs->sides->count - 1 : side;

	for (size_t i = first; i < end; i++) {
		if (hq_comparison_add(&runs->against[i], side == HQ_SIDE_A ? HQ_SIDE_A : HQ_SIDE_B,
				      pair, what, value))
			runs->broken = true;
	}
}

/* Each part has three series of its own. */
static void enter_parts(struct runs *runs, const struct hq_result *result)
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
			add(runs, &what, rows[row].value);
		}
	}
}

static void enter(struct runs *runs, const struct hq_result *result)
{
	const size_t side = runs->side_of[runs->ended];

	if (side <= HQ_SIDE_B)
		strcpy(runs->outcome->folders[side], result->folder);
	for (size_t i = 0; i < result->metric_count; i++) {
		const struct hq_result_metric *metric = &result->metrics[i];
		struct hq_series_of_pairs what = { .unit = metric->unit };

		strcpy(what.metric, metric->name);
		add(runs, &what, metric->value);
	}
	enter_parts(runs, result);
}

static void say(const struct runs *runs, const struct hq_result *result, char *text, size_t size)
{
	snprintf(text, size, "%s on side %s: %.480s", hq_verdict_name(result->verdict),
		 runs->side_of[runs->ended] == HQ_SIDE_A ? "A" : "B", hq_trouble_reason(result));
}

/* One beside the two has no figures then; the comparison goes on without it. */
static void note_beside(struct runs *runs, size_t beside, const struct hq_result *result)
{
	char *text = runs->outcome->beside_trouble[beside];

	if (hq_is_trouble(result->verdict) && !text[0])
		snprintf(text, sizeof(runs->outcome->beside_trouble[beside]), "%s: %.480s",
			 hq_verdict_name(result->verdict), hq_trouble_reason(result));
}

static void note_trouble(struct runs *runs, const struct hq_result *result)
{
	struct hq_compare_outcome *outcome = runs->outcome;
	const size_t side = runs->side_of[runs->ended];

	if (side > HQ_SIDE_B) {
		note_beside(runs, side - 2, result);
		return;
	}
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
		if (!is_resolved(&runs->against[0], watched[i]))
			return false;
	}
	for (size_t i = 0; i < stop->claim_count; i++) {
		if (!is_resolved(&runs->against[0], stop->claims[i].metric))
			return false;
	}
	return true;
}

/* Asked after each pair. */
static bool have_enough(struct runs *runs)
{
	const size_t pairs = runs->ended / runs->sides->count;

	if (!runs->stop->budget_ns)
		return false;
	if (pairs >= 2 && hq_now_ns() - runs->started_ns >= runs->stop->budget_ns)
		return true;
	return pairs >= PAIRS_LEAST && hq_comparison_judge(&runs->against[0]) == 0 &&
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
	return runs->ended % runs->sides->count == 0 && have_enough(runs);
}

/* The last round may be half: an interrupted or stopped suite ends anywhere. */
static int drop_half(struct runs *runs, struct hq_error *error)
{
	for (size_t i = 0; i < runs->sides->count - 1; i++)
		runs->against[i].pairs = runs->ended / runs->sides->count;
	if (runs->broken)
		return hq_error_set(error, "out of memory");
	return 0;
}

int hq_compare_runs(const struct hq_compare_sides *sides, const struct hq_compare_stop *stop,
		    const struct hq_suite_settings *settings, struct hq_comparison *against,
		    struct hq_compare_outcome *outcome, struct hq_error *error)
{
	const size_t count = sides->count * stop->pairs;
	struct runs runs = {
		.sides = sides,
		.stop = stop,
		.plans = calloc(count, sizeof(*runs.plans)),
		.side_of = calloc(count, sizeof(*runs.side_of)),
		.started_ns = hq_now_ns(),
		.against = against,
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
		status = hq_suite_run(runs.plans, count, &asked, &suite, error);
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
