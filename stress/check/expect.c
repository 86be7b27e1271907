/* SPDX-License-Identifier: MIT */
/*
 * The expectation language: reading. An expectation is `metric op value`; units are compulsory and
 * are checked against the metric's own, so that a wrong one is found before anything runs. What an
 * expectation says about a run is in judge.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/check/metric.h"
#include "stress/check/value.h"

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " \t");
}

/* Length of a metric's name at `text`: letters, digits, '.', '_', '-', '@' and a bracket's content.
 */
static size_t name_length(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-@";
	size_t length = strspn(text, letters);

	if (length > 0 && text[length] == '(') {
		length += strcspn(text + length, ")");
		length += text[length] == ')';
	}
	return length;
}

static int copy_name(const char *text, size_t length, char *name, size_t size,
		     struct hq_error *error)
{
	if (length >= size)
		return hq_error_set(error, "at '%.40s...': the name is too long for any metric",
				    text);
	memcpy(name, text, length);
	name[length] = '\0';
	return 0;
}

/* Any metric on either side: known, and observable for this kind of target. */
static int check_metric(const char *text, bool is_host, struct hq_metric_name *name,
			struct hq_error *error)
{
	struct hq_error detail;

	if (hq_metric_name_parse(text, name, &detail))
		return hq_error_set(error, "at '%s': %s", text, detail.text);
	if (hq_metrics[name->row].host_only && !is_host)
		return hq_error_set(
			error,
			"at '%s': only a built-in workload has this metric, a program has not",
			text);
	return 0;
}

static int parse_operator(const char **text, char op[3], struct hq_error *error)
{
	/* The longer ones first. */
	static const char *const operators[] = { "<=", ">=", "==", "!=", "<", ">" };

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		const size_t length = strlen(operators[i]);

		if (strncmp(*text, operators[i], length))
			continue;
		memcpy(op, operators[i], length + 1);
		*text += length;
		return 0;
	}
	if (**text == '\0')
		return hq_error_set(error, "after the metric a comparison is missing: one of "
					   "<= >= < > == !=");
	return hq_error_set(error, "at '%.40s': expected one of <= >= < > == !=", *text);
}

/* "64KiB/s": a size and what it is per. */
static int parse_size_rate(const char *text, uint64_t *bytes, struct hq_error *error)
{
	const size_t length = strlen(text);
	char size[HQ_UNITS_TEXT];

	if (length < 3 || length - 2 >= sizeof(size) || strcmp(text + length - 2, "/s") != 0)
		return hq_error_set(error, "'%.40s' is no size per second", text);
	memcpy(size, text, length - 2);
	size[length - 2] = '\0';
	return hq_units_parse_size(size, bytes, error);
}

static int parse_constant(const char *text, enum hq_unit unit, double *value,
			  struct hq_error *error)
{
	uint64_t whole = 0;
	int status = 0;

	switch (unit) {
	case HQ_UNIT_BYTES:
		status = hq_units_parse_size(text, &whole, error);
		break;
	case HQ_UNIT_NS:
		status = hq_units_parse_duration(text, &whole, error);
		break;
	case HQ_UNIT_COUNT:
		status = hq_units_parse_count(text, &whole, error);
		break;
	case HQ_UNIT_PER_SECOND:
		return hq_units_parse_rate(text, value, error);
	case HQ_UNIT_SHARE:
		return hq_units_parse_share(text, value, error);
	case HQ_UNIT_BYTES_PER_SECOND:
		status = parse_size_rate(text, &whole, error);
		break;
	}
	if (status == 0)
		*value = (double)whole;
	return status;
}

/* A number with its unit, to the end of the text. */
static int parse_value(const char *text, enum hq_unit unit, double *value, struct hq_error *error)
{
	struct hq_error detail;

	if (*text == '\0')
		return hq_error_set(error, "at the end a value is missing, such as %s",
				    hq_unit_example(unit));
	if (parse_constant(text, unit, value, &detail))
		return hq_error_set(error, "at '%.60s': %s; this metric is a %s, written as in %s",
				    text, detail.text, hq_unit_words(unit), hq_unit_example(unit));
	return 0;
}

