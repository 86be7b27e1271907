/* SPDX-License-Identifier: MIT */
/*
 * Making cases. Scenario files are read one after another and all their errors printed; only if
 * there are none does the multiplication begin.
 */
#include "stress/command/cases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/guard.h"
#include "stress/control/repro.h"
#include "stress/plan/scenario.h"
#include "stress/plan/scenario_files.h"
#include "stress/plan/select.h"
#include "stress/control/target.h"
#include "stress/plan/words.h"

#define CASES_MAX 20000

struct maker {
	const struct hq_invocation *invocation;
	const struct hq_settings *settings;
	struct hq_scenario *scenarios;
	size_t scenario_count;
	struct hq_allocators allocators;
	char **asked; /* allocators of the command line; NULL: none */
	bool has_seed;
	uint64_t seed;
	struct hq_cases *cases;
	size_t room;
};

static int complain(const struct maker *maker, const char *place, const char *text)
{
	fprintf(stderr, "heapquake %s: %s%s%s\n", maker->invocation->command->name, place,
		*place ? ": " : "", text);
	return HQ_EXIT_USAGE;
}

const char *hq_case_name(const struct hq_plan *plan, char *text, size_t size)
{
	snprintf(text, size, "%s[%s-%" PRIu64 "]", plan->scenario, plan->allocator, plan->seed);
	return text;
}

/* ---- settings that concern all cases ---- */

static int take_seed(struct maker *maker)
{
	const char *text = maker->settings->seed;
	uint32_t drawn = 0;
	struct hq_error error;

	maker->seed = HQ_DEFAULT_SEED;
	maker->has_seed = text != NULL;
	if (!text)
		return 0;
	if (strcmp(text, "random") != 0)
		return hq_units_parse_count(text, &maker->seed, &error)
			       ? complain(maker, "--seed", error.text)
			       : 0;
	if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
		return complain(maker, "--seed random", strerror(errno));
	maker->seed = drawn;
	fprintf(stderr, "heapquake: seed %" PRIu64 "\n", maker->seed);
	return 0;
}

static int add_asked(struct maker *maker, const char *name)
{
	struct hq_error error;

	if (hq_allocator_check_name(name, &error))
		return complain(maker, "--allocator", error.text);
	return hq_words_add(&maker->asked, name) ? complain(maker, "", "out of memory") : 0;
}

static int take_allocators(struct maker *maker)
{
	char **lists = maker->settings->allocators;
	int status = 0;

	for (size_t i = 0; !status && lists && lists[i]; i++) {
		char **names;

		if (hq_words_split_at(lists[i], ",", &names))
			return complain(maker, "", "out of memory");
		if (!names)
			status = complain(maker, "--allocator", "no name is given");
		for (size_t j = 0; !status && names[j]; j++)
			status = add_asked(maker, names[j]);
		hq_words_free(names);
	}
	return status;
}

/* An expression is checked once against nothing, so that it is refused even without any case. */
static int check_expression(const struct maker *maker, const char *option, const char *expression,
			    enum hq_select_kind kind)
{
	struct hq_error error;
	bool matches;

	if (expression && hq_select(expression, kind, "", &matches, &error))
		return complain(maker, option, error.text);
	return 0;
}

/* ---- scenarios ---- */

static int apply_contracts(const struct maker *maker, struct hq_scenario *scenario)
{
	char **contracts = maker->settings->contracts;
	struct hq_error error;

	for (size_t i = 0; contracts && contracts[i]; i++) {
		if (hq_scenario_add_contract(scenario, contracts[i], &error))
			return complain(maker, "--contract", error.text);
		hq_repro_add(&scenario->plan, "--contract", contracts[i]);
	}
	return 0;
}

