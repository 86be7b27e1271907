/* SPDX-License-Identifier: MIT */
/*
 * Choosing metrics. Each is entered once, and one that was not observed is left out.
 */
#include "stress/control/case_metrics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "stress/observe/calls.h"

static void add_metric(struct hq_result *result, const struct hq_observations *seen,
		       const char *name)
{
	struct hq_result_metric *metric = &result->metrics[result->metric_count];
	struct hq_error ignored;

	for (size_t i = 0; i < result->metric_count; i++)
		if (!strcmp(result->metrics[i].name, name))
			return;
	if (result->metric_count == HQ_RESULT_METRICS ||
	    hq_metric_get(seen, name, &metric->value, &metric->unit, &ignored))
		return;
	snprintf(metric->name, sizeof(metric->name), "%s", name);
	result->metric_count++;
}

/* What an injector achieved, all of it. */
static void add_measures(struct hq_result *result, const struct hq_observations *seen,
			 const struct hq_injection_result *injection)
{
	for (size_t i = 0; i < injection->measure_count; i++) {
		char name[sizeof(result->metrics[0].name)];

		snprintf(name, sizeof(name), "inject.%.31s.%.31s", injection->name,
			 injection->measures[i].name);
		add_metric(result, seen, name);
	}
}

/* A pattern with words that the user chooses is no name. */
static bool is_pattern(const char *pattern)
{
	while (*pattern && !isupper((unsigned char)*pattern))
		pattern++;
	return *pattern;
}

static void add_latencies(struct hq_result *result, const struct hq_observations *seen)
{
	static const char *const calls[] = { "malloc", "free", "realloc", "op" };
	static const char *const values[] = { "mean", "p50", "p99", "p99_9", "p99_99", "max" };
	char name[sizeof(result->metrics[0].name)];

	for (size_t call = 0; call < sizeof(calls) / sizeof(calls[0]); call++) {
		for (size_t value = 0; value < sizeof(values) / sizeof(values[0]); value++) {
			snprintf(name, sizeof(name), "latency.%s.%s", calls[call], values[value]);
			add_metric(result, seen, name);
		}
	}
}

/* Those that tell what a size is for an allocator; the bands of the rest can be asked for. */
static void add_bands(struct hq_result *result, const struct hq_observations *seen)
{
	static const char *const calls[HQ_LATENCY_SIZED] = { "malloc", "free", "realloc" };
	static const char *const values[] = { "p50", "p99", "p99_9" };
	char name[sizeof(result->metrics[0].name)];

	for (size_t i = 0; i < HQ_LATENCY_SIZED * HQ_BAND_COUNT; i++) {
		for (size_t value = 0; value < sizeof(values) / sizeof(values[0]); value++) {
			snprintf(name, sizeof(name), "latency.%s@%s.%s", calls[i / HQ_BAND_COUNT],
				 hq_band_name((enum hq_band)(i % HQ_BAND_COUNT)), values[value]);
			add_metric(result, seen, name);
		}
	}
}

static void add_apart(struct hq_result *result, const struct hq_observations *seen,
		      const char *call, const char *value)
{
	char name[sizeof(result->metrics[0].name)];

	snprintf(name, sizeof(name), "latency.%s.%s.clean", call, value);
	add_metric(result, seen, name);
	snprintf(name, sizeof(name), "latency.%s.%s.faulted", call, value);
	add_metric(result, seen, name);
}

/* In clean and in faulted windows. */
static void add_windows(struct hq_result *result, const struct hq_observations *seen)
{
	static const char *const calls[] = { "malloc", "free", "realloc", "op" };
	static const char *const values[] = { "count", "p50", "p99", "p99_9", "max" };
	char call[24];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (size_t value = 0; value < sizeof(values) / sizeof(values[0]); value++)
			add_apart(result, seen, calls[i], values[value]);
	for (size_t i = 0; i < HQ_LATENCY_SIZED * HQ_BAND_COUNT; i++) {
		snprintf(call, sizeof(call), "%s@%s", calls[i / HQ_BAND_COUNT],
			 hq_band_name((enum hq_band)(i % HQ_BAND_COUNT)));
		add_apart(result, seen, call, "p99");
	}
}

static void add_calls(struct hq_result *result, const struct hq_observations *seen)
{
	static const char *const values[] = { "count", "time", "max" };
	char name[sizeof(result->metrics[0].name)];

	for (int kind = 0; kind < HQ_TRACED_COUNT; kind++) {
		for (size_t value = 0; value < sizeof(values) / sizeof(values[0]); value++) {
			snprintf(name, sizeof(name), "calls.%s.%s",
				 hq_traced_name((enum hq_traced)kind), values[value]);
			add_metric(result, seen, name);
		}
	}
}

static void add_all(struct hq_result *result, const struct hq_observations *seen)
{
	for (size_t row = 0; row < hq_metric_count; row++) {
		if (!is_pattern(hq_metrics[row].pattern))
			add_metric(result, seen, hq_metrics[row].pattern);
	}
	add_latencies(result, seen);
	add_bands(result, seen);
	add_calls(result, seen);
	if (hq_latency_was_faulted(seen))
		add_windows(result, seen);
}

static void add_part(struct hq_result *result, const struct hq_workload_part *part,
		     const struct hq_part_seen *seen)
{
	struct hq_result_part *added = &result->parts[result->part_count];
	const double runs = (double)seen->runs;

	if (seen->runs == 0)
		return;
	*added = (struct hq_result_part){ .runs = seen->runs,
					  .wall_ns = (double)seen->wall_ns / runs,
					  .cpu_ns = (double)seen->cpu_ns / runs,
					  .faults = (double)seen->faults / runs };
	snprintf(added->name, sizeof(added->name), "%s", part->name);
	snprintf(added->group, sizeof(added->group), "%s", part->group);
	result->part_count++;
}

static void add_parts(struct hq_result *result, const struct hq_plan *plan,
		      const struct hq_observations *seen)
{
	const struct hq_workload_part *parts = plan->workload ? plan->workload->parts : NULL;

	for (size_t i = 0; parts && seen->parts && parts[i].name && i < HQ_WIRE_PARTS; i++)
		add_part(result, &parts[i], &seen->parts[i]);
}

void hq_case_fill_metrics(const struct hq_plan *plan, const struct hq_observations *seen, bool all,
			  struct hq_result *result)
{
	static const char *const always[] = {
		"rss.peak",           "rss.tree_peak",    "rss.end",      "time.wall",
		"time.work",          "ops.count",        "heap.nulls",   "latency.malloc.p99_9",
		"latency.free.p99_9", "latency.op.p99_9", "faults.minor", "cpu.total",
		"cpu.user",           "cpu.system",       "guard.calls",  "guard.left_blocks",
		"guard.left_bytes"
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		add_metric(result, seen, always[i]);
	if (hq_latency_was_faulted(seen))
		add_apart(result, seen, "op", "p99_9");
	for (size_t i = 0; i < plan->expectation_count; i++)
		add_metric(result, seen, plan->expectations[i].metric);
	for (size_t i = 0; i < seen->injection_count; i++)
		add_measures(result, seen, &seen->injections[i]);
	if (all)
		add_all(result, seen);
	add_parts(result, plan, seen);
	result->rule_count = seen->rule_count;
	memcpy(result->rules, seen->rules, sizeof(result->rules));
}
