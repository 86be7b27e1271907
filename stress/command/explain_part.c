/* SPDX-License-Identifier: MIT */
/*
 * Explaining the parts that scenarios are made of, from their tables. A name may belong to several
 * parts (a checker and a topic, say): all are printed.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "injectors/injector.h"
#include "injectors/units.h"
#include "stress/check/asked.h"
#include "stress/plan/allocator.h"
#include "stress/command/explain.h"
#include "stress/observe/counters.h"
#include "stress/plan/scenario.h"
#include "stress/workload/workload.h"

/* ---- options ---- */

static const char *kind_name(enum hq_option_kind kind)
{
	static const char *const kinds[] = {
		[HQ_OPTION_BOOL] = "true|false", [HQ_OPTION_COUNT] = "COUNT",
		[HQ_OPTION_SIZE] = "SIZE",       [HQ_OPTION_DURATION] = "DURATION",
		[HQ_OPTION_RATE] = "RATE",       [HQ_OPTION_SHARE] = "SHARE",
		[HQ_OPTION_ENUM] = "",           [HQ_OPTION_TEXT] = "TEXT",
		[HQ_OPTION_SIZES] = "SIZES",
	};

	return kinds[kind];
}

static void print_kind(const struct hq_option *option)
{
	char text[200];
	size_t length = 0;

	snprintf(text, sizeof(text), "%s", kind_name(option->kind));
	for (size_t i = 0;
	     option->kind == HQ_OPTION_ENUM && option->choices[i] && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? "|" : "", option->choices[i]);
	printf("  %-16s %-12s", option->name, text);
}

static const char *print_number(enum hq_option_kind kind, uint64_t value, char text[HQ_UNITS_TEXT])
{
	if (kind == HQ_OPTION_DURATION)
		return hq_units_print_duration(text, value);
	if (kind == HQ_OPTION_SIZE || kind == HQ_OPTION_SIZES)
		return hq_units_print_size(text, value);
	return hq_units_print_count(text, value);
}

static void print_range(const struct hq_option *option)
{
	char min[HQ_UNITS_TEXT], max[HQ_UNITS_TEXT];

	if (option->max)
		printf(", %s to %s", print_number(option->kind, option->min, min),
		       print_number(option->kind, option->max, max));
	else if (option->min)
		printf(", at least %s", print_number(option->kind, option->min, min));
}

void hq_explain_options(const struct hq_option *table, const char *missing)
{
	for (const struct hq_option *option = table; option && option->name; option++) {
		print_kind(option);
		printf(" %s\n%32s", option->help, "");
		if (!option->fallback)
			printf("%s", missing);
		else if (option->fallback[0])
			printf("default %s", option->fallback);
		else
			printf("default \"\"");
		print_range(option);
		putchar('\n');
	}
}

/* ---- metrics ---- */

static const char *unit_name(enum hq_unit unit)
{
	static const char *const units[] = {
		[HQ_UNIT_COUNT] = "count", [HQ_UNIT_BYTES] = "bytes",
		[HQ_UNIT_NS] = "time",     [HQ_UNIT_PER_SECOND] = "per second",
		[HQ_UNIT_SHARE] = "share", [HQ_UNIT_BYTES_PER_SECOND] = "bytes per second",
	};

	return units[unit];
}

/* A counter that this machine does not have gives no value, which is better known before. */
static void print_counter(const char *metric)
{
	const enum hq_counter counter = hq_counter_find(metric);
	const int status = counter < HQ_COUNTER_COUNT ? hq_counter_probe(counter) : 0;

	if (status < 0)
		printf("  missing here: %s\n", hq_counter_why(status));
	else if (status > 0)
		puts("  here: of user code only");
}

static void print_metric(const struct hq_metric_info *metric)
{
	printf("%s (%s%s)\n  %s\n  source: %s\n", metric->pattern, unit_name(metric->unit),
	       metric->host_only ? ", built-in workloads only" : "", metric->help, metric->source);
	print_counter(metric->pattern);
}

void hq_explain_metrics(void)
{
	for (size_t i = 0; i < hq_metric_count; i++)
		print_metric(&hq_metrics[i]);
}

/* One part of a name, up to '.' or '(', against one of a pattern: upper case there means anything.
 */
static bool component_fits(const char *pattern, size_t pattern_length, const char *name,
			   size_t name_length)
{
	if (pattern_length && isupper((unsigned char)pattern[0]))
		return name_length > 0;
	return pattern_length == name_length && strncmp(pattern, name, name_length) == 0;
}

static bool metric_fits(const char *pattern, const char *name)
{
	static const char ends[] = ".()";

	for (;;) {
		const size_t pattern_length = strcspn(pattern, ends);
		const size_t name_length = strcspn(name, ends);

		if (!component_fits(pattern, pattern_length, name, name_length) ||
		    pattern[pattern_length] != name[name_length])
			return false;
		if (!pattern[pattern_length])
			return true;
		pattern += pattern_length + 1;
		name += name_length + 1;
	}
}

/* latency.CALL.count is a better answer to latency.free.count than latency.CALL.QUANTILE. */
static bool ends_alike(const char *pattern, const char *name)
{
	const char *one = strrchr(pattern, '.'), *other = strrchr(name, '.');

	return one && other && strcmp(one, other) == 0;
}

static bool explain_metric(const char *name)
{
	const struct hq_metric_info *best = NULL;

	for (size_t i = 0; i < hq_metric_count; i++) {
		if (metric_fits(hq_metrics[i].pattern, name) &&
		    (!best || ends_alike(hq_metrics[i].pattern, name)))
			best = &hq_metrics[i];
	}
	if (best)
		print_metric(best);
	return best;
}

