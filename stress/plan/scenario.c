/* SPDX-License-Identifier: MIT */
/*
 * The top level of a scenario file, and the questions that concern it as a whole.
 *
 * Sections are read in the order of the table below, not of the file: whether there is a built-in
 * workload must be known before an expectation can be checked.
 */
#include "stress/plan/scenario.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stress/plan/scenario_parts.h"
#include "stress/plan/words.h"
#include "stress/plan/yaml_set.h"

const struct hq_scenario_key hq_scenario_keys[] = {
	{ "", "question", "what the scenario finds out, one line; compulsory and first" },
	{ "", "name", "of the scenario; by default the name of its file" },
	{ "", "tags", "list of words for --tags" },
	{ "", "target",
	  "what is put to the test: allocator, env, command, driver, needs, ready, stop" },
	{ "", "workload",
	  "what the threads of the built-in host do: NAME: { OPTION: VALUE, ... }" },
	{ "", "inject", "list of what goes wrong: rules (with 'call') and injectors" },
	{ "", "expect", "list of what must hold: METRIC OP VALUE" },
	{ "", "contracts",
	  "list of checkers that are asked for: NAME, or NAME: { OPTION: VALUE, ... }" },
	{ "", "known", "ALLOCATOR or ALLOCATOR-VERSION: { verdict, because, sometimes, checker }" },
	{ "", "compare",
	  "two sides for `heapquake compare`: a, b, beside, pairs, expect, source, published" },
	{ "", "run",
	  "how it is run: timeout, hang, settle, pairs, false-alarm, missed, sample, statistics, "
	  "calls, counters, memory-cap, mechanism, seed" },
	{ "target", "allocator",
	  "name, path of a library, or a list of them; 'all'; 'own': what the program brings. "
	  "Found in a folder, a scenario runs on no other, whatever --allocator asks for" },
	{ "target", "env", "map of environment variables" },
	{ "target", "command", "program and arguments, as a list or as a shell would split them" },
	{ "target", "driver", "program run beside the target; the run ends when it ends" },
	{ "target", "needs",
	  "programs besides, names or paths with * in them; without one the case is skipped" },
	{ "target", "ready", "{ file: PATH }: the driver waits until PATH exists" },
	{ "target", "stop", "signal that ends the program after the driver; SIGTERM" },
	{ "target", "guard", "full, canary or 1/N: the heap guard stands before the allocator" },
	{ "inject", "injector", "injector's name, where the item has another" },
	{ "inject", "required", "false: not firing is no reason for INCONCLUSIVE" },
	{ "inject", "optional", "true: the same" },
	{ "compare", "a", "settings of side A, as for --set: a list of KEY=VALUE" },
	{ "compare", "b", "settings of side B" },
	{ "compare", "beside", "further sides, a setting each, shown beside A and B" },
	{ "compare", "pairs", "pairs of runs, 2 to 128; 10" },
	{ "compare", "expect", "list of claims: faults.minor <= -30%" },
	{ "compare", "source", "where changes were published" },
	{ "compare", "published", "map of METRIC: CHANGE, shown beside what is measured" },
	{ "known", "verdict", "fail or inconclusive" },
	{ "known", "because", "the reason, one line; compulsory" },
	{ "known", "sometimes", "true: not seeing it is a PASS, not an XPASS" },
	{ "known", "checker", "only findings of that checker count as known" },
	{ NULL, NULL, NULL },
};

static void read_question(struct hq_reading *reading, const struct hq_yaml *value)
{
	char *question = reading->scenario->plan.question;

	hq_read_text_into(reading, value, "question", question,
			  sizeof(reading->scenario->plan.question));
}

static bool is_word(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "+-._";

	return *text && *text != '-' && *text != '.' && text[strspn(text, plain)] == '\0';
}

static void read_name(struct hq_reading *reading, const struct hq_yaml *value)
{
	char *name = reading->scenario->plan.scenario;

	if (hq_read_text_into(reading, value, "name", name,
			      sizeof(reading->scenario->plan.scenario)) &&
	    !is_word(name))
		hq_complain(reading->complaints, value,
			    "a name has letters, digits, '-', '_' and '.' only");
}

static void read_tag(struct hq_reading *reading, const struct hq_yaml *value, const char *tag)
{
	char *tags = reading->scenario->plan.tags;
	const size_t length = strlen(tags), room = sizeof(reading->scenario->plan.tags);

	if (!is_word(tag))
		hq_complain(reading->complaints, value,
			    "tag '%s' may have letters, digits, '-', '_' and '.' only", tag);
	else if (length + strlen(tag) + 2 > room)
		hq_complain(reading->complaints, value, "all tags together are longer than %zu",
			    room - 2);
	else
		snprintf(tags + length, room - length, "%s%s", length ? " " : "", tag);
}

