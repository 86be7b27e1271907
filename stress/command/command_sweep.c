/* SPDX-License-Identifier: MIT */
/*
 * `heapquake sweep`: one scenario with every combination of some settings, and which of them are
 * worth having. Rounds run all combinations in an order that is drawn anew, so that none is always
 * first; of each metric the median over the rounds counts.
 */
#include <errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/clock.h"
#include "stress/check/value.h"
#include "stress/command/cases.h"
#include "stress/command/command_run.h"
#include "stress/command/commands.h"
#include "stress/command/grid.h"
#include "stress/command/report_files.h"
#include "stress/command/trouble.h"
#include "stress/command/version.h"
#include "stress/compare/frontier.h"
#include "stress/compare/permute.h"
#include "stress/compare/table.h"
#include "stress/plan/words.h"
#include "stress/report/page.h"

#define METRICS_MAX  6
#define ROUNDS_MAX   32
#define ROUNDS_USUAL 3
#define NAME_SIZE    240
#define EQUAL_SHARE  0.02 /* medians that are closer are taken for equal */

struct point {
	struct hq_plan plan;
	char name[NAME_SIZE];
	double seen[METRICS_MAX][ROUNDS_MAX]; /* NAN: not seen */
	size_t rounds;
	double median[METRICS_MAX];
	bool on_frontier;
	char trouble[300];
	char doubt[300]; /* of the first run that was inconclusive */
};

struct sweep {
	struct hq_invocation *invocation;
	struct hq_grid grid;
	struct hq_cases *cases; /* one a point */
	struct point *points;
	char **metrics;
	size_t metric_count;
	enum hq_unit units[METRICS_MAX];
	size_t rounds;
	size_t *order; /* which point each run is of */
	size_t ended;
	size_t whole_rounds; /* in which every combination ran to its end */
	uint64_t started_ns, wall_ns;
	int interrupted_by;
};

static const char *const formats[] = { "html", "json", "text", NULL };

static int complain(const char *text)
{
	fprintf(stderr, "heapquake sweep: %s\n", text);
	return HQ_EXIT_USAGE;
}

/* ---- what is run ---- */

static int make_point(struct sweep *sweep, size_t index)
{
	struct hq_invocation invocation = *sweep->invocation;
	struct hq_cases *cases = &sweep->cases[index];
	struct point *point = &sweep->points[index];
	int status;

	invocation.settings.set =
		hq_grid_settings(&sweep->grid, index, sweep->invocation->settings.set);
	hq_grid_name(&sweep->grid, index, point->name, sizeof(point->name));
	status = hq_cases_make(&invocation, cases);
	hq_words_free(invocation.settings.set);
	if (status)
		return status;
	if (cases->count != 1)
		return complain("a sweep needs one scenario and one allocator a combination");
	point->plan = cases->plans[0];
	point->plan.expectation_count = 0;
	point->plan.needs_clean = false;
	if (point->plan.skip_reason[0]) {
		complain(point->plan.skip_reason);
		return HQ_EXIT_ERROR;
	}
	return 0;
}

static int read_metrics(struct sweep *sweep)
{
	const char *asked = sweep->invocation->settings.pareto;
	const bool is_host = sweep->points[0].plan.is_host;
	const char *usual =
		is_host ? "latency.op.p99,cpu.total,rss.peak" : "time.wall,cpu.total,rss.peak";
	struct hq_error error;

	if (hq_words_split_at(asked ? asked : usual, ",", &sweep->metrics))
		return complain("out of memory");
	sweep->metric_count = hq_words_count(sweep->metrics);
	if (sweep->metric_count == 0 || sweep->metric_count > METRICS_MAX)
		return complain("--pareto takes one to six metrics");
	for (size_t i = 0; i < sweep->metric_count; i++) {
		struct hq_expectation known;
		char text[120];

		for (size_t j = 0; j < i; j++)
			if (!strcmp(sweep->metrics[j], sweep->metrics[i]))
				return complain("--pareto names a metric twice");
		snprintf(text, sizeof(text), "%.50s <= 1 * %.50s", sweep->metrics[i],
			 sweep->metrics[i]);
		if (hq_expectation_parse(text, is_host, &known, &error))
			return complain(error.text);
		sweep->units[i] = known.unit;
	}
	return 0;
}

