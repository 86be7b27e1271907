/* SPDX-License-Identifier: MIT */
/*
 * The report for a comparison: what each scenario took on each allocator, in time and memory, and
 * how many times the best of those that passed; then the geometric means of these ratios over all
 * scenarios that every allocator passed. Of several seeds the least of each figure counts: what is
 * above it is the machine's.
 *
 * A case that did not pass has its message and the line that shows it again; its figures are shown,
 * but compared with nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/value.h"
#include "stress/report/axes.h"
#include "stress/report/clean.h"
#include "stress/report/format.h"
#include "stress/report/summary.h"

static const struct column {
	const char *heading;
	const char *metric;
	const char *instead; /* where that one is missing; NULL: nothing */
	bool compared;
	bool sometimes; /* only where some allocator has it */
} columns[] = {
	{ "CPU", "cpu.total", NULL, true, false },
	{ "of it kernel", "cpu.system", NULL, false, false },
	{ "elapsed", "time.wall", NULL, true, false },
	{ "peak", "rss.tree_peak", "rss.peak", true, false },
	{ "page faults", "faults.minor", NULL, true, false },
	{ "p99.9 clean", "latency.op.p99_9.clean", NULL, false, true },
	{ "p99.9 faulted", "latency.op.p99_9.faulted", NULL, false, true },
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* One allocator's figures for one scenario; NAN where there is none. */
struct figures {
	double value[COLUMNS];
	enum hq_unit unit[COLUMNS];
	enum hq_verdict verdict;
	bool present;
};

struct writer {
	const struct hq_suite *suite;
	struct hq_axes axes;
	int name_width;
	FILE *stream;
};

static const struct hq_result_metric *find_metric(const struct hq_result *result, const char *name)
{
	for (size_t i = 0; name && i < result->metric_count; i++) {
		if (!strcmp(result->metrics[i].name, name))
			return &result->metrics[i];
	}
	return NULL;
}

static void add_result(struct figures *figures, const struct hq_result *result)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		const struct hq_result_metric *metric = find_metric(result, columns[i].metric);

		if (!metric)
			metric = find_metric(result, columns[i].instead);
		if (!metric)
			continue;
		figures->unit[i] = metric->unit;
		figures->value[i] = fmin(figures->value[i], metric->value);
	}
}

static struct figures figures_of(const struct writer *writer, const char *scenario,
				 const char *allocator)
{
	struct figures figures;

	for (size_t i = 0; i < COLUMNS; i++)
		figures.value[i] = NAN;
	figures.present = hq_axes_verdict(writer->suite, scenario, allocator, &figures.verdict);
	for (size_t i = 0; i < writer->suite->count; i++) {
		const struct hq_result *result = &writer->suite->results[i];

		if (!strcmp(result->scenario, scenario) && !strcmp(result->allocator, allocator))
			add_result(&figures, result);
	}
	return figures;
}

static bool passed(const struct figures *figures)
{
	return figures->present && figures->verdict == HQ_VERDICT_PASS;
}

/* The least figure of a column among those that passed; NAN if none did. */
static double best_of(const struct writer *writer, const char *scenario, size_t column)
{
	double best = NAN;

	for (size_t i = 0; i < writer->axes.allocator_count; i++) {
		const struct figures figures =
			figures_of(writer, scenario, writer->axes.allocators[i]);

		if (passed(&figures))
			best = fmin(best, figures.value[column]);
	}
	return best;
}

static bool is_shown(const struct writer *writer, const char *scenario, size_t column)
{
	for (size_t i = 0; columns[column].sometimes && i < writer->axes.allocator_count; i++) {
		const struct figures figures =
			figures_of(writer, scenario, writer->axes.allocators[i]);

		if (!isnan(figures.value[column]))
			return true;
	}
	return !columns[column].sometimes;
}

static void put_value(const struct writer *writer, const struct figures *figures, size_t column)
{
	char text[40] = "-";

	if (!isnan(figures->value[column]))
		hq_value_print(text, sizeof(text), figures->unit[column], figures->value[column]);
	fprintf(writer->stream, "  %12s", text);
}

/* What did not come to its end took less than the best, perhaps, and proves nothing by that. */
static void put_ratio(const struct writer *writer, const struct figures *figures, size_t column,
		      double best)
{
	if (best > 0 && !isnan(figures->value[column]) && passed(figures))
		fprintf(writer->stream, " %5.2f", figures->value[column] / best);
	else
		fprintf(writer->stream, " %5s", "-");
}

static void put_headings(const struct writer *writer, const char *scenario)
{
	fprintf(writer->stream, "  %-*s  %-12s", writer->name_width, "allocator", "verdict");
	for (size_t i = 0; i < COLUMNS; i++)
		if (is_shown(writer, scenario, i))
			fprintf(writer->stream, columns[i].compared ? "  %12s  best" : "  %12s",
				columns[i].heading);
	fputc('\n', writer->stream);
}

static void put_row(const struct writer *writer, const char *scenario, const char *allocator,
		    const double best[COLUMNS])
{
	const struct figures figures = figures_of(writer, scenario, allocator);
	char clean[300];

	if (!figures.present)
		return;
	fprintf(writer->stream, "  %-*s  %-12s", writer->name_width,
		hq_clean(allocator, HQ_CLEAN_LINE, clean, sizeof(clean)),
		hq_verdict_name(figures.verdict));
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!is_shown(writer, scenario, i))
			continue;
		put_value(writer, &figures, i);
		if (columns[i].compared)
			put_ratio(writer, &figures, i, best[i]);
	}
	fputc('\n', writer->stream);
}