/* ---- the others ---- */

static bool explain_workload(const char *name)
{
	const struct hq_workload *workload = hq_workload_find(name);

	if (!workload)
		return false;
	printf("workload %s: %s\n", workload->name, workload->help);
	hq_explain_options(workload->options, "compulsory");
	return true;
}

static bool explain_injector(const char *name)
{
	const struct hq_injector *injector = hq_injector_find(name);

	if (!injector)
		return false;
	printf("injector %s: %s\n", injector->name, injector->help);
	hq_explain_options(injector->options, "compulsory");
	return true;
}

static bool explain_checker(const char *name)
{
	struct hq_error ignored;
	const struct hq_checker *checker = hq_checker_find(name, strlen(name), &ignored);

	if (!checker)
		return false;
	printf("checker %s: %s\n  needs: %s\n", name, checker->promise, checker->needs);
	if (checker->on_request)
		printf("  on request: contracts: [%s], or --contract=%s\n", name, name);
	hq_explain_options(checker->options, "compulsory");
	return true;
}

static bool explain_allocator(const char *name)
{
	if (!hq_allocator_is_known(name))
		return false;
	printf("allocator %s: %s\n", name, hq_allocator_help(name));
	return true;
}

static const char *condition_name(enum hq_contract_condition condition)
{
	switch (condition) {
	case HQ_CONDITION_NONE:
		break;
	case HQ_CONDITION_SPLIT:
		return "where the range lies strictly inside one mapping";
	case HQ_CONDITION_COMMIT:
		return "where private memory becomes writable, or a mapping is split";
	case HQ_CONDITION_GROW:
		return "where it would grow";
	case HQ_CONDITION_ANON:
		return "where the mapping is anonymous";
	}
	return "any such call";
}

static void print_advices(uint64_t advices)
{
	const char *separator = " advice ";

	for (int advice = 0; advice < 64; advice++) {
		const char *name = advices >> advice & 1 ? hq_advice_name(advice) : NULL;

		if (name)
			printf("%s%s", separator, name);
		separator = name ? "," : separator;
	}
}

void hq_explain_contract_row(const struct hq_contract_row *row)
{
	static const char *const actions[] = {
		[HQ_ACTION_FAIL] = "fails with",
		[HQ_ACTION_LIE] = "lies",
		[HQ_ACTION_DELAY] = "is delayed",
		[HQ_ACTION_SHRINK] = "is cut short",
	};

	printf("  %s %s%s%s", hq_call_name(row->call), actions[row->action], row->error ? " " : "",
	       row->error ? hq_errno_name(row->error) : "");
	print_advices(row->advices);
	printf(": %s\n    returns %s; leaves %s\n    source: %s\n", condition_name(row->condition),
	       row->returns, row->leaves, row->source);
}

static bool explain_call(const char *name)
{
	bool found = false;

	for (unsigned call = 0; call < HQ_CALL_COUNT; call++)
		found = found || strcmp(hq_call_name((enum hq_call)call), name) == 0;
	if (!found)
		return false;
	printf("call %s: what a kernel may do to it, and so what a rule may\n", name);
	for (size_t i = 0; i < hq_contract_count; i++) {
		if (strcmp(hq_call_name(hq_contract[i].call), name) == 0)
			hq_explain_contract_row(&hq_contract[i]);
	}
	return true;
}

/* A key of a scenario file, in every section that has it. */
static bool explain_key(const char *name)
{
	bool found = false;

	for (const struct hq_scenario_key *key = hq_scenario_keys; key->section; key++) {
		if (strcmp(key->name, name) != 0)
			continue;
		printf("key %s%s%s: %s\n", key->section, key->section[0] ? "." : "", name,
		       key->help);
		found = true;
	}
	if (!hq_option_find(hq_run_option_table, name))
		return found;
	puts("key of run:");
	return hq_explain_run_options(name);
}

bool hq_explain_part(const char *name)
{
	bool found = explain_workload(name);

	found = explain_injector(name) || found;
	found = explain_checker(name) || found;
	found = explain_metric(name) || found;
	found = explain_call(name) || found;
	found = explain_allocator(name) || found;
	return explain_key(name) || found;
}

static size_t add(const char **names, size_t count, size_t room, const char *name)
{
	if (count < room)
		names[count++] = name;
	return count;
}

size_t hq_explain_part_names(const char **names, size_t count, size_t room)
{
	for (size_t i = 0; hq_workloads[i]; i++)
		count = add(names, count, room, hq_workloads[i]->name);
	for (size_t i = 0; hq_injectors[i]; i++)
		count = add(names, count, room, hq_injectors[i]->name);
	for (size_t i = 0; hq_checkers[i]; i++)
		count = add(names, count, room, hq_checkers[i]->name);
	for (size_t i = 0; i < hq_metric_count; i++)
		count = add(names, count, room, hq_metrics[i].pattern);
	for (unsigned call = 0; call < HQ_CALL_COUNT; call++)
		count = add(names, count, room, hq_call_name((enum hq_call)call));
	for (const char *const *name = hq_allocator_names(); *name; name++)
		count = add(names, count, room, *name);
	for (const struct hq_scenario_key *key = hq_scenario_keys; key->section; key++)
		count = add(names, count, room, key->name);
	for (const struct hq_option *option = hq_run_option_table; option->name; option++)
		count = add(names, count, room, option->name);
	return count;
}