static int make_points(struct sweep *sweep)
{
	const struct hq_settings *settings = &sweep->invocation->settings;
	struct hq_error error;
	int status = 0;

	if (!settings->grid)
		return complain("say what to vary: -L KEY=VALUE,VALUE,...");
	if (hq_grid_parse(settings->grid, &sweep->grid, &error))
		return complain(error.text);
	sweep->rounds = settings->rounds ? (size_t)settings->rounds : ROUNDS_USUAL;
	sweep->cases = calloc(sweep->grid.points, sizeof(*sweep->cases));
	sweep->points = calloc(sweep->grid.points, sizeof(*sweep->points));
	sweep->order = calloc(sweep->grid.points * sweep->rounds, sizeof(*sweep->order));
	if (!sweep->cases || !sweep->points || !sweep->order)
		return complain("out of memory");
	for (size_t i = 0; !status && i < sweep->grid.points; i++)
		status = make_point(sweep, i);
	return status ? status : read_metrics(sweep);
}

/* ---- running ---- */

static void draw_order(struct sweep *sweep)
{
	const size_t points = sweep->grid.points;
	gsl_rng *draws = gsl_rng_alloc(gsl_rng_mt19937);

	if (draws)
		gsl_rng_set(draws, (unsigned long)sweep->points[0].plan.seed);
	for (size_t round = 0; round < sweep->rounds; round++) {
		size_t *order = sweep->order + round * points;

		for (size_t i = 0; i < points; i++)
			order[i] = i;
		if (draws)
			gsl_ran_shuffle(draws, order, points, sizeof(*order));
	}
	if (draws)
		gsl_rng_free(draws);
}

static void enter(struct sweep *sweep, struct point *point, const struct hq_result *result)
{
	for (size_t i = 0; i < sweep->metric_count; i++) {
		double *seen = &point->seen[i][point->rounds];

		*seen = NAN;
		for (size_t j = 0; j < result->metric_count; j++) {
			if (!strcmp(result->metrics[j].name, sweep->metrics[i]))
				*seen = result->metrics[j].value;
		}
	}
	point->rounds++;
}

/* A combination that breaks something is no choice, however fast it is. */
static void note_trouble(struct point *point, const struct hq_result *result)
{
	if (hq_is_trouble(result->verdict))
		snprintf(point->trouble, sizeof(point->trouble), "%.290s",
			 hq_trouble_reason(result));
	if (result->verdict == HQ_VERDICT_INCONCLUSIVE && !point->doubt[0])
		snprintf(point->doubt, sizeof(point->doubt), "%.290s", hq_trouble_reason(result));
}

static bool on_result(void *cookie, const struct hq_result *result)
{
	struct sweep *sweep = cookie;
	struct point *point = &sweep->points[sweep->order[sweep->ended]];
	const uint64_t budget_ns = sweep->invocation->settings.budget_ns;

	if (hq_suite_interrupted())
		return true;
	sweep->ended++;
	enter(sweep, point, result);
	note_trouble(point, result);
	/* Whole rounds only: every combination has as many runs as any other. */
	return sweep->ended % sweep->grid.points == 0 && budget_ns &&
	       hq_now_ns() - sweep->started_ns >= budget_ns;
}

/* An interrupted suite ends anywhere. */
static void keep_whole_rounds(struct sweep *sweep)
{
	sweep->whole_rounds = sweep->ended / sweep->grid.points;
	for (size_t i = 0; i < sweep->grid.points; i++)
		sweep->points[i].rounds = sweep->whole_rounds;
}