static int apply_settings(const struct maker *maker, struct hq_scenario *scenario)
{
	const struct hq_settings *settings = maker->settings;
	struct hq_error error;

	for (size_t i = 0; settings->set && settings->set[i]; i++)
		hq_repro_add(&scenario->plan, "--set", settings->set[i]);
	if (settings->no_faults) {
		hq_scenario_drop_faults(scenario);
		hq_repro_add(&scenario->plan, "--no-faults", NULL);
	}
	for (size_t i = 0; settings->inject && settings->inject[i]; i++) {
		if (hq_scenario_add_injection(scenario, settings->inject[i], &error))
			return complain(maker, "--inject", error.text);
		hq_repro_add(&scenario->plan, "--inject", settings->inject[i]);
	}
	for (size_t i = 0; settings->check && settings->check[i]; i++) {
		if (hq_scenario_add_expectation(scenario, settings->check[i], &error))
			return complain(maker, "--check", error.text);
		hq_repro_add(&scenario->plan, "--check", settings->check[i]);
	}
	if (apply_contracts(maker, scenario))
		return HQ_EXIT_USAGE;
	if (settings->timeout_ns) {
		char text[HQ_UNITS_TEXT];

		scenario->plan.timeout_ns = settings->timeout_ns;
		hq_repro_add(&scenario->plan, "--timeout",
			     hq_units_print_duration(text, settings->timeout_ns));
	}
	if (settings->guard) {
		if (hq_guard_parse(settings->guard, &scenario->plan, &error))
			return complain(maker, "--guard", error.text);
		hq_repro_add(&scenario->plan, "--guard", settings->guard);
	}
	if (settings->mechanism != HQ_MECHANISM_AUTO) {
		scenario->plan.mechanism = (enum hq_mechanism)settings->mechanism;
		hq_repro_add(&scenario->plan, "--mechanism",
			     hq_mechanism_name(scenario->plan.mechanism));
	}
	return 0;
}

static int make_room(struct maker *maker, size_t count)
{
	maker->scenarios = calloc(count, sizeof(*maker->scenarios));
	return maker->scenarios ? 0 : complain(maker, "", "out of memory");
}

/* Names make the folders of results and the lines of reports: each may stand for one file only. */
static int check_name(const struct maker *maker, const struct hq_scenario *scenario)
{
	char text[400];

	for (const struct hq_scenario *other = maker->scenarios; other < scenario; other++) {
		if (strcmp(other->plan.scenario, scenario->plan.scenario) != 0)
			continue;
		snprintf(text, sizeof(text), "%.250s has the same name, '%s'; give one a 'name'",
			 other->plan.path, scenario->plan.scenario);
		return complain(maker, scenario->plan.path, text);
	}
	return 0;
}

static int read_file(struct maker *maker, const char *path)
{
	struct hq_scenario *scenario = &maker->scenarios[maker->scenario_count++];
	struct hq_complaints complaints;

	if (hq_scenario_read_with(path, maker->settings->set, scenario, &complaints)) {
		hq_complaints_print(&complaints, stderr);
		return HQ_EXIT_USAGE;
	}
	const int status = check_name(maker, scenario);

	return status ? status : apply_settings(maker, scenario);
}

/* An error does not keep the other files from being read: all errors are shown at once. */
static int read_files(struct maker *maker, char *const *files)
{
	int status = make_room(maker, hq_words_count(files) + 1);
	char **seen = NULL;

	if (status)
		return status;
	for (size_t i = 0; files && files[i]; i++) {
		char whole[PATH_MAX];
		const char *path = realpath(files[i], whole) ? whole : files[i];

		if (hq_words_have(seen, path))
			continue;
		if (hq_words_add(&seen, path) || read_file(maker, files[i]))
			status = HQ_EXIT_USAGE;
	}
	hq_words_free(seen);
	return status;
}

/* A program has no file that a setting could change: only what is around it can be set. */
static int set_on_command(const struct maker *maker, struct hq_scenario *scenario)
{
	char **set = maker->settings->set;
	int status = 0;

	for (size_t i = 0; !status && set && set[i]; i++) {
		if (!strncmp(set[i], "allocator=", 10))
			status = hq_words_add(&scenario->allocators, set[i] + 10);
		else if (!strncmp(set[i], "env.", 4) && strchr(set[i], '=') > set[i] + 4)
			status = hq_words_add(&scenario->plan.env, set[i] + 4);
		else
			return complain(
				maker, set[i],
				"of a program only allocator=NAME and env.NAME=VALUE can be set");
	}
	return status ? complain(maker, "", "out of memory") : 0;
}

