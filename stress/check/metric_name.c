/* SPDX-License-Identifier: MIT */
/*
 * Names of metrics. A name is matched against the patterns of the metric table: small letters stand
 * for themselves, upper-case words for what the user chooses ("rss.idle(T)",
 * "latency.CALL.QUANTILE", "inject.NAME.COUNTER"). Unknown names are answered with the nearest one.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/check/metric.h"
#include "stress/observe/calls.h"

static const char *const call_names[] = { "malloc", "free", "realloc", "op", NULL };
static const char *const latency_values[] = { "count", "max",   "mean",   "p50", "p90",
					      "p99",   "p99_9", "p99_99", NULL };
static const char *const call_values[] = { "count", "max", "time", NULL };
static const char *const windows[] = {
	[HQ_WINDOW_CLEAN] = "clean", [HQ_WINDOW_FAULTED] = "faulted", NULL
};
static const char *const rule_counters[] = { "eligible", "fired", "seen", NULL };

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int index_of(const char *word, size_t length, const char *const *list)
{
	for (int i = 0; list[i]; i++) {
		if (strlen(list[i]) == length && !strncmp(list[i], word, length))
			return i;
	}
	return -1;
}

static int find_row(const char *pattern, size_t *row)
{
	for (size_t i = 0; i < hq_metric_count; i++) {
		if (!strcmp(hq_metrics[i].pattern, pattern)) {
			*row = i;
			return 0;
		}
	}
	return -ENOENT;
}

static int unknown(struct hq_error *error, const char *what, const char *near)
{
	if (near)
		hq_error_set(error, "%s; did you mean '%s'?", what, near);
	else
		hq_error_set(error, "%s; `heapquake explain metrics` lists them all", what);
	return -ENOENT;
}

/* p50, p99_9: at most two digits before the '_' and three after it. */
static int parse_quantile(const char *text, double *quantile)
{
	char number[8];
	const size_t length = strlen(text);

	if (text[0] != 'p' || length < 2 || length > 7)
		return -ENOENT;
	const size_t whole = strspn(text + 1, "0123456789");
	const bool fraction = text[1 + whole] == '_';
	const size_t decimals = fraction ? strspn(text + 2 + whole, "0123456789") : 0;

	if (whole < 1 || whole > 2 || decimals > 3 || (fraction && decimals == 0) ||
	    1 + whole + fraction + decimals != length)
		return -ENOENT;
	snprintf(number, sizeof(number), "%.7s", text + 1);
	if (fraction)
		number[whole] = '.';
	*quantile = strtod(number, NULL) / 100.0;
	return *quantile > 0 ? 0 : -ENOENT;
}

/* malloc@4KiB: takes the band off *length. */
static int parse_band(const char *call, size_t *length, struct hq_metric_name *name,
		      struct hq_error *error)
{
	const char *at = memchr(call, '@', *length);
	const char *list[HQ_BAND_COUNT + 1] = { NULL };
	char word[32], what[160];

	if (!at)
		return 0;
	for (int band = 0; band < HQ_BAND_COUNT; band++)
		list[band] = hq_band_name((enum hq_band)band);
	const size_t size_length = *length - (size_t)(at + 1 - call);
	const int index = index_of(at + 1, size_length, list);

	if (index >= 0) {
		name->band = (enum hq_band)index;
		*length = (size_t)(at - call);
		return 0;
	}
	snprintf(word, sizeof(word), "%.*s", (int)size_length, at + 1);
	snprintf(what, sizeof(what),
		 "latency is kept apart by sizes @256B, @4KiB, @64KiB, @1MiB and @above, not '@%s'",
		 word);
	return unknown(error, what, hq_suggest(word, list));
}

/* p99.faulted: copies what stands before the window into `value`. A digit (p99.9) begins none. */
static int parse_window(const char *text, char value[24], struct hq_metric_name *name,
			struct hq_error *error)
{
	const char *dot = strchr(text, '.');
	const size_t length =
		dot && isalpha((unsigned char)dot[1]) ? (size_t)(dot - text) : strlen(text);
	char what[160];

	snprintf(value, 24, "%.*s", (int)length, text);
	if (!text[length])
		return 0;
	const char *word = text + length + 1;
	const int index = index_of(word, strlen(word), windows);

	if (index >= 0) {
		name->window = (enum hq_window)index;
		return 0;
	}
	snprintf(what, sizeof(what), "latency is kept apart as .clean and .faulted, not '.%.32s'",
		 word);
	return unknown(error, what, hq_suggest(word, windows));
}

/* latency.CALL.count, .max, .mean, .QUANTILE, each also with .clean or .faulted */
static int parse_latency(const char *text, struct hq_metric_name *name, struct hq_error *error)
{
	const char *call = text + strlen("latency.");
	size_t length = strcspn(call, ".");
	const char *rest = call[length] ? call + length + 1 : "";
	char pattern[40], what[160], word[32], value[24];

	if (parse_band(call, &length, name, error) || parse_window(rest, value, name, error))
		return -ENOENT;
	const int index = index_of(call, length, call_names);

	if (name->band != HQ_BAND_ALL && index == HQ_LATENCY_OP)
		return unknown(error, "an operation has no size; malloc, free and realloc have",
			       NULL);
	if (index < 0) {
		snprintf(word, sizeof(word), "%.*s", (int)length, call);
		snprintf(what, sizeof(what),
			 "no metric '%s': latency is of malloc, free, realloc or op", text);
		return unknown(error, what, hq_suggest(word, call_names));
	}
	name->call = (enum hq_latency)index;
	snprintf(pattern, sizeof(pattern), "latency.CALL.%.16s", value);
	if (find_row(pattern, &name->row) == 0 && strcmp(value, "QUANTILE"))
		return 0;
	if (parse_quantile(value, &name->quantile) == 0)
		return find_row("latency.CALL.QUANTILE", &name->row);
	snprintf(what, sizeof(what),
		 "no metric '%s': a latency has a quantile (p50, p99_9), max, mean and count",
		 text);
	return unknown(error, what, hq_suggest(value, latency_values));
}