/* Why, and how to see it again. */
static void put_message(const struct writer *writer, const struct hq_result *result)
{
	char clean[HQ_CLEAN_SIZE];

	fprintf(writer->stream, "  %s on ", hq_verdict_name(result->verdict));
	fprintf(writer->stream,
		"%s: ", hq_clean(result->allocator, HQ_CLEAN_LINE, clean, sizeof(clean)));
	fprintf(writer->stream, "%s\n",
		hq_clean(hq_result_message(result), HQ_CLEAN_LINE, clean, sizeof(clean)));
	if (result->verdict == HQ_VERDICT_SKIP || result->verdict == HQ_VERDICT_XFAIL)
		return;
	fprintf(writer->stream, "    reproduce: %s\n",
		hq_clean(result->repro, HQ_CLEAN_LINE, clean, sizeof(clean)));
}

static void put_messages(const struct writer *writer, const char *scenario)
{
	for (size_t i = 0; i < writer->suite->count; i++) {
		const struct hq_result *result = &writer->suite->results[i];

		if (!strcmp(result->scenario, scenario) && result->verdict != HQ_VERDICT_PASS)
			put_message(writer, result);
	}
}

static void put_scenario(const struct writer *writer, const char *scenario)
{
	double best[COLUMNS];
	char clean[300];

	for (size_t i = 0; i < COLUMNS; i++)
		best[i] = best_of(writer, scenario, i);
	fprintf(writer->stream, "%s\n", hq_clean(scenario, HQ_CLEAN_LINE, clean, sizeof(clean)));
	put_headings(writer, scenario);
	for (size_t i = 0; i < writer->axes.allocator_count; i++)
		put_row(writer, scenario, writer->axes.allocators[i], best);
	put_messages(writer, scenario);
	fputc('\n', writer->stream);
}

/* ---- over all scenarios ---- */

static bool all_passed(const struct writer *writer, const char *scenario)
{
	for (size_t i = 0; i < writer->axes.allocator_count; i++) {
		const struct figures figures =
			figures_of(writer, scenario, writer->axes.allocators[i]);

		if (!passed(&figures))
			return false;
	}
	return true;
}

/* NAN if no scenario has a ratio. */
static double mean_ratio(const struct writer *writer, const char *allocator, size_t column)
{
	double logarithms = 0;
	size_t count = 0;

	for (size_t i = 0; i < writer->axes.scenario_count; i++) {
		const char *scenario = writer->axes.scenarios[i];

		if (!all_passed(writer, scenario))
			continue;
		const double value = figures_of(writer, scenario, allocator).value[column];
		const double best = best_of(writer, scenario, column);

		if (!(best > 0) || isnan(value))
			continue;
		logarithms += log(value / best);
		count++;
	}
	return count ? exp(logarithms / (double)count) : NAN;
}

static void put_mean(const struct writer *writer, const char *allocator)
{
	char clean[300];

	fprintf(writer->stream, "  %-*s", writer->name_width,
		hq_clean(allocator, HQ_CLEAN_LINE, clean, sizeof(clean)));
	for (size_t i = 0; i < COLUMNS; i++) {
		const double mean = columns[i].compared ? mean_ratio(writer, allocator, i) : NAN;

		if (columns[i].compared && isnan(mean))
			fprintf(writer->stream, "  %12s", "-");
		else if (columns[i].compared)
			fprintf(writer->stream, "  %12.2f", mean);
	}
	fputc('\n', writer->stream);
}

static void put_means(const struct writer *writer)
{
	size_t count = 0;

	for (size_t i = 0; i < writer->axes.scenario_count; i++)
		count += all_passed(writer, writer->axes.scenarios[i]);
	if (count < 2 || writer->axes.allocator_count < 2)
		return;
	fprintf(writer->stream, "times the best, geometric mean of %zu scenarios that all passed\n",
		count);
	fprintf(writer->stream, "  %-*s", writer->name_width, "allocator");
	for (size_t i = 0; i < COLUMNS; i++)
		if (columns[i].compared)
			fprintf(writer->stream, "  %12s", columns[i].heading);
	fputc('\n', writer->stream);
	for (size_t i = 0; i < writer->axes.allocator_count; i++)
		put_mean(writer, writer->axes.allocators[i]);
	fputc('\n', writer->stream);
}

static int write_usage(const struct hq_suite *suite, FILE *stream)
{
	struct writer writer = { .suite = suite, .stream = stream };
	const int status = hq_axes_make(&writer.axes, suite);
	char line[300];

	writer.name_width = hq_axes_width(writer.axes.allocators, writer.axes.allocator_count,
					  (int)strlen("allocator"));
	for (size_t i = 0; i < writer.axes.scenario_count; i++)
		put_scenario(&writer, writer.axes.scenarios[i]);
	put_means(&writer);
	hq_axes_clear(&writer.axes);
	fprintf(stream, "%s\n", hq_suite_last_line(suite, line, sizeof(line)));
	return fflush(stream) || ferror(stream) ? -EIO : status;
}

const struct hq_format hq_format_usage = {
	.name = "usage",
	.help = "for a comparison: time and memory of each case, beside the best allocator",
	.write = write_usage,
};