static int run_all(struct sweep *sweep)
{
	const size_t count = sweep->grid.points * sweep->rounds;
	struct hq_suite_settings suite = hq_suite_settings_of(sweep->invocation);
	struct hq_plan *plans = calloc(count, sizeof(*plans));
	struct hq_suite_run run = { .results = NULL };
	struct hq_error error = { "out of memory" };
	int status = plans ? 0 : -ENOMEM;

	if (suite.results && hq_results_check(suite.results, &error)) {
		free(plans);
		return complain(error.text);
	}
	suite.jobs = 1;
	suite.program_owns_output = false; /* standard output is the report's */
	suite.all_metrics = true;
	suite.enough = on_result;
	suite.enough_cookie = sweep;
	draw_order(sweep);
	for (size_t i = 0; plans && i < count; i++)
		plans[i] = sweep->points[sweep->order[i]].plan;
	sweep->started_ns = hq_now_ns();
	if (!status)
		status = hq_suite_run(plans, count, &suite, &run, &error);
	sweep->wall_ns = hq_now_ns() - sweep->started_ns;
	sweep->interrupted_by = run.interrupted_by;
	keep_whole_rounds(sweep);
	hq_suite_clear(&run);
	free(plans);
	if (!status)
		return 0;
	complain(error.text);
	return HQ_EXIT_ERROR;
}

/* ---- judging ---- */

static double median_seen(const double *seen, size_t rounds)
{
	for (size_t i = 0; i < rounds; i++) {
		if (isnan(seen[i]))
			return NAN;
	}
	return hq_median_of(seen, rounds);
}

/* What failed is kept off the frontier as if it were worst in everything. */
static int find_frontier(struct sweep *sweep)
{
	const size_t points = sweep->grid.points, metrics = sweep->metric_count;
	double *values = calloc(points * metrics, sizeof(*values));
	bool *on_frontier = calloc(points, sizeof(*on_frontier));
	const int status = values && on_frontier ? 0 : -ENOMEM;

	for (size_t i = 0; !status && i < points; i++) {
		struct point *point = &sweep->points[i];

		for (size_t j = 0; j < metrics; j++) {
			point->median[j] = median_seen(point->seen[j], point->rounds);
			values[i * metrics + j] = point->trouble[0] ? NAN : point->median[j];
		}
	}
	if (!status)
		hq_frontier_find(values, points, metrics, EQUAL_SHARE, on_frontier);
	for (size_t i = 0; !status && i < points; i++)
		sweep->points[i].on_frontier = on_frontier[i] && !sweep->points[i].trouble[0];
	free(values);
	free(on_frontier);
	return status;
}

/* ---- reporting ---- */

static const char *last_line(const struct sweep *sweep, char *text, size_t size)
{
	size_t frontier = 0, failed = 0;

	for (size_t i = 0; i < sweep->grid.points; i++) {
		frontier += sweep->points[i].on_frontier;
		failed += sweep->points[i].trouble[0] != '\0';
	}
	snprintf(text, size,
		 "%s: %zu combinations, %zu rounds: %zu on the frontier, %zu failed (%.1f s)",
		 sweep->points[0].plan.scenario, sweep->grid.points, sweep->whole_rounds, frontier,
		 failed, (double)sweep->wall_ns / 1e9);
	return text;
}

static int print_text(const struct sweep *sweep, FILE *stream)
{
	char line[200];
	int width = 12;

	for (size_t i = 0; i < sweep->grid.points; i++) {
		const int length = (int)strlen(sweep->points[i].name);

		width = length > width ? length : width;
	}
	fprintf(stream, "    %-*s", width, "");
	for (size_t j = 0; j < sweep->metric_count; j++)
		fprintf(stream, "  %16s", sweep->metrics[j]);
	fputc('\n', stream);
	for (size_t i = 0; i < sweep->grid.points; i++) {
		const struct point *point = &sweep->points[i];
		char value[40];

		fprintf(stream, "  %s %-*s", point->on_frontier ? "*" : " ", width, point->name);
		for (size_t j = 0; j < sweep->metric_count; j++)
			fprintf(stream, "  %16s",
				isnan(point->median[j])
					? "-"
					: hq_value_print(value, sizeof(value), sweep->units[j],
							 point->median[j]));
		fprintf(stream, "%s%s", point->trouble[0] ? "  failed: " : "", point->trouble);
		fprintf(stream, "%s%s\n", point->doubt[0] ? "  inconclusive: " : "", point->doubt);
	}
	fprintf(stream, "\n  * nothing else is as good in every column\n\n%s\n",
		last_line(sweep, line, sizeof(line)));
	return ferror(stream) ? -EIO : 0;
}

