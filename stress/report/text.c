/* SPDX-License-Identifier: MIT */
/*
 * The report for a person: what did not pass, with evidence and the line that shows it again; then
 * all verdicts as a table; then one line of counts, which is always the last.
 *
 * A known failure that showed up again and a skipped case are one line each, unless all is asked
 * for. Whatever we did to the target ourselves is called injected.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/value.h"
#include "stress/report/axes.h"
#include "stress/report/clean.h"
#include "stress/report/format.h"
#include "stress/report/summary.h"

struct writer {
	const struct hq_suite *suite;
	FILE *stream;
};

static const char *color_of(const struct writer *writer, enum hq_verdict verdict)
{
	static const char *const colors[] = {
		[HQ_VERDICT_PASS] = "\x1b[32m",    [HQ_VERDICT_XFAIL] = "\x1b[36m",
		[HQ_VERDICT_SKIP] = "\x1b[36m",    [HQ_VERDICT_INCONCLUSIVE] = "\x1b[33m",
		[HQ_VERDICT_XPASS] = "\x1b[31m",   [HQ_VERDICT_FAIL] = "\x1b[1;31m",
		[HQ_VERDICT_ERROR] = "\x1b[1;31m",
	};

	return writer->suite->color ? colors[verdict] : "";
}

static const char *color_end(const struct writer *writer)
{
	return writer->suite->color ? "\x1b[0m" : "";
}

/* The lines of a text, each indented. */
static void put_lines(const struct writer *writer, const char *indent, const char *text)
{
	char clean[HQ_CLEAN_SIZE];
	const char *line = hq_clean(text, HQ_CLEAN_LINES, clean, sizeof(clean));

	while (*line) {
		const size_t length = strcspn(line, "\n");

		fprintf(writer->stream, "%s%.*s\n", indent, (int)length, line);
		line += length + (line[length] == '\n');
	}
}

/* "  label: text", on one line; nothing for an empty text. */
static void put_labelled(const struct writer *writer, const char *label, const char *text)
{
	char clean[HQ_CLEAN_SIZE];

	if (text[0])
		fprintf(writer->stream, "  %s: %s\n", label,
			hq_clean(text, HQ_CLEAN_LINE, clean, sizeof(clean)));
}

static void put_heading(const struct writer *writer, const struct hq_result *result)
{
	char scenario[300], allocator[300], version[300];

	hq_clean(result->scenario, HQ_CLEAN_LINE, scenario, sizeof(scenario));
	hq_clean(result->allocator, HQ_CLEAN_LINE, allocator, sizeof(allocator));
	hq_clean(result->version, HQ_CLEAN_LINE, version, sizeof(version));
	fprintf(writer->stream, "%s%s%s %s on %s%s%s (seed %" PRIu64 ", %.1f s)",
		color_of(writer, result->verdict), hq_verdict_name(result->verdict),
		color_end(writer), scenario, allocator, version[0] ? " " : "", version,
		result->seed, (double)result->wall_ns / 1e9);
}

static void put_finding(const struct writer *writer, const struct hq_finding *finding)
{
	char clean[HQ_CLEAN_SIZE];

	fprintf(writer->stream, "  %s%s: %s", finding->gap ? "not conclusive, " : "",
		finding->checker, hq_clean(finding->text, HQ_CLEAN_LINE, clean, sizeof(clean)));
	if (finding->count > 1)
		fprintf(writer->stream, " (%" PRIu64 " times)", finding->count);
	fputc('\n', writer->stream);
	put_lines(writer, "      ", finding->evidence);
}

/* Findings first: a gap is often their consequence. */
static void put_findings(const struct writer *writer, const struct hq_findings *findings)
{
	for (int gap = 0; gap < 2; gap++) {
		for (size_t i = 0; i < findings->count; i++) {
			if (findings->list[i].gap == gap)
				put_finding(writer, &findings->list[i]);
		}
	}
	if (findings->left_out)
		fprintf(writer->stream, "  and %zu more that found no room\n", findings->left_out);
}

static void put_rules(const struct writer *writer, const struct hq_result *result)
{
	for (size_t i = 0; i < result->rule_count; i++) {
		const struct hq_rule_total *rule = &result->rules[i];
		char clean[HQ_RULE_NAME_SIZE * 4];

		hq_clean(rule->name, HQ_CLEAN_LINE, clean, sizeof(clean));
		fprintf(writer->stream,
			"  injected by rule '%s': %" PRIu64 " faults in %" PRIu64
			" eligible calls, of %" PRIu64 " seen\n",
			clean, rule->fired, rule->eligible, rule->seen);
	}
}

static void put_metrics(const struct writer *writer, const struct hq_result *result)
{
	for (size_t i = 0; i < result->metric_count; i++) {
		const struct hq_result_metric *metric = &result->metrics[i];
		char value[40];

		fprintf(writer->stream, "    %-28s %s\n", metric->name,
			hq_value_print(value, sizeof(value), metric->unit, metric->value));
	}
}

static bool is_quiet_verdict(enum hq_verdict verdict)
{
	return verdict == HQ_VERDICT_PASS || verdict == HQ_VERDICT_XFAIL ||
	       verdict == HQ_VERDICT_SKIP;
}