/* An injector's own measure has the unit that the value is written with. */
static int parse_any_value(const char *text, enum hq_unit *unit, double *value,
			   struct hq_error *error)
{
	static const enum hq_unit units[] = { HQ_UNIT_COUNT, HQ_UNIT_BYTES, HQ_UNIT_NS,
					      HQ_UNIT_PER_SECOND };
	struct hq_error detail;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (parse_constant(text, units[i], value, &detail) == 0) {
			*unit = units[i];
			return 0;
		}
	}
	return hq_error_set(
		error,
		"at '%.60s': expected a number with the unit that the injector measures in, "
		"such as 10k, 64MiB, 5us or 100/s",
		text);
}

/* `3 *` or `1.5 *` in front of `clean` or a metric. Leaves *text alone when there is none. */
static bool parse_factor(const char **text, double *factor)
{
	char number[32];
	const size_t whole = strspn(*text, "0123456789");
	size_t length = whole;

	if (whole > 0 && (*text)[length] == '.')
		length += 1 + strspn(*text + length + 1, "0123456789");
	const char *after = skip_spaces(*text + length);

	if (length == 0 || length >= sizeof(number) || *after != '*')
		return false;
	memcpy(number, *text, length);
	number[length] = '\0';
	*factor = strtod(number, NULL);
	*text = skip_spaces(after + 1);
	return true;
}

static int check_other(struct hq_expectation *expectation, const struct hq_metric_name *left,
		       bool is_host, struct hq_error *error)
{
	struct hq_metric_name right;
	const int status = check_metric(expectation->other, is_host, &right, error);

	if (status)
		return status;
	if (left->any_unit || right.any_unit || hq_metrics[right.row].unit == expectation->unit)
		return 0;
	return hq_error_set(error, "at '%s': a %s cannot be compared with a %s", expectation->other,
			    hq_unit_words(expectation->unit),
			    hq_unit_words(hq_metrics[right.row].unit));
}

/* `clean` or a metric, then perhaps `+ constant`. */
static int parse_reference(const char *text, bool is_host, const struct hq_metric_name *left,
			   struct hq_expectation *expectation, struct hq_error *error)
{
	const size_t length = name_length(text);
	int status = copy_name(text, length, expectation->other, sizeof(expectation->other), error);

	if (status)
		return status;
	if (length == 0)
		return hq_error_set(error, "at '%.40s': expected `clean` or a metric", text);
	if (!strcmp(expectation->other, "clean")) {
		expectation->other[0] = '\0';
		expectation->against_clean = true;
		if (left->inject[0])
			return hq_error_set(error,
					    "at 'clean': nothing is injected in the clean runs, "
					    "so %s has no clean value",
					    expectation->metric);
	} else {
		status = check_other(expectation, left, is_host, error);
		if (status)
			return status;
	}
	text = skip_spaces(text + length);
	if (*text == '\0')
		return 0;
	if (*text != '+')
		return hq_error_set(error,
				    "at '%.40s': expected the end, or + and a value such as %s",
				    text, hq_unit_example(expectation->unit));
	text = skip_spaces(text + 1);
	if (left->any_unit)
		return parse_any_value(text, &expectation->unit, &expectation->constant, error);
	return parse_value(text, expectation->unit, &expectation->constant, error);
}

