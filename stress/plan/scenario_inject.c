/* SPDX-License-Identifier: MIT */
/*
 * The section `inject`: rules, which have a `call`, and injectors. Both also have an inline form,
 * which the command line and single values in the list use:
 *
 *   madvise:advice=FREE:error=EINVAL        a rule, see injectors/rule.h
 *   migrate:rate=500/s:name=shove           an injector with its options
 */
#include "stress/plan/scenario_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stress/plan/words.h"

#define NAMES_MAX 64

/* ---- what is added, whichever way it was written ---- */

static bool is_taken(const struct hq_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		if (strcmp(plan->rules[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < plan->injection_count; i++) {
		if (strcmp(plan->injections[i].name, name) == 0)
			return true;
	}
	return false;
}

static int add_rule(struct hq_plan *plan, const struct hq_rule *rule, struct hq_error *error)
{
	if (plan->rule_count == HQ_RULES_MAX)
		return hq_error_set(error, "more than %d rules", HQ_RULES_MAX);
	if (is_taken(plan, rule->name))
		return hq_error_set(error, "two injections are called '%s'; give one another name",
				    rule->name);
	plan->rules[plan->rule_count++] = *rule;
	return 0;
}

static int add_injection(struct hq_plan *plan, const struct hq_injection *injection,
			 struct hq_error *error)
{
	if (plan->injection_count == HQ_PLAN_INJECTIONS)
		return hq_error_set(error, "more than %d injectors", HQ_PLAN_INJECTIONS);
	if (is_taken(plan, injection->name))
		return hq_error_set(error, "two injections are called '%s'; give one another name",
				    injection->name);
	plan->injections[plan->injection_count++] = *injection;
	return 0;
}

static int set_name(struct hq_injection *injection, const char *name, struct hq_error *error)
{
	if (strlen(name) >= sizeof(injection->name))
		return hq_error_set(error, "the name '%s' is longer than %zu characters", name,
				    sizeof(injection->name) - 1);
	strcpy(injection->name, name);
	return 0;
}

/* An injector without options has no table; everybody else wants one. */
static const struct hq_option *options_of(const struct hq_injector *injector)
{
	static const struct hq_option none[] = { { .name = NULL } };

	return injector->options ? injector->options : none;
}

static int begin_injection(struct hq_injection *injection, const struct hq_injector *injector,
			   const char *name, struct hq_error *error)
{
	*injection = (struct hq_injection){ .injector = injector, .required = true };
	if (set_name(injection, name, error))
		return -EINVAL;
	return hq_options_default(options_of(injector), injection->options, error);
}

static void list_injectors(const char *names[NAMES_MAX])
{
	size_t count = 0;

	for (; hq_injectors[count] && count + 1 < NAMES_MAX; count++)
		names[count] = hq_injectors[count]->name;
	names[count] = NULL;
}

/* ---- the inline form ---- */

static int set_word(struct hq_injection *injection, char *word, struct hq_error *error)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	if (strcmp(word, "optional") == 0 && !value) {
		injection->required = false;
		return 0;
	}
	if (strcmp(word, "name") == 0 && value)
		return set_name(injection, value, error);
	return hq_options_set(options_of(injection->injector), injection->options, word,
			      value ? value : "true", error);
}

static int check_compulsory(const struct hq_injector *injector, char *const *words,
			    struct hq_error *error)
{
	for (const struct hq_option *option = options_of(injector); option->name; option++) {
		bool given = option->fallback != NULL;

		for (size_t i = 1; words[i]; i++)
			given = given || strcmp(words[i], option->name) == 0;
		if (!given)
			return hq_error_set(error, "injector %s needs '%s': %s", injector->name,
					    option->name, option->help);
	}
	return 0;
}

static int parse_injector(const struct hq_injector *injector, char **words,
			  struct hq_injection *injection, struct hq_error *error)
{
	int status = begin_injection(injection, injector, injector->name, error);

	for (size_t i = 1; !status && words[i]; i++)
		status = set_word(injection, words[i], error);
	return status ? status : check_compulsory(injector, words, error);
}

static bool is_call_list(const char *words)
{
	const size_t length = strcspn(words, ",");

	for (unsigned call = 0; call < HQ_CALL_COUNT; call++) {
		const char *name = hq_call_name((enum hq_call)call);

		if (strlen(name) == length && strncmp(name, words, length) == 0)
			return true;
	}
	return false;
}

static int refuse_neither(const char *word, struct hq_error *error)
{
	const char *names[NAMES_MAX + HQ_CALL_COUNT];
	char hint[96];
	size_t count = 0;

	list_injectors(names);
	while (names[count])
		count++;
	for (unsigned call = 0; call < HQ_CALL_COUNT; call++)
		names[count++] = hq_call_name((enum hq_call)call);
	names[count] = NULL;
	return hq_error_set(error, "'%s' is neither an injector nor a system call with rules%s",
			    word, hq_did_you_mean(word, names, hint, sizeof(hint)));
}

int hq_scenario_add_injection(struct hq_scenario *scenario, const char *text,
			      struct hq_error *error)
{
	struct hq_injection injection;
	struct hq_rule rule;
	char **words;
	int status = hq_words_split_at(text, ":", &words);

	if (status || !words)
		return status ? status : hq_error_set(error, "nothing to inject");
	const struct hq_injector *injector = hq_injector_find(words[0]);

	if (injector)
		status = parse_injector(injector, words, &injection, error);
	else if (is_call_list(words[0]))
		status = hq_rule_parse(text, &rule, error);
	else
		status = refuse_neither(words[0], error);
	hq_words_free(words);
	if (status)
		return status;
	return injector ? add_injection(&scenario->plan, &injection, error)
			: add_rule(&scenario->plan, &rule, error);
}

/* ---- the map form ---- */

static bool is_rule_word(const char *word)
{
	static const char *const words[] = {
		"call",  "advice", "length", "kind",        "fail",  "error",  "lie",
		"delay", "shrink", "when",   "probability", "times", "window", NULL,
	};

	for (size_t i = 0; words[i]; i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

/* `required: false` and `optional: true`; true when the key was one of them. */
static bool read_required(struct hq_reading *reading, const struct hq_yaml *key,
			  const struct hq_yaml *value, bool *required)
{
	const bool is_optional = strcmp(key->text, "optional") == 0;
	bool flag;

	if (!is_optional && strcmp(key->text, "required") != 0)
		return false;
	if (hq_read_bool(reading, value, key->text, &flag))
		*required = flag != is_optional;
	return true;
}

static void read_rule_word(struct hq_reading *reading, const struct hq_yaml *key,
			   const struct hq_yaml *value, struct hq_rule *rule)
{
	struct hq_error error;
	char text[256];

	if (!hq_read_joined(reading, value, key->text, text, sizeof(text)))
		return;
	/* A flag that is not wanted is a flag that is not given. */
	if (strcmp(key->text, "lie") == 0 && strcmp(text, "false") == 0)
		return;
	if (hq_rule_set(rule, key->text, text, &error))
		hq_complain(reading->complaints, is_rule_word(key->text) ? value : key, "%s",
			    error.text);
}

static void read_rule(struct hq_reading *reading, const struct hq_yaml *name,
		      const struct hq_yaml *map)
{
	const size_t complaints_before = reading->complaints->count;
	bool required = true;
	struct hq_error error;
	struct hq_rule rule;

	hq_rule_init(&rule);
	if (hq_rule_set(&rule, "name", name->text, &error))
		hq_complain(reading->complaints, name, "%s", error.text);
	for (size_t i = 0; i < map->count; i++) {
		if (!read_required(reading, map->keys[i], map->values[i], &required))
			read_rule_word(reading, map->keys[i], map->values[i], &rule);
	}
	if (reading->complaints->count != complaints_before)
		return;
	rule.required = required;
	if (hq_rule_finish(&rule, &error) || add_rule(&reading->scenario->plan, &rule, &error))
		hq_complain(reading->complaints, name, "%s", error.text);
}

/* The injector that an item means: by its `injector` key, else by its own name. */
static const struct hq_injector *
find_injector(struct hq_reading *reading, const struct hq_yaml *name, const struct hq_yaml *map)
{
	const int index = hq_yaml_index(map, "injector");
	const struct hq_yaml *node = index < 0 ? name : map->values[index];
	const char *word = hq_read_text(reading, node, "injector");
	const struct hq_injector *injector = word ? hq_injector_find(word) : NULL;
	const char *names[NAMES_MAX];
	char hint[96];

	if (injector || !word)
		return injector;
	list_injectors(names);
	hq_did_you_mean(word, names, hint, sizeof(hint));
	if (index < 0)
		hq_complain(reading->complaints, node,
			    "'%s' is no injector, and without 'call' no rule%s", word, hint);
	else
		hq_complain(reading->complaints, node, "unknown injector '%s'%s", word, hint);
	return NULL;
}

static void read_injector(struct hq_reading *reading, const struct hq_yaml *name,
			  const struct hq_yaml *map)
{
	static const char *const others[] = { "injector", "required", "optional", NULL };
	const struct hq_injector *injector = find_injector(reading, name, map);
	const size_t complaints_before = reading->complaints->count;
	struct hq_injection injection;
	struct hq_error error;
	char where[96];

	if (!injector)
		return;
	if (begin_injection(&injection, injector, name->text, &error)) {
		hq_complain(reading->complaints, name, "%s", error.text);
		return;
	}
	for (size_t i = 0; i < map->count; i++)
		read_required(reading, map->keys[i], map->values[i], &injection.required);
	snprintf(where, sizeof(where), "injector %s", injector->name);
	hq_read_options(reading, map, where, options_of(injector), injection.options, others);
	if (reading->complaints->count != complaints_before)
		return;
	if (add_injection(&reading->scenario->plan, &injection, &error))
		hq_complain(reading->complaints, name, "%s", error.text);
}

static void read_item(struct hq_reading *reading, const struct hq_yaml *item)
{
	const struct hq_yaml *value = item->count ? item->values[0] : NULL;
	struct hq_error error;

	if (item->kind == HQ_YAML_SCALAR) {
		if (hq_scenario_add_injection(reading->scenario, item->text, &error))
			hq_complain(reading->complaints, item, "%s", error.text);
	} else if (item->kind != HQ_YAML_MAP || item->count != 1) {
		hq_complain(reading->complaints, item,
			    "an injection is one key with its words: NAME: { call: ... }");
	} else if (value->kind != HQ_YAML_MAP && !hq_yaml_is_empty(value)) {
		hq_complain(reading->complaints, value, "'%s' must be a map, not %s",
			    item->keys[0]->text, hq_yaml_kind_name(value->kind));
	} else if (hq_yaml_index(value, "call") >= 0) {
		read_rule(reading, item->keys[0], value);
	} else {
		read_injector(reading, item->keys[0], value);
	}
}

void hq_read_inject(struct hq_reading *reading, const struct hq_yaml *value)
{
	if (value->kind != HQ_YAML_LIST) {
		hq_complain(reading->complaints, value,
			    "inject must be a list (- NAME: { ... }), not %s",
			    hq_yaml_kind_name(value->kind));
		return;
	}
	for (size_t i = 0; i < value->count; i++)
		read_item(reading, value->values[i]);
}