static void read_tags(struct hq_reading *reading, const struct hq_yaml *value)
{
	const size_t count = value->kind == HQ_YAML_LIST ? value->count : 1;

	for (size_t i = 0; i < count; i++) {
		const struct hq_yaml *one = value->kind == HQ_YAML_LIST ? value->values[i] : value;
		const char *tag = hq_read_text(reading, one, "tag");

		if (tag)
			read_tag(reading, one, tag);
	}
}

int hq_scenario_add_expectation(struct hq_scenario *scenario, const char *text,
				struct hq_error *error)
{
	struct hq_plan *plan = &scenario->plan;

	if (plan->expectation_count == HQ_PLAN_EXPECTATIONS)
		return hq_error_set(error, "more than %d expectations", HQ_PLAN_EXPECTATIONS);
	const int status = hq_expectation_parse(
		text, plan->is_host, &plan->expectations[plan->expectation_count], error);

	if (!status)
		plan->expectation_count++;
	return status;
}

static void read_expectation(struct hq_reading *reading, const struct hq_yaml *value)
{
	const struct hq_plan *plan = &reading->scenario->plan;
	const char *text = hq_read_text(reading, value, "an expectation");
	struct hq_error error;

	if (!text)
		return;
	if (hq_scenario_add_expectation(reading->scenario, text, &error) ||
	    hq_check_expectation_names(plan, &plan->expectations[plan->expectation_count - 1],
				       &error))
		hq_complain(reading->complaints, value, "%s", error.text);
}

static void read_expect(struct hq_reading *reading, const struct hq_yaml *value)
{
	if (value->kind == HQ_YAML_MAP) {
		hq_complain(reading->complaints, value,
			    "expect must be a list (- METRIC OP VALUE), not a map");
		return;
	}
	if (value->kind == HQ_YAML_SCALAR) {
		read_expectation(reading, value);
		return;
	}
	for (size_t i = 0; i < value->count; i++)
		read_expectation(reading, value->values[i]);
}

static const struct hq_section sections[] = {
	{ "question", read_question },
	{ "name", read_name },
	{ "tags", read_tags },
	{ "target", hq_read_target },
	{ "workload", hq_read_workload },
	{ "inject", hq_read_inject },
	{ "expect", read_expect },
	{ "contracts", hq_read_contracts },
	{ "known", hq_read_known },
	{ "compare", hq_read_compare },
	{ "run", hq_read_run },
	{ NULL, NULL },
};

static void check_whole(struct hq_reading *reading, const struct hq_yaml *root)
{
	const struct hq_plan *plan = &reading->scenario->plan;
	const int question = hq_yaml_index(root, "question");
	const int run = hq_yaml_index(root, "run");
	const bool has_workload = hq_yaml_index(root, "workload") >= 0;
	struct hq_error error;

	if (question < 0)
		hq_complain(reading->complaints, root, "a scenario begins with its 'question'");
	else if (question > 0)
		hq_complain(reading->complaints, root->keys[question],
			    "'question' comes first: a reader wants to know it");
	/* A section that is misspelt is not missed as well. */
	if (!has_workload && plan->is_host && reading->complaints->count == 0)
		hq_complain(reading->complaints, root,
			    "nothing to do: give a 'workload', or a 'command' in 'target'");
	if (has_workload && plan->command)
		hq_complain(reading->complaints, root->keys[hq_yaml_index(root, "workload")],
			    "a 'command' in 'target' brings its own work; leave 'workload' out");
	if (reading->complaints->count == 0 && hq_scenario_check(reading->scenario, &error))
		hq_complain(reading->complaints, run < 0 ? root : root->keys[run], "%s",
			    error.text);
}

static void read_root(struct hq_reading *reading, const struct hq_yaml *root)
{
	const int target = hq_yaml_index(root, "target");

	if (root->kind != HQ_YAML_MAP) {
		hq_complain(reading->complaints, root,
			    "a scenario is a map that begins with 'question:', not %s",
			    hq_yaml_kind_name(root->kind));
		return;
	}
	reading->scenario->plan.is_host =
		target < 0 || hq_yaml_index(root->values[target], "command") < 0;
	hq_read_sections(reading, root, "a scenario", sections);
	check_whole(reading, root);
}

