/* SPDX-License-Identifier: MIT */
/*
 * The expectation language: judging. One noisy run decides nothing: of each metric the median over
 * the runs is compared. Counts of faults are the exception: there the smallest run counts, since
 * each run needs its faults. A bound that comes from clean runs is itself noisy, and is judged by
 * ranks (against.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/against.h"
#include "stress/check/evidence.h"
#include "stress/check/median.h"
#include "stress/check/metric.h"
#include "stress/check/value.h"

static const char name[] = "expect";

#define RUNS_MAX   64
#define VALUE_TEXT 40
#define EQUAL_RUNS 3 /* whose medians are compared by `== clean` and `!= clean` */

/* One metric over several runs. */
struct spread {
	double values[RUNS_MAX];
	size_t count;
	double judged; /* the median, or the smallest for counts of faults */
};

static double median(const struct spread *spread)
{
	double sorted[RUNS_MAX];

	memcpy(sorted, spread->values, spread->count * sizeof(sorted[0]));
	return hq_median(sorted, spread->count);
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
		!strcmp(counter, ".seen") || !strcmp(counter, ".steps"));
}

struct sides {
	struct spread left, right; /* right.count 0: a plain value */
	double bound;
};

static struct hq_finding *add_finding(const struct hq_expectation *expectation,
				      const struct sides *sides, struct hq_findings *findings)
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
	return finding;
}

/* The series overlap: neither accused nor acquitted. */
static void add_doubt(const struct hq_expectation *expectation, const struct sides *sides,
		      struct hq_findings *findings)
{
	struct hq_finding *gap = hq_gap_add(
		findings, name, "cannot tell whether %s: the runs differ too much among each other",
		expectation->text);

	add_values(expectation->metric, expectation->unit, &sides->left, gap);
	add_values("clean", expectation->unit, &sides->right, gap);
	hq_evidence_line(
		gap, "%zu runs with faults and %zu without; more pairs, or more room, would tell",
		sides->left.count, sides->right.count);
}

static enum hq_answer ask_ranks(const struct hq_expectation *expectation, const struct sides *sides,
				const struct hq_confidence *confidence, double *chance)
{
	const struct hq_against against = {
		.values = sides->left.values,
		.count = sides->left.count,
		.clean = sides->right.values,
		.clean_count = sides->right.count,
	};

	return hq_against_clean(expectation, &against, confidence, chance);
}

static void judge_by_ranks(const struct hq_expectation *expectation, const struct sides *sides,
			   const struct hq_confidence *confidence, struct hq_findings *findings)
{
	double chance;
	const enum hq_answer answer = ask_ranks(expectation, sides, confidence, &chance);

	if (answer == HQ_ANSWER_BROKEN)
		hq_evidence_line(add_finding(expectation, sides, findings),
				 "by chance that would come once in %.0f such series of runs",
				 1.0 / chance);
	if (answer == HQ_ANSWER_OPEN)
		add_doubt(expectation, sides, findings);
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

/* Both sides as the runs have them. 0; or -ENODATA, and what was missing is told as a gap. */
static int collect_sides(const struct hq_expectation *expectation, const struct hq_series *series,
			 struct sides *sides, struct hq_findings *findings)
{
	const bool clean = expectation->against_clean;
	const char *other = clean ? expectation->metric : expectation->other;
	struct hq_error error;

	if (collect(expectation->metric, expectation->unit, series->runs, series->run_count,
		    &sides->left, &error)) {
		add_gap(expectation, expectation->metric, false, &error, findings);
		return -ENODATA;
	}
	if (other[0] &&
	    collect(other, expectation->unit, clean ? series->clean_runs : series->runs,
		    clean ? series->clean_count : series->run_count, &sides->right, &error)) {
		add_gap(expectation, other, clean, &error, findings);
		return -ENODATA;
	}
	sides->bound = expectation->constant;
	if (other[0])
		sides->bound += expectation->factor * sides->right.judged;
	return 0;
}

void hq_expectation_judge(const struct hq_expectation *expectation, const struct hq_series *series,
			  struct hq_findings *findings)
{
	struct hq_expectation resolved = *expectation;
	struct sides sides = { 0 };

	resolved.unit = unit_of_judgement(expectation, series->runs, series->run_count);
	if (collect_sides(&resolved, series, &sides, findings))
		return;
	if (hq_against_applies(&resolved))
		judge_by_ranks(&resolved, &sides, &series->confidence, findings);
	else if (!holds(resolved.op, sides.left.judged, sides.bound))
		add_finding(&resolved, &sides, findings);
}

bool hq_expectation_is_settled(const struct hq_expectation *expectation,
			       const struct hq_series *series)
{
	struct hq_findings ignored = { .count = 0 };
	struct sides sides = { 0 };
	double chance;

	if (!expectation->against_clean)
		return true;
	if (collect_sides(expectation, series, &sides, &ignored))
		return true;
	if (!hq_against_applies(expectation))
		return series->run_count >= EQUAL_RUNS;
	return ask_ranks(expectation, &sides, &series->confidence, &chance) == HQ_ANSWER_HOLDS;
}
