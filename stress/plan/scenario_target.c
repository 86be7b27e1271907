/* SPDX-License-Identifier: MIT */
/*
 * The sections `target`, `workload` and `run` of a scenario.
 */
#include "stress/plan/scenario_parts.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/guard.h"
#include "stress/plan/words.h"

/* ---- target ---- */

static void read_allocator(struct hq_reading *reading, const struct hq_yaml *value)
{
	const size_t count = value->kind == HQ_YAML_LIST ? value->count : 1;
	struct hq_error error;

	reading->scenario->allocators = hq_read_words(reading, value, "allocator");
	for (size_t i = 0; reading->scenario->allocators && i < count; i++) {
		if (hq_allocator_check_name(reading->scenario->allocators[i], &error))
			hq_complain(reading->complaints,
				    value->kind == HQ_YAML_LIST ? value->values[i] : value, "%s",
				    error.text);
	}
}

static bool is_variable_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	}
	return true;
}

/* Variables that heapquake sets itself, and what to do instead. */
static const char *reserved_variable(const char *name)
{
	if (strcmp(name, "LD_PRELOAD") == 0)
		return "name the library under 'allocator'";
	if (strncmp(name, "HEAPQUAKE_", 10) == 0)
		return "it has no use in a scenario";
	return NULL;
}

static void read_variable(struct hq_reading *reading, const struct hq_yaml *key,
			  const struct hq_yaml *value)
{
	const char *reserved = reserved_variable(key->text);
	const char *text = value->text;
	char *pair;

	if (!is_variable_name(key->text)) {
		hq_complain(reading->complaints, key, "'%s' is no name of an environment variable",
			    key->text);
		return;
	}
	if (reserved) {
		hq_complain(reading->complaints, key, "%s is set by heapquake; %s", key->text,
			    reserved);
		return;
	}
	/* An empty value is a value here. */
	if (value->kind != HQ_YAML_SCALAR && !hq_read_text(reading, value, key->text))
		return;
	if (asprintf(&pair, "%s=%s", key->text, text) < 0)
		return;
	if (hq_words_add(&reading->scenario->plan.env, pair))
		hq_complain(reading->complaints, value, "out of memory");
	free(pair);
}

static void read_env(struct hq_reading *reading, const struct hq_yaml *value)
{
	if (!hq_read_map(reading, value, "env"))
		return;
	for (size_t i = 0; i < value->count; i++)
		read_variable(reading, value->keys[i], value->values[i]);
}

static char **read_command_line(struct hq_reading *reading, const struct hq_yaml *value,
				const char *what)
{
	struct hq_error error;
	char **words;

	if (value->kind != HQ_YAML_SCALAR) {
		words = hq_read_words(reading, value, what);
	} else if (hq_words_split(value->text, &words, &error)) {
		hq_complain(reading->complaints, value, "%s: %s", what, error.text);
		return NULL;
	} else if (!words) {
		hq_complain(reading->complaints, value, "%s is empty", what);
	}
	return words;
}

static void read_command(struct hq_reading *reading, const struct hq_yaml *value)
{
	reading->scenario->plan.command = read_command_line(reading, value, "command");
}

static void read_driver(struct hq_reading *reading, const struct hq_yaml *value)
{
	reading->scenario->plan.driver = read_command_line(reading, value, "driver");
	if (reading->scenario->plan.is_host)
		hq_complain(reading->complaints, value, "a driver needs a 'command' to drive");
}

static void read_needs(struct hq_reading *reading, const struct hq_yaml *value)
{
	reading->scenario->plan.needs = hq_read_words(reading, value, "needs");
}

static void read_ready_file(struct hq_reading *reading, const struct hq_yaml *value)
{
	hq_read_text_into(reading, value, "file", reading->scenario->plan.ready_file,
			  sizeof(reading->scenario->plan.ready_file));
}

static void read_ready(struct hq_reading *reading, const struct hq_yaml *value)
{
	static const struct hq_section keys[] = { { "file", read_ready_file }, { NULL, NULL } };

	if (hq_read_map(reading, value, "ready"))
		hq_read_sections(reading, value, "ready", keys);
}