static int read_command(struct maker *maker)
{
	int status = make_room(maker, 1);

	if (status)
		return status;
	if (maker->invocation->words)
		return complain(maker, "",
				"scenarios and a program (after '--') do not go together");
	maker->scenario_count = 1;
	if (hq_scenario_of_command(maker->invocation->program, &maker->scenarios[0]))
		return complain(maker, "", "out of memory");
	if (set_on_command(maker, &maker->scenarios[0]))
		return HQ_EXIT_USAGE;
	return apply_settings(maker, &maker->scenarios[0]);
}

static int read_scenarios(struct maker *maker)
{
	const struct hq_invocation *invocation = maker->invocation;
	struct hq_error error;
	char **files;
	int status;

	if (invocation->program)
		return read_command(maker);
	if (!invocation->words)
		return complain(maker, "",
				"name a scenario, a folder of them, or '-- PROG ARG...'");
	if (hq_scenario_files_find(invocation->words, invocation->path, &files, &error))
		return complain(maker, "", error.text);
	status = read_files(maker, files);
	hq_words_free(files);
	return status;
}

/* ---- multiplication ---- */

static bool is_selected(const struct maker *maker, const struct hq_plan *plan)
{
	const struct hq_settings *settings = maker->settings;
	struct hq_error error;
	bool matches = true;
	char name[160];

	if (settings->filter)
		hq_select(settings->filter, HQ_SELECT_PART_OF_NAME,
			  hq_case_name(plan, name, sizeof(name)), &matches, &error);
	if (matches && settings->tags)
		hq_select(settings->tags, HQ_SELECT_TAG, plan->tags, &matches, &error);
	return matches;
}

static int keep(struct maker *maker, const struct hq_plan *plan)
{
	struct hq_cases *cases = maker->cases;

	if (cases->count == CASES_MAX)
		return complain(maker, "", "more than 20000 cases");
	if (cases->count == maker->room) {
		const size_t room = maker->room ? maker->room * 2 : 16;
		struct hq_plan *grown = reallocarray(cases->plans, room, sizeof(*grown));

		if (!grown)
			return complain(maker, "", "out of memory");
		cases->plans = grown;
		maker->room = room;
	}
	cases->plans[cases->count++] = *plan;
	return 0;
}

static int add_case(struct maker *maker, const struct hq_scenario *scenario,
		    const struct hq_allocator *allocator, uint64_t seed)
{
	struct hq_error error;
	struct hq_plan plan;
	int status;

	if (hq_plan_resolve(scenario, allocator, seed, &plan, &error))
		return complain(maker, scenario->plan.path[0] ? scenario->plan.path : "command",
				error.text);
	if (!is_selected(maker, &plan)) {
		hq_plan_clear(&plan);
		return 0;
	}
	status = keep(maker, &plan);
	if (status)
		hq_plan_clear(&plan);
	return status;
}

static int add_allocator(struct maker *maker, const struct hq_scenario *scenario, const char *asked,
			 uint64_t seed)
{
	struct hq_allocator allocator;
	struct hq_error error;

	if (hq_allocator_locate(&maker->allocators, asked, &allocator, &error))
		return complain(maker, scenario->plan.path, error.text);
	return add_case(maker, scenario, &allocator, seed);
}

static bool is_all(char *const *asked)
{
	return asked && asked[0] && !asked[1] && strcmp(asked[0], "all") == 0;
}

/* Was the scenario named on the command line, by its path or its name, or found in a folder? */
static bool is_named(const struct maker *maker, const struct hq_scenario *scenario)
{
	const char *path = scenario->plan.path, *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	char *const *words = maker->invocation->words;

	for (size_t i = 0; words && words[i]; i++) {
		const size_t length = strlen(words[i]);

		if (!strcmp(words[i], path) ||
		    (!strncmp(words[i], file, length) && !strcmp(file + length, ".yaml")))
			return true;
	}
	return false;
}

/* One that was found in a folder keeps to the allocators that it is about. */
static bool suits(const struct maker *maker, const struct hq_scenario *scenario, const char *name)
{
	char *const *own = scenario->allocators;

	return !own || hq_words_have(own, name) || hq_words_have(own, "all") ||
	       is_named(maker, scenario);
}