/* One line, for what came out as expected. */
static void put_short(const struct writer *writer, const struct hq_result *result)
{
	char clean[HQ_CLEAN_SIZE];

	put_heading(writer, result);
	if (result->reason[0])
		fprintf(writer->stream, ": %s",
			hq_clean(result->reason, HQ_CLEAN_LINE, clean, sizeof(clean)));
	fputc('\n', writer->stream);
}

static void put_whole(const struct writer *writer, const struct hq_result *result)
{
	put_heading(writer, result);
	fputc('\n', writer->stream);
	put_labelled(writer, "question", result->question);
	put_labelled(writer, "command", result->command);
	put_labelled(writer, "reason", result->reason);
	put_findings(writer, &result->findings);
	put_rules(writer, result);
	if (writer->suite->verbose)
		put_metrics(writer, result);
	put_labelled(writer, "results", result->folder);
	put_labelled(writer, "reproduce", result->repro);
	fputc('\n', writer->stream);
}

static void put_case(const struct writer *writer, const struct hq_result *result)
{
	if (!is_quiet_verdict(result->verdict)) {
		put_whole(writer, result);
	} else if (!writer->suite->verbose) {
		if (result->verdict != HQ_VERDICT_PASS)
			put_short(writer, result);
	} else {
		put_short(writer, result);
		put_findings(writer, &result->findings);
		put_rules(writer, result);
		put_metrics(writer, result);
		fputc('\n', writer->stream);
	}
}

/* ---- the table: a row for each scenario, a column for each allocator ---- */

/* Width 0 is for the last cell of a line, which needs no space after it. */
static void put_cell(const struct writer *writer, const char *scenario, const char *allocator,
		     int width)
{
	enum hq_verdict joined;
	const bool found = hq_axes_verdict(writer->suite, scenario, allocator, &joined);
	const char *name = found ? hq_verdict_name(joined) : "-";

	fprintf(writer->stream, "  %s%s%s%*s", found ? color_of(writer, joined) : "", name,
		found ? color_end(writer) : "", width ? width - (int)strlen(name) : 0, "");
}

static void put_rows(const struct writer *writer, const struct hq_axes *table)
{
	const int first =
		hq_axes_width(table->scenarios, table->scenario_count, (int)strlen("scenario"));
	const int other = hq_axes_width(table->allocators, table->allocator_count,
					(int)strlen("INCONCLUSIVE"));
	char clean[300];

	fprintf(writer->stream, "%-*s", first, "scenario");
	for (size_t i = 0; i < table->allocator_count; i++)
		fprintf(writer->stream, "  %-*s", i + 1 < table->allocator_count ? other : 0,
			hq_clean(table->allocators[i], HQ_CLEAN_LINE, clean, sizeof(clean)));
	fputc('\n', writer->stream);
	for (size_t i = 0; i < table->scenario_count; i++) {
		fprintf(writer->stream, "%-*s", first,
			hq_clean(table->scenarios[i], HQ_CLEAN_LINE, clean, sizeof(clean)));
		for (size_t j = 0; j < table->allocator_count; j++)
			put_cell(writer, table->scenarios[i], table->allocators[j],
				 j + 1 < table->allocator_count ? other : 0);
		fputc('\n', writer->stream);
	}
	fputc('\n', writer->stream);
}

static void put_legend(const struct writer *writer)
{
	size_t counts[HQ_VERDICTS];

	hq_suite_count(writer->suite, counts);
	if (counts[HQ_VERDICT_XFAIL])
		fputs("XFAIL: failed, as is known of this allocator\n", writer->stream);
	if (counts[HQ_VERDICT_XPASS])
		fputs("XPASS: known to fail, but passed\n", writer->stream);
	if (counts[HQ_VERDICT_XFAIL] || counts[HQ_VERDICT_XPASS])
		fputc('\n', writer->stream);
}

/* Known failures have one line each, and none of them the empty line that ends the other cases. */
static bool ends_with_known(const struct hq_suite *suite)
{
	for (size_t i = suite->count; i > 0; i--)
		if (suite->results[i - 1].verdict != HQ_VERDICT_PASS)
			return suite->results[i - 1].verdict == HQ_VERDICT_XFAIL;
	return false;
}

static int put_table(const struct writer *writer)
{
	struct hq_axes table;
	const int status = hq_axes_make(&table, writer->suite);

	if (status == 0)
		put_rows(writer, &table);
	hq_axes_clear(&table);
	return status;
}

static int write_text(const struct hq_suite *suite, FILE *stream)
{
	const struct writer writer = { .suite = suite, .stream = stream };
	char line[300];
	int status = 0;

	fprintf(stream, "heapquake %s, seed %" PRIu64 "\n\n",
		suite->program_version ? suite->program_version : "", suite->seed);
	for (size_t i = 0; i < suite->count; i++)
		put_case(&writer, &suite->results[i]);
	if (!suite->verbose && ends_with_known(suite))
		fputc('\n', stream);
	if (suite->count > 1)
		status = put_table(&writer);
	put_legend(&writer);
	fprintf(stream, "%s\n", hq_suite_last_line(suite, line, sizeof(line)));
	return fflush(stream) || ferror(stream) ? -EIO : status;
}

const struct hq_format hq_format_text = {
	.name = "text",
	.help = "for a person: what did not pass, with evidence; verdicts as a table",
	.write = write_text,
};