/* With or without SIG; 0 for an unknown one. */
static int signal_by_name(const char *name)
{
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int number = 1; number < SIGRTMIN; number++) {
		const char *known = sigabbrev_np(number);

		if (known && strcmp(known, name) == 0)
			return number;
	}
	return 0;
}

static void read_guard(struct hq_reading *reading, const struct hq_yaml *value)
{
	const char *text = hq_read_text(reading, value, "guard");
	struct hq_error error;

	if (text && hq_guard_parse(text, &reading->scenario->plan, &error))
		hq_complain(reading->complaints, value, "guard: %s", error.text);
}

static void read_stop(struct hq_reading *reading, const struct hq_yaml *value)
{
	const char *name = hq_read_text(reading, value, "stop");
	const int number = name ? signal_by_name(name) : 0;

	if (name && !number)
		hq_complain(reading->complaints, value,
			    "'%s' is no signal; write SIGTERM, SIGINT, ...", name);
	else if (number)
		reading->scenario->plan.stop_signal = number;
}

void hq_read_target(struct hq_reading *reading, const struct hq_yaml *value)
{
	static const struct hq_section keys[] = {
		{ "allocator", read_allocator },
		{ "env", read_env },
		{ "command", read_command },
		{ "driver", read_driver },
		{ "needs", read_needs },
		{ "ready", read_ready },
		{ "stop", read_stop },
		{ "guard", read_guard },
		{ NULL, NULL },
	};

	if (hq_read_map(reading, value, "target"))
		hq_read_sections(reading, value, "target", keys);
}

/* ---- workload ---- */

static const struct hq_workload *find_workload(struct hq_reading *reading,
					       const struct hq_yaml *name)
{
	const struct hq_workload *workload = hq_workload_find(name->text);
	const char *names[64] = { NULL };
	char hint[96];

	if (workload)
		return workload;
	for (size_t i = 0; hq_workloads[i] && i + 1 < 64; i++)
		names[i] = hq_workloads[i]->name;
	hq_complain(reading->complaints, name, "unknown workload '%s'%s", name->text,
		    hq_did_you_mean(name->text, names, hint, sizeof(hint)));
	return NULL;
}

static void read_workload_options(struct hq_reading *reading, const struct hq_yaml *name,
				  const struct hq_yaml *map)
{
	struct hq_plan *plan = &reading->scenario->plan;
	const struct hq_workload *workload = find_workload(reading, name);
	const size_t complaints_before = reading->complaints->count;
	struct hq_error error;
	char where[96];

	if (!workload)
		return;
	plan->workload = workload;
	snprintf(where, sizeof(where), "workload %s", workload->name);
	if (hq_options_default(workload->options, plan->workload_options, &error)) {
		hq_complain(reading->complaints, name, "%s", error.text);
		return;
	}
	hq_read_options(reading, map, where, workload->options, plan->workload_options, NULL);
	if (reading->complaints->count == complaints_before && workload->validate &&
	    workload->validate(plan->workload_options, &error))
		hq_complain(reading->complaints, name, "%s: %s", where, error.text);
}

void hq_read_workload(struct hq_reading *reading, const struct hq_yaml *value)
{
	const struct hq_yaml nothing = {
		.kind = HQ_YAML_MAP,
		.line = value->line,
		.column = value->column,
	};

	if (value->kind == HQ_YAML_SCALAR)
		read_workload_options(reading, value, &nothing);
	else if (value->kind == HQ_YAML_MAP && value->count == 1)
		read_workload_options(reading, value->keys[0], value->values[0]);
	else
		hq_complain(reading->complaints, value,
			    "workload must be one name, or one name with options (NAME: { ... })");
}

/* ---- run ---- */

struct run_options {
	uint64_t timeout_ns, hang_ns, settle_ns, sample_ns, statistics_ns;
	uint64_t pairs, memory_cap_bytes, seed;
	double false_alarm, missed;
	uint32_t mechanism, calls, counters;
};

static const char *const mechanisms[] = { "auto", "trap", "notify", "static", NULL };

_Static_assert(HQ_MECHANISM_AUTO == 0 && HQ_MECHANISM_TRAP == 1 && HQ_MECHANISM_NOTIFY == 2 &&
		       HQ_MECHANISM_STATIC == 3,
	       "the choices of `mechanism` are in the order of enum hq_mechanism");