/* The nearest name of the table, patterns with upper-case words included. */
static int unknown_plain(const char *text, struct hq_error *error)
{
	const char *list[128];
	size_t count = 0;
	char what[200];

	for (size_t i = 0; i < hq_metric_count && count < 127; i++)
		list[count++] = hq_metrics[i].pattern;
	list[count] = NULL;
	snprintf(what, sizeof(what), "no metric '%.100s'", text);
	return unknown(error, what, hq_suggest(text, list));
}

/* calls.KIND.count, .max, .time; the rest of calls.* has no kind. */
static int parse_calls(const char *text, struct hq_metric_name *name, struct hq_error *error)
{
	const char *kind = text + strlen("calls.");
	const size_t length = strcspn(kind, ".");
	const char *list[HQ_TRACED_COUNT + 1] = { NULL };
	char pattern[40], word[32], what[160];

	if (!kind[length])
		return find_row(text, &name->row) ? unknown_plain(text, error) : 0;
	for (int i = 0; i < HQ_TRACED_COUNT; i++)
		list[i] = hq_traced_name((enum hq_traced)i);
	const int index = index_of(kind, length, list);

	snprintf(word, sizeof(word), "%.*s", length < 31 ? (int)length : 31, kind);
	if (index < 0) {
		snprintf(what, sizeof(what), "calls of '%s' are not traced", word);
		return unknown(error, what, hq_suggest(word, list));
	}
	name->traced = (enum hq_traced)index;
	snprintf(pattern, sizeof(pattern), "calls.KIND.%.24s", kind + length + 1);
	if (find_row(pattern, &name->row) == 0)
		return 0;
	snprintf(what, sizeof(what), "no metric '%.100s': a call has count, max and time", text);
	return unknown(error, what, hq_suggest(kind + length + 1, call_values));
}

/* inject.NAME.COUNTER: a name may hold dots, so the last one counts. */
static int parse_inject(const char *text, struct hq_metric_name *name, struct hq_error *error)
{
	const char *start = text + strlen("inject.");
	const char *dot = strrchr(start, '.');

	if (!dot || dot == start || dot[1] == '\0' ||
	    (size_t)(dot - start) >= sizeof(name->inject) ||
	    strlen(dot + 1) >= sizeof(name->counter))
		return unknown(error,
			       "a count of faults is written inject.NAME.COUNTER, as in "
			       "inject.refuse-free.fired",
			       NULL);
	snprintf(name->inject, sizeof(name->inject), "%.*s", (int)(dot - start), start);
	snprintf(name->counter, sizeof(name->counter), "%s", dot + 1);
	name->any_unit = index_of(name->counter, strlen(name->counter), rule_counters) < 0;
	return find_row("inject.NAME.COUNTER", &name->row);
}

/* What stands in the brackets of rss.idle(T); the pattern it belongs to in `pattern`. */
static int parse_idle(const char *text, struct hq_metric_name *name, struct hq_error *error)
{
	const char *open = strchr(text, '(');
	const size_t length = strlen(text);
	char duration[32], pattern[40], what[200];
	struct hq_error detail;

	if (text[length - 1] != ')' || (size_t)(open - text) > 24 || strlen(open) > 24)
		return unknown(error, "a time in brackets is written as in rss.idle(2s)", NULL);
	snprintf(pattern, sizeof(pattern), "%.*s(T)", (int)(open - text), text);
	if (find_row(pattern, &name->row)) {
		static const char *const idles[] = { "rss.idle(T)", "rss.kept(T)", NULL };

		snprintf(what, sizeof(what), "no metric '%s'", text);
		return unknown(error, what, hq_suggest(pattern, idles));
	}
	snprintf(duration, sizeof(duration), "%.*s", (int)strlen(open) - 2, open + 1);
	if (hq_units_parse_duration(duration, &name->idle_ns, &detail)) {
		hq_error_set(error, "the time in '%s' is wrong: %s", text, detail.text);
		return -ENOENT;
	}
	return 0;
}

int hq_metric_name_parse(const char *text, struct hq_metric_name *name, struct hq_error *error)
{
	memset(name, 0, sizeof(*name));
	name->band = HQ_BAND_ALL;
	name->window = HQ_WINDOW_ALL;
	if (starts_with(text, "calls."))
		return parse_calls(text, name, error);
	if (starts_with(text, "latency."))
		return parse_latency(text, name, error);
	if (starts_with(text, "inject."))
		return parse_inject(text, name, error);
	if (strchr(text, '('))
		return parse_idle(text, name, error);
	if (find_row(text, &name->row))
		return unknown_plain(text, error);
	return 0;
}