static json_t *point_json(const struct sweep *sweep, const struct point *point)
{
	json_t *one = json_object(), *values = json_object();

	for (size_t j = 0; j < sweep->metric_count; j++) {
		json_t *seen = json_array();

		for (size_t i = 0; i < point->rounds; i++)
			json_array_append_new(seen, hq_json_number(point->seen[j][i]));
		json_object_set_new(values, sweep->metrics[j],
				    json_pack("{s:o, s:o}", "median",
					      hq_json_number(point->median[j]), "values", seen));
	}
	json_object_set_new(one, "settings", json_string(point->name));
	json_object_set_new(one, "frontier", json_boolean(point->on_frontier));
	json_object_set_new(one, "failed", json_string(point->trouble));
	json_object_set_new(one, "inconclusive", json_string(point->doubt));
	json_object_set_new(one, "metrics", values);
	return one;
}

static json_t *sweep_json(const struct sweep *sweep)
{
	json_t *whole = json_object(), *points = json_array(), *metrics = json_array();

	for (size_t j = 0; j < sweep->metric_count; j++)
		json_array_append_new(metrics, json_string(sweep->metrics[j]));
	for (size_t i = 0; i < sweep->grid.points; i++)
		json_array_append_new(points, point_json(sweep, &sweep->points[i]));
	json_object_set_new(whole, "schema", json_integer(1));
	json_object_set_new(whole, "scenario", json_string(sweep->points[0].plan.scenario));
	json_object_set_new(whole, "metrics", metrics);
	json_object_set_new(whole, "points", points);
	return whole;
}

static int write_report(const void *cookie, const char *format, FILE *stream, bool color)
{
	const struct sweep *sweep = cookie;

	(void)color;
	if (strcmp(format, "text") == 0)
		return print_text(sweep, stream);
	if (strcmp(format, "html") == 0)
		return hq_page_write(json_pack("{s:s, s:s, s:[o]}", "title",
					       sweep->points[0].plan.scenario, "version",
					       HQ_VERSION, "sweeps", sweep_json(sweep)),
				     stream);
	json_t *whole = sweep_json(sweep);
	const int failed = json_dumpf(whole, stream, JSON_INDENT(2));

	json_decref(whole);
	return failed || fputc('\n', stream) == EOF ? -EIO : 0;
}

static int report(struct sweep *sweep, struct hq_report_files *files)
{
	char line[200];
	const struct hq_report_source source = { write_report, sweep,
						 last_line(sweep, line, sizeof(line)) };
	struct hq_error error;

	if (!hq_report_files_write(files, &source, &sweep->invocation->settings, &error))
		return 0;
	complain(error.text);
	return HQ_EXIT_ERROR;
}

static int conclude(struct sweep *sweep, struct hq_report_files *files)
{
	int status = 0;

	if (!sweep->whole_rounds)
		status = complain("not one whole round was run: nothing can be told");
	else if (find_frontier(sweep))
		status = complain("out of memory");
	else
		status = report(sweep, files);
	for (size_t i = 0; !status && i < sweep->grid.points; i++)
		status = sweep->points[i].trouble[0] ? HQ_EXIT_FAIL : 0;
	return sweep->interrupted_by ? 128 + sweep->interrupted_by : status;
}

static void clear(struct sweep *sweep)
{
	for (size_t i = 0; sweep->cases && i < sweep->grid.points; i++)
		hq_cases_clear(&sweep->cases[i]);
	free(sweep->cases);
	free(sweep->points);
	free(sweep->order);
	hq_words_free(sweep->metrics);
	hq_grid_clear(&sweep->grid);
}

int hq_command_sweep(struct hq_invocation *invocation)
{
	struct sweep sweep = { .invocation = invocation };
	struct hq_report_files files = { .count = 0 };
	struct hq_error error;
	int status = make_points(&sweep);

	if (!status && invocation->settings.dry_run) {
		for (size_t i = 0; i < sweep.grid.points; i++)
			printf("%s on %s: %s\n", sweep.points[i].plan.scenario,
			       sweep.points[i].plan.allocator, sweep.points[i].name);
	} else if (!status) {
		if (hq_report_files_open(&invocation->settings, false, formats, &files, &error))
			status = complain(error.text);
		else
			status = run_all(&sweep);
		if (!status)
			status = conclude(&sweep, &files);
		hq_report_files_close(&files);
	}
	clear(&sweep);
	return status;
}