static const char *const countings[] = { "auto", "always", "never", NULL };

_Static_assert(HQ_COUNTING_AUTO == 0 && HQ_COUNTING_ALWAYS == 1 && HQ_COUNTING_NEVER == 2,
	       "the choices of `counters` are in the order of enum hq_counting");

#define AT(field) offsetof(struct run_options, field)

const struct hq_option hq_run_option_table[] = {
	{ "timeout", HQ_OPTION_DURATION, AT(timeout_ns), "60s", 100 * HQ_MS, 24 * 3600 * HQ_S, NULL,
	  "wall-clock limit of one run" },
	{ "hang", HQ_OPTION_DURATION, AT(hang_ns), "10s", 100 * HQ_MS, 24 * 3600 * HQ_S, NULL,
	  "no progress for that long is a hang" },
	{ "settle", HQ_OPTION_DURATION, AT(settle_ns), "0s", 0, 3600 * HQ_S, NULL,
	  "idle time after everything was freed; at least what the expectations ask for" },
	{ "sample", HQ_OPTION_DURATION, AT(sample_ns), "1ms", 100 * HQ_US, 1 * HQ_S, NULL,
	  "time between two readings of resident memory" },
	{ "statistics", HQ_OPTION_DURATION, AT(statistics_ns), "20ms", 1 * HQ_MS, 10 * HQ_S, NULL,
	  "time between two readings of the allocator's own, where a contract asks for them" },
	{ "calls", HQ_OPTION_ENUM, AT(calls), "auto", 0, 0, countings,
	  "system calls about memory and locks are traced; auto: where an expectation asks" },
	{ "counters", HQ_OPTION_ENUM, AT(counters), "auto", 0, 0, countings,
	  "hardware.* and perf.* are counted; auto: where an expectation or a comparison asks" },
	{ "pairs", HQ_OPTION_COUNT, AT(pairs), "7", 1, 32, NULL,
	  "clean and faulted runs each, at most, where an expectation says 'clean'" },
	{ "false-alarm", HQ_OPTION_SHARE, AT(false_alarm), "0.1%", 0, 0, NULL,
	  "how often a bound against 'clean' may be found broken by chance" },
	{ "missed", HQ_OPTION_SHARE, AT(missed), "5%", 0, 0, NULL,
	  "how often a look may find that such a bound holds by chance" },
	{ "memory-cap", HQ_OPTION_SIZE, AT(memory_cap_bytes), "0", 0, 0, NULL,
	  "a target that holds more resident memory is killed; 0: no cap" },
	{ "mechanism", HQ_OPTION_ENUM, AT(mechanism), "auto", 0, 0, mechanisms,
	  "how system calls are caught" },
	{ "seed", HQ_OPTION_COUNT, AT(seed), "42", 0, 0, NULL, "where --seed is not given" },
	{ NULL, 0, 0, NULL, 0, 0, NULL, NULL },
};

void hq_read_run(struct hq_reading *reading, const struct hq_yaml *value)
{
	struct hq_scenario *scenario = reading->scenario;
	struct hq_plan *plan = &scenario->plan;
	struct run_options options;
	struct hq_error error;

	if (hq_options_default(hq_run_option_table, &options, &error)) {
		hq_complain(reading->complaints, value, "%s", error.text);
		return;
	}
	hq_read_options(reading, value, "run", hq_run_option_table, &options, NULL);
	scenario->has_seed = hq_yaml_index(value, "seed") >= 0;
	scenario->has_memory_cap = hq_yaml_index(value, "memory-cap") >= 0;
	scenario->settle_ns = options.settle_ns;
	plan->timeout_ns = options.timeout_ns;
	plan->hang_ns = options.hang_ns;
	plan->sample_period_ns = options.sample_ns;
	plan->stats_period_ns = options.statistics_ns;
	plan->calls = (enum hq_counting)options.calls;
	plan->counters = (enum hq_counting)options.counters;
	plan->pairs = (uint32_t)options.pairs;
	plan->confidence = (struct hq_confidence){ .false_alarm = options.false_alarm,
						   .missed = options.missed };
	plan->memory_cap_bytes = options.memory_cap_bytes;
	plan->mechanism = (enum hq_mechanism)options.mechanism;
	plan->seed = options.seed;
}
