/* SPDX-License-Identifier: MIT */
/*
 * Checks of a scenario as a whole. They run when a file was read, and again when the command line
 * has added to it.
 */
#include <errno.h>
#include <string.h>

#include "injectors/syscall/filter.h"
#include "injectors/units.h"
#include "stress/plan/scenario_parts.h"

/* A list of every name that inject.NAME may use. */
static void list_injected(const struct hq_plan *plan, const char **names)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->rule_count; i++)
		names[count++] = plan->rules[i].name;
	for (size_t i = 0; i < plan->injection_count; i++)
		names[count++] = plan->injections[i].name;
	names[count] = NULL;
}

int hq_check_expectation_names(const struct hq_plan *plan, const struct hq_expectation *expectation,
			       struct hq_error *error)
{
	const char *names[HQ_RULES_MAX + HQ_PLAN_INJECTIONS + 1];
	char name[64], hint[96];

	list_injected(plan, names);
	if (hq_expectation_inject_name(expectation, name)[0] == '\0')
		return 0;
	for (size_t i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return 0;
	}
	return hq_error_set(error, "'%s' names inject.%s, but nothing of that name is injected%s",
			    expectation->text, name,
			    hq_did_you_mean(name, names, hint, sizeof(hint)));
}

uint64_t hq_scenario_settle_ns(const struct hq_scenario *scenario)
{
	uint64_t longest_ns = scenario->settle_ns;

	for (size_t i = 0; i < scenario->plan.expectation_count; i++) {
		const uint64_t idle_ns = hq_expectation_idle_ns(&scenario->plan.expectations[i]);

		if (idle_ns > longest_ns)
			longest_ns = idle_ns;
	}
	for (size_t i = 0; i < scenario->plan.contract_count; i++) {
		const uint64_t idle_ns = hq_asked_idle_ns(&scenario->plan.contracts[i]);

		if (idle_ns > longest_ns)
			longest_ns = idle_ns;
	}
	return longest_ns;
}

static int check_times(const struct hq_scenario *scenario, struct hq_error *error)
{
	const uint64_t settle_ns = hq_scenario_settle_ns(scenario);
	char settle[HQ_UNITS_TEXT], timeout[HQ_UNITS_TEXT];

	if (settle_ns < scenario->plan.timeout_ns)
		return 0;
	return hq_error_set(error,
			    "%s of idle time are asked for, but a run ends after %s (timeout)",
			    hq_units_print_duration(settle, settle_ns),
			    hq_units_print_duration(timeout, scenario->plan.timeout_ns));
}

/* What a mechanism that was asked for by name cannot do is refused before anything runs. */
static int check_mechanism(const struct hq_plan *plan, struct hq_error *error)
{
	struct sock_filter program[256];
	const struct hq_filter_spec spec = { .rules = plan->rules, .rule_count = plan->rule_count };
	size_t length;

	for (size_t i = 0; i < plan->rule_count; i++) {
		if (plan->mechanism == HQ_MECHANISM_NOTIFY &&
		    plan->rules[i].action == HQ_ACTION_SHRINK)
			return hq_error_set(error,
					    "rule %s: 'shrink' needs mechanism trap, not notify",
					    plan->rules[i].name);
	}
	if (plan->mechanism != HQ_MECHANISM_STATIC || plan->rule_count == 0)
		return 0;
	if (hq_filter_build(&spec, program, sizeof(program) / sizeof(program[0]), &length))
		return hq_error_set(error, "mechanism static can only 'fail' and 'lie', without "
					   "'when', 'probability', 'times' and 'window', and "
					   "only calls that may fail whatever their arguments "
					   "(madvise, mmap)");
	return 0;
}

/* Runs that can never add up to a finding would make every PASS worthless. */
static int check_pairs(const struct hq_plan *plan, struct hq_error *error)
{
	const size_t needed = hq_confidence_pairs(&plan->confidence);

	for (size_t i = 0; i < plan->expectation_count; i++) {
		const struct hq_expectation *expectation = &plan->expectations[i];

		if (!expectation->against_clean || plan->pairs >= needed)
			continue;
		return hq_error_set(error,
				    "'%s' can never be found broken with pairs: %u; with "
				    "false-alarm: %g%% it takes %zu",
				    expectation->text, plan->pairs,
				    plan->confidence.false_alarm * 100.0, needed);
	}
	return 0;
}

int hq_scenario_check(const struct hq_scenario *scenario, struct hq_error *error)
{
	const struct hq_plan *plan = &scenario->plan;

	for (size_t i = 0; i < plan->expectation_count; i++) {
		if (hq_check_expectation_names(plan, &plan->expectations[i], error))
			return -EINVAL;
	}
	if (check_times(scenario, error) || check_mechanism(plan, error) ||
	    check_pairs(plan, error))
		return -EINVAL;
	return 0;
}