static bool starts_reference(const char *text)
{
	return (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
}

static int parse_right(const char *text, bool is_host, const struct hq_metric_name *left,
		       struct hq_expectation *expectation, struct hq_error *error)
{
	expectation->factor = 1.0;
	if (parse_factor(&text, &expectation->factor) || starts_reference(text))
		return parse_reference(text, is_host, left, expectation, error);
	expectation->factor = 0.0;
	if (left->any_unit && *text)
		return parse_any_value(text, &expectation->unit, &expectation->constant, error);
	return parse_value(text, expectation->unit, &expectation->constant, error);
}

/* The text as it was written, without spaces around it. */
static int keep_text(const char *text, struct hq_expectation *expectation, struct hq_error *error)
{
	text = skip_spaces(text);
	size_t length = strlen(text);

	while (length > 0 && strchr(" \t\n", text[length - 1]))
		length--;
	if (length >= sizeof(expectation->text))
		return hq_error_set(error, "an expectation has at most %zu characters",
				    sizeof(expectation->text) - 1);
	memcpy(expectation->text, text, length);
	expectation->text[length] = '\0';
	return 0;
}

int hq_expectation_parse(const char *text, bool is_host, struct hq_expectation *expectation,
			 struct hq_error *error)
{
	struct hq_expectation made = { 0 };
	struct hq_metric_name name;
	int status = keep_text(text, &made, error);

	if (status)
		return status;
	const char *at = made.text;
	const size_t length = name_length(at);

	if (length == 0)
		return hq_error_set(error, "at '%.40s': expected a metric, as in rss.peak <= 64MiB",
				    at);
	status = copy_name(at, length, made.metric, sizeof(made.metric), error);
	if (status)
		return status;
	status = check_metric(made.metric, is_host, &name, error);
	if (status)
		return status;
	at = skip_spaces(at + length);
	made.unit = hq_metrics[name.row].unit;
	status = parse_operator(&at, made.op, error);
	if (status)
		return status;
	status = parse_right(skip_spaces(at), is_host, &name, &made, error);
	if (status == 0)
		*expectation = made;
	return status;
}

static uint64_t idle_ns(const char *metric)
{
	struct hq_metric_name name;
	struct hq_error ignored;

	if (metric[0] == '\0' || hq_metric_name_parse(metric, &name, &ignored))
		return 0;
	return name.idle_ns;
}

uint64_t hq_expectation_idle_ns(const struct hq_expectation *expectation)
{
	const uint64_t left = idle_ns(expectation->metric), right = idle_ns(expectation->other);

	return left > right ? left : right;
}

static bool asks_for_nulls(const struct hq_expectation *expectation)
{
	return (!strcmp(expectation->metric, "heap.nulls") ||
		!strcmp(expectation->metric, "heap.last_null")) &&
	       (expectation->op[0] == '>' || expectation->op[0] == '!');
}

bool hq_expectation_needs_faults(const struct hq_expectation *expectation)
{
	char name[64];

	return hq_expectation_inject_name(expectation, name)[0] || asks_for_nulls(expectation);
}

static uint32_t metric_takes(const char *metric)
{
	static const struct {
		const char *room;
		uint32_t takes;
	} rooms[] = {
		{ "calls.", HQ_TAKES_CALLS },
		{ "hardware.", HQ_TAKES_COUNTERS },
		{ "perf.", HQ_TAKES_COUNTERS },
		{ "stats.", HQ_TAKES_STATS },
	};

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		if (!strncmp(metric, rooms[i].room, strlen(rooms[i].room)))
			return rooms[i].takes;
	return 0;
}

uint32_t hq_expectation_takes(const struct hq_expectation *expectation)
{
	return metric_takes(expectation->metric) | metric_takes(expectation->other);
}

const char *hq_expectation_inject_name(const struct hq_expectation *expectation, char name[64])
{
	const char *const metrics[] = { expectation->metric, expectation->other };
	struct hq_metric_name parsed;
	struct hq_error ignored;

	name[0] = '\0';
	for (size_t i = 0; i < 2 && name[0] == '\0'; i++) {
		if (metrics[i][0] && hq_metric_name_parse(metrics[i], &parsed, &ignored) == 0)
			memcpy(name, parsed.inject, sizeof(parsed.inject));
	}
	return name;
}
