/* SPDX-License-Identifier: MIT */
/*
 * Reading values of a scenario file: kinds are checked here, once, with the same sentences
 * everywhere.
 */
#include "stress/plan/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "stress/plan/words.h"

#define NAMES_MAX 64

const char *hq_did_you_mean(const char *word, const char *const *list, char *text, size_t size)
{
	const char *nearest = hq_suggest(word, list);

	text[0] = '\0';
	if (nearest)
		snprintf(text, size, "; did you mean '%s'?", nearest);
	return text;
}

static void complain_unknown(struct hq_reading *reading, const struct hq_yaml *key,
			     const char *where, const char *const *names)
{
	char hint[96];

	hq_complain(reading->complaints, key, "unknown key '%s' in %s%s", key->text, where,
		    hq_did_you_mean(key->text, names, hint, sizeof(hint)));
}

static const struct hq_section *find_section(const struct hq_section *sections, const char *name)
{
	for (; sections->name; sections++) {
		if (strcmp(sections->name, name) == 0)
			return sections;
	}
	return NULL;
}

void hq_read_sections(struct hq_reading *reading, const struct hq_yaml *map, const char *where,
		      const struct hq_section *sections)
{
	const char *names[NAMES_MAX] = { NULL };

	for (size_t i = 0; sections[i].name && i + 1 < NAMES_MAX; i++)
		names[i] = sections[i].name;
	for (size_t i = 0; i < map->count; i++) {
		if (!find_section(sections, map->keys[i]->text))
			complain_unknown(reading, map->keys[i], where, names);
	}
	for (; sections->name; sections++) {
		const int index = hq_yaml_index(map, sections->name);

		if (index < 0)
			continue;
		if (hq_yaml_is_empty(map->values[index]))
			hq_complain(reading->complaints, map->keys[index], "'%s' has no value",
				    sections->name);
		else
			sections->read(reading, map->values[index]);
	}
}

const char *hq_read_text(struct hq_reading *reading, const struct hq_yaml *value, const char *what)
{
	if (value->kind != HQ_YAML_SCALAR) {
		hq_complain(reading->complaints, value, "%s must be a single value, not %s", what,
			    hq_yaml_kind_name(value->kind));
		return NULL;
	}
	if (hq_yaml_is_empty(value)) {
		hq_complain(reading->complaints, value, "%s has no value", what);
		return NULL;
	}
	return value->text;
}

bool hq_read_text_into(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		       char *text, size_t size)
{
	const char *given = hq_read_text(reading, value, what);

	if (!given)
		return false;
	if (strlen(given) >= size) {
		hq_complain(reading->complaints, value, "%s is longer than %zu characters", what,
			    size - 1);
		return false;
	}
	if (strpbrk(given, "\n\r")) {
		hq_complain(reading->complaints, value, "%s must be a single line", what);
		return false;
	}
	strcpy(text, given);
	return true;
}

bool hq_read_map(struct hq_reading *reading, const struct hq_yaml *value, const char *what)
{
	if (value->kind == HQ_YAML_MAP)
		return true;
	hq_complain(reading->complaints, value, "%s must be a map (key: value), not %s", what,
		    hq_yaml_kind_name(value->kind));
	return false;
}

bool hq_read_bool(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		  bool *result)
{
	const char *text = hq_read_text(reading, value, what);

	if (!text)
		return false;
	if (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0)
		*result = true;
	else if (strcmp(text, "false") == 0 || strcmp(text, "no") == 0)
		*result = false;
	else {
		hq_complain(reading->complaints, value, "%s must be true or false, not '%s'", what,
			    text);
		return false;
	}
	return true;
}

bool hq_read_joined(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		    char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	if (value->kind != HQ_YAML_LIST)
		return hq_read_text_into(reading, value, what, text, size);
	for (size_t i = 0; i < value->count; i++) {
		const char *part = hq_read_text(reading, value->values[i], what);

		if (!part)
			return false;
		length +=
			(size_t)snprintf(text + length, size - length, "%s%s", i ? "," : "", part);
		if (length >= size) {
			hq_complain(reading->complaints, value, "%s is too long", what);
			return false;
		}
	}
	return true;
}

char **hq_read_words(struct hq_reading *reading, const struct hq_yaml *value, const char *what)
{
	char **words = NULL;
	const size_t count = value->kind == HQ_YAML_LIST ? value->count : 1;

	for (size_t i = 0; i < count; i++) {
		const struct hq_yaml *one = value->kind == HQ_YAML_LIST ? value->values[i] : value;
		const char *text = hq_read_text(reading, one, what);

		if (!text || hq_words_add(&words, text)) {
			hq_words_free(words);
			return NULL;
		}
	}
	if (!words)
		hq_complain(reading->complaints, value, "%s is an empty list", what);
	return words;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; list && *list; list++) {
		if (strcmp(word, *list) == 0)
			return true;
	}
	return false;
}

/* Every key that the map may have, for suggestions. */
static void list_names(const struct hq_option *table, const char *const *others,
		       const char *names[NAMES_MAX])
{
	size_t count = 0;

	for (; table->name && count + 1 < NAMES_MAX; table++)
		names[count++] = table->name;
	for (; others && *others && count + 1 < NAMES_MAX; others++)
		names[count++] = *others;
	names[count] = NULL;
}

static void read_option(struct hq_reading *reading, const struct hq_yaml *map, size_t index,
			const struct hq_option *table, void *values)
{
	const char *key = map->keys[index]->text;
	char text[1024];
	struct hq_error error;

	if (!hq_read_joined(reading, map->values[index], key, text, sizeof(text)))
		return;
	if (hq_options_set(table, values, key, text, &error))
		hq_complain(reading->complaints, map->values[index], "%s", error.text);
}

static void complain_missing(struct hq_reading *reading, const struct hq_yaml *map,
			     const char *where, const struct hq_option *table)
{
	for (; table->name; table++) {
		if (!table->fallback && hq_yaml_index(map, table->name) < 0)
			hq_complain(reading->complaints, map, "%s needs '%s': %s", where,
				    table->name, table->help);
	}
}

void hq_read_options(struct hq_reading *reading, const struct hq_yaml *map, const char *where,
		     const struct hq_option *table, void *values, const char *const *others)
{
	const char *names[NAMES_MAX];

	list_names(table, others, names);
	complain_missing(reading, map, where, table);
	if (hq_yaml_is_empty(map) || !hq_read_map(reading, map, where))
		return;
	for (size_t i = 0; i < map->count; i++) {
		if (is_one_of(map->keys[i]->text, others))
			continue;
		if (hq_option_find(table, map->keys[i]->text))
			read_option(reading, map, i, table, values);
		else
			complain_unknown(reading, map->keys[i], where, names);
	}
}
