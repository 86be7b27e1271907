/* SPDX-License-Identifier: MIT */
/*
 * The expectation language: judging. One noisy run decides nothing: of each metric the median over
 * the runs is compared, and for `clean` the median over the clean runs of the same invocation.
 * Counts of faults are the exception: there the smallest run counts, since each run needs its
 * faults.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/check/evidence.h"
#include "stress/check/metric.h"
#include "stress/check/value.h"

static const char name[] = "expect";

#define RUNS_MAX   64
#define VALUE_TEXT 40

/* One metric over several runs. */
struct spread {
	double values[RUNS_MAX];
	size_t count;
	double judged; /* the median, or the smallest for counts of faults */
};

static int compare_values(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(const struct spread *spread)
{
	double sorted[RUNS_MAX];
	const size_t count = spread->count;

	memcpy(sorted, spread->values, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare_values);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
}

static double smallest(const struct spread *spread)
{
	double least = spread->values[0];

	for (size_t i = 1; i < spread->count; i++)
		least = spread->values[i] < least ? spread->values[i] : least;
	return least;
}

/* The metric in every run. Some runs without it are as bad as all: a median of the rest would
 * flatter. */
static int collect(const char *metric, enum hq_unit unit, const struct hq_observations *const *runs,
		   size_t count, struct spread *spread, struct hq_error *error)
{
	spread->count = count < RUNS_MAX ? count : RUNS_MAX;
	if (spread->count == 0) {
		hq_error_set(error, "there was no run of that kind");
		return -ENODATA;
	}
	for (size_t i = 0; i < spread->count; i++) {
		enum hq_unit found;
		const int status =
			hq_metric_get(runs[i], metric, &spread->values[i], &found, error);

		if (status)
			return status;
		if (found != unit) {
			hq_error_set(error, "it is a %s, but the expectation is about a %s",
				     hq_unit_words(found), hq_unit_words(unit));
			return -ENODATA;
		}
	}
	spread->judged = !strncmp(metric, "inject.", 7) ? smallest(spread) : median(spread);
	return 0;
}

static bool holds(const char *op, double left, double right)
{
	if (!strcmp(op, "<="))
		return left <= right;
	if (!strcmp(op, ">="))
		return left >= right;
	if (!strcmp(op, "<"))
		return left < right;
	if (!strcmp(op, ">"))
		return left > right;
	return (left == right) == !strcmp(op, "==");
}

static void add_gap(const struct hq_expectation *expectation, const char *metric, bool clean,
		    const struct hq_error *error, struct hq_findings *findings)
{
	struct hq_finding *gap = hq_gap_add(findings, name, "%s was not observed%s: %.200s", metric,
					    clean ? " in the clean runs" : "", error->text);

	hq_evidence_line(gap, "expected: %s", expectation->text);
}

/* The value, with every digit where rounding would make it look like `beside`. */
static void print_beside(char text[VALUE_TEXT], enum hq_unit unit, double value, double beside)
{
	char other[VALUE_TEXT];

	hq_value_print(text, VALUE_TEXT, unit, value);
	hq_value_print(other, sizeof(other), unit, beside);
	if (value != beside && !strcmp(text, other))
		hq_value_print_exact(text, VALUE_TEXT, unit, value);
}

/* What stands right of the operator, as it was written. */
static const char *written_bound(const struct hq_expectation *expectation)
{
	const char *at = strstr(expectation->text, expectation->op);

	if (!at)
		return expectation->text;
	at += strlen(expectation->op);
	return at + strspn(at, " \t");
}

static void add_values(const char *label, enum hq_unit unit, const struct spread *spread,
		       struct hq_finding *finding)
{
	char line[400] = "", text[VALUE_TEXT];
	size_t used = 0;

	if (spread->count < 2)
		return;
	for (size_t i = 0; i < spread->count && used < sizeof(line) - VALUE_TEXT; i++)
		used += (size_t)snprintf(
			line + used, sizeof(line) - used, "%s%s", i ? ", " : "",
			hq_value_print(text, sizeof(text), unit, spread->values[i]));
	hq_evidence_line(finding, "%s: %s", label, line);
}

/*
 * Fewer faults than asked for is nothing that the target did wrong: the run just proves too little.
 */
static bool is_shortage_of_faults(const struct hq_expectation *expectation)
{
	const char *counter = strrchr(expectation->metric, '.');

	return !strncmp(expectation->metric, "inject.", 7) && expectation->op[0] == '>' &&
	       (!strcmp(counter, ".fired") || !strcmp(counter, ".eligible") ||
		!strcmp(counter, ".seen"));
}

struct sides {
	struct spread left, right; /* right.count 0: a plain value */
	double bound;
};

static void add_finding(const struct hq_expectation *expectation, const struct sides *sides,
			struct hq_findings *findings)
{
	const enum hq_unit unit = expectation->unit;
	const double value = sides->left.judged;
	const char *reference = expectation->against_clean ? "clean" : expectation->other;
	char left[VALUE_TEXT], bound[VALUE_TEXT], right[VALUE_TEXT];
	struct hq_finding *finding;
	__typeof__(hq_finding_add) *const add =
		is_shortage_of_faults(expectation) ? hq_gap_add : hq_finding_add;

	print_beside(left, unit, value, sides->bound);
	print_beside(bound, unit, sides->bound, value);
	if (sides->right.count == 0) {
		finding = add(findings, name, "%s = %s, expected %s %s", expectation->metric, left,
			      expectation->op, written_bound(expectation));
	} else {
		hq_value_print(right, sizeof(right), unit, sides->right.judged);
		finding = add(findings, name, "%s = %s, expected %s %s (%s = %s, so %s %s)",
			      expectation->metric, left, expectation->op,
			      written_bound(expectation), reference, right, expectation->op, bound);
	}
	add_values(expectation->metric, unit, &sides->left, finding);
	add_values(reference, unit, &sides->right, finding);
}

/*
 * Without a reference the unit of an injector's measure is the one that the value was written in.
 */
static enum hq_unit unit_of_judgement(const struct hq_expectation *expectation,
				      const struct hq_observations *const *runs, size_t run_count)
{
	enum hq_unit found;
	struct hq_error ignored;
	double value;

	/* `inject.a.bytes <= 2 * inject.b.bytes` names no unit at all: the run does. */
	if (expectation->other[0] && expectation->constant == 0.0 && run_count > 0 &&
	    hq_metric_get(runs[0], expectation->metric, &value, &found, &ignored) == 0)
		return found;
	return expectation->unit;
}

void hq_expectation_judge(const struct hq_expectation *expectation,
			  const struct hq_observations *const *runs, size_t run_count,
			  const struct hq_observations *const *clean_runs, size_t clean_count,
			  struct hq_findings *findings)
{
	const bool clean = expectation->against_clean;
	const char *other = clean ? expectation->metric : expectation->other;
	struct hq_expectation resolved = *expectation;
	struct sides sides = { 0 };
	struct hq_error error;

	resolved.unit = unit_of_judgement(expectation, runs, run_count);
	if (collect(resolved.metric, resolved.unit, runs, run_count, &sides.left, &error)) {
		add_gap(&resolved, resolved.metric, false, &error, findings);
		return;
	}
	if (other[0] && collect(other, resolved.unit, clean ? clean_runs : runs,
				clean ? clean_count : run_count, &sides.right, &error)) {
		add_gap(&resolved, other, clean, &error, findings);
		return;
	}
	sides.bound = resolved.constant;
	if (other[0])
		sides.bound += resolved.factor * sides.right.judged;
	if (!holds(resolved.op, sides.left.judged, sides.bound))
		add_finding(&resolved, &sides, findings);
}