/* "scenarios/decay/refuse-free.yaml" is "refuse-free". */
static void name_after_file(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%s", slash ? slash + 1 : path);
	char *dot = strrchr(name, '.');

	if (dot && dot != name && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
		*dot = '\0';
}

static void set_defaults(struct hq_scenario *scenario)
{
	struct hq_reading reading = { .scenario = scenario };
	const struct hq_yaml nothing = { .kind = HQ_YAML_MAP };
	struct hq_complaints complaints = { .count = 0 };

	*scenario = (struct hq_scenario){ .plan = { .is_host = true, .stop_signal = SIGTERM } };
	reading.complaints = &complaints;
	hq_read_run(&reading, &nothing);
}

static int read_tree(const struct hq_yaml *root, const char *path, struct hq_scenario *scenario,
		     struct hq_complaints *complaints)
{
	struct hq_reading reading = { .scenario = scenario, .complaints = complaints };

	snprintf(scenario->plan.path, sizeof(scenario->plan.path), "%s", path);
	name_after_file(path, scenario->plan.scenario, sizeof(scenario->plan.scenario));
	read_root(&reading, root);
	return complaints->count ? -EINVAL : 0;
}

/* What both ways to read have in common, before and after the tree is there. */
static int read_from(int status, struct hq_yaml *root, struct hq_yaml_place place,
		     const struct hq_error *error, const char *path, struct hq_scenario *scenario,
		     struct hq_complaints *complaints)
{
	set_defaults(scenario);
	*complaints = (struct hq_complaints){ .count = 0 };
	snprintf(complaints->path, sizeof(complaints->path), "%s", path);
	if (status) {
		hq_complain_at(complaints, place, "%s", error->text);
		return status;
	}
	if (strlen(path) >= sizeof(scenario->plan.path)) {
		hq_complain(complaints, NULL, "the path is too long");
		status = -ENAMETOOLONG;
	} else {
		status = read_tree(root, path, scenario, complaints);
	}
	hq_yaml_free(root);
	return status;
}

int hq_scenario_read_with(const char *path, char *const *settings, struct hq_scenario *scenario,
			  struct hq_complaints *complaints)
{
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root;
	int status = hq_yaml_read(path, &root, &place, &error);

	for (size_t i = 0; !status && settings && settings[i]; i++) {
		status = hq_yaml_set(root, settings[i], &error);
		if (status) {
			hq_yaml_free(root);
			place = (struct hq_yaml_place){ .line = 0 };
		}
	}
	return read_from(status, root, place, &error, path, scenario, complaints);
}

int hq_scenario_read(const char *path, struct hq_scenario *scenario,
		     struct hq_complaints *complaints)
{
	return hq_scenario_read_with(path, NULL, scenario, complaints);
}

int hq_scenario_parse(const char *text, size_t length, const char *path,
		      struct hq_scenario *scenario, struct hq_complaints *complaints)
{
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root;
	const int status = hq_yaml_parse(text, length, &root, &place, &error);

	return read_from(status, root, place, &error, path, scenario, complaints);
}

int hq_scenario_of_command(char *const *command, struct hq_scenario *scenario)
{
	struct hq_plan *plan = &scenario->plan;
	char words[160];

	set_defaults(scenario);
	plan->is_host = false;
	strcpy(plan->scenario, "command");
	snprintf(plan->question, sizeof(plan->question), "Does it survive: %s",
		 hq_words_quote(command, words, sizeof(words)));
	return hq_words_copy(command, &plan->command);
}

static void drop_contracts(struct hq_plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->contract_count; i++) {
		if (!plan->contracts[i].checker->needs_faults)
			plan->contracts[kept++] = plan->contracts[i];
	}
	plan->contract_count = kept;
}

/*
 * That nothing can be proved of an allocator may be so without faults as well, or not: a call that
 * is never refused is missed by nobody.
 */
static void keep_known_gaps(struct hq_scenario *scenario)
{
	size_t kept = 0;

	for (size_t i = 0; i < scenario->known_count; i++) {
		if (scenario->known[i].known.verdict != HQ_VERDICT_INCONCLUSIVE)
			continue;
		scenario->known[kept] = scenario->known[i];
		scenario->known[kept++].known.sometimes = true;
	}
	scenario->known_count = kept;
}

/*
 * What is known of an allocator is known of the file's faults, if it has any: the clean case has no
 * excuse for a failure then, and one that does not depend on faults belongs to a scenario without.
 */
void hq_scenario_drop_faults(struct hq_scenario *scenario)
{
	struct hq_plan *plan = &scenario->plan;
	size_t kept = 0;

	if (plan->rule_count == 0 && plan->injection_count == 0)
		return;
	plan->rule_count = plan->injection_count = 0;
	keep_known_gaps(scenario);
	for (size_t i = 0; i < plan->expectation_count; i++) {
		if (!hq_expectation_needs_faults(&plan->expectations[i]))
			plan->expectations[kept++] = plan->expectations[i];
	}
	plan->expectation_count = kept;
	drop_contracts(plan);
}

void hq_scenario_clear(struct hq_scenario *scenario)
{
	hq_plan_clear(&scenario->plan);
	hq_words_free(scenario->allocators);
	scenario->allocators = NULL;
	for (int side = 0; side < 2; side++)
		hq_words_free(scenario->compare.sides[side]);
	hq_words_free(scenario->compare.beside);
	hq_words_free(scenario->compare.claims);
	scenario->compare = (struct hq_scenario_compare){ .pairs = 0 };
}