/* Named twice is run once. */
static int want(const struct maker *maker, const struct hq_scenario *scenario, char ***wanted,
		const char *name)
{
	if (hq_words_have(*wanted, name) || !suits(maker, scenario, name))
		return 0;
	return hq_words_add(wanted, name) ? complain(maker, "", "out of memory") : 0;
}

/* Every supported allocator that is installed here. */
static int want_all(struct maker *maker, const struct hq_scenario *scenario, char ***wanted)
{
	int status = 0;

	for (const char *const *name = hq_allocator_names(); !status && *name; name++) {
		struct hq_allocator allocator;
		struct hq_error error;

		if (hq_allocator_locate(&maker->allocators, *name, &allocator, &error))
			return complain(maker, "", error.text);
		if (!allocator.missing[0])
			status = want(maker, scenario, wanted, *name);
	}
	return status;
}

/*
 * Those of the command line, or else the scenario's. "all" on the command line means all that the
 * scenario is about. Without any wish: the bundled allocator, or for a program what it has anyway.
 */
static int want_allocators(struct maker *maker, const struct hq_scenario *scenario, char ***wanted)
{
	char *const *asked = maker->asked;
	int status = 0;

	if (!asked || (is_all(asked) && scenario->allocators))
		asked = scenario->allocators;
	if (!asked)
		return want(maker, scenario, wanted,
			    scenario->plan.is_host ? "bedrock" : HQ_ALLOCATOR_OWN);
	for (size_t i = 0; !status && asked[i]; i++)
		status = strcmp(asked[i], "all") == 0 ? want_all(maker, scenario, wanted)
						      : want(maker, scenario, wanted, asked[i]);
	return status;
}

/*
 * Allocators take turns, seed by seed: on a machine that gets slower or faster, all of them have
 * their share of it.
 */
static int add_turns(struct maker *maker, const struct hq_scenario *scenario)
{
	const uint64_t first =
		!maker->has_seed && scenario->has_seed ? scenario->plan.seed : maker->seed;
	char **wanted = NULL;
	int status = want_allocators(maker, scenario, &wanted);

	for (uint64_t turn = 0; !status && wanted && turn < maker->settings->repeat; turn++)
		for (size_t i = 0; !status && wanted[i]; i++)
			status = add_allocator(maker, scenario, wanted[i], first + turn);
	hq_words_free(wanted);
	return status;
}

static int make(struct maker *maker)
{
	const struct hq_settings *settings = maker->settings;
	int status = take_seed(maker);

	if (!status)
		status = take_allocators(maker);
	if (!status)
		status = check_expression(maker, "-k", settings->filter, HQ_SELECT_PART_OF_NAME);
	if (!status)
		status = check_expression(maker, "--tags", settings->tags, HQ_SELECT_TAG);
	if (!status)
		status = read_scenarios(maker);
	for (size_t i = 0; !status && i < maker->scenario_count; i++)
		status = add_turns(maker, &maker->scenarios[i]);
	if (!status && maker->cases->count == 0) {
		complain(maker, "", "nothing matched");
		status = HQ_EXIT_NOTHING_MATCHED;
	}
	return status;
}

int hq_cases_make(const struct hq_invocation *invocation, struct hq_cases *cases)
{
	struct maker maker = {
		.invocation = invocation,
		.settings = &invocation->settings,
		.allocators = { .program = invocation->path },
		.cases = cases,
	};

	*cases = (struct hq_cases){ .count = 0 };
	const int status = make(&maker);

	cases->seed = cases->count ? cases->plans[0].seed : maker.seed;
	for (size_t i = 0; i < maker.scenario_count; i++)
		hq_scenario_clear(&maker.scenarios[i]);
	free(maker.scenarios);
	hq_words_free(maker.asked);
	return status;
}

void hq_cases_clear(struct hq_cases *cases)
{
	for (size_t i = 0; i < cases->count; i++)
		hq_plan_clear(&cases->plans[i]);
	free(cases->plans);
	*cases = (struct hq_cases){ .count = 0 };
}
