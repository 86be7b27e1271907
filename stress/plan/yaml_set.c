/* SPDX-License-Identifier: MIT */
/*
 * The walk down the tree along a setting's keys, and what it changes at the end. New nodes have no
 * line in the file: a complaint about one of them is about the file as a whole.
 */
#include "stress/plan/yaml_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 8

struct setting {
	const char *text; /* all of it, for complaints */
	char *copy;       /* cut into keys */
	const char *keys[KEYS_MAX];
	size_t count;
	const char *value;
};

static int refuse(const struct setting *setting, const char *why, struct hq_error *error)
{
	return hq_error_set(error, "setting '%.120s': %s", setting->text, why);
}

static int add_key(struct setting *setting, const char *key, struct hq_error *error)
{
	if (setting->count == KEYS_MAX)
		return refuse(setting, "more keys than any scenario has", error);
	if (!*key)
		return refuse(setting, "a key is empty; write KEY.KEY=VALUE", error);
	setting->keys[setting->count++] = key;
	return 0;
}

/* Names of environment variables have no dots, values may have anything. */
static int cut(struct setting *setting, const char *text, struct hq_error *error)
{
	static const char *const of_target[] = { "allocator", "env" };
	char *equals = strchr(setting->copy, '='), *rest = setting->copy;
	int status = 0;

	setting->text = text;
	if (!equals)
		return refuse(setting, "write KEY=VALUE, as in workload.rows=10k", error);
	*equals = '\0';
	setting->value = equals + 1;
	for (size_t i = 0; i < 2; i++) {
		const size_t length = strlen(of_target[i]);

		if (!strncmp(rest, of_target[i], length) &&
		    (rest[length] == '\0' || rest[length] == '.'))
			status = add_key(setting, "target", error);
	}
	for (char *key; !status && (key = strsep(&rest, "."));)
		status = add_key(setting, key, error);
	return status;
}

static struct hq_yaml *new_node(enum hq_yaml_kind kind, const char *text)
{
	struct hq_yaml *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->kind = kind;
	if (kind == HQ_YAML_SCALAR && !(node->text = strdup(text))) {
		free(node);
		return NULL;
	}
	return node;
}

/* Takes `value` over, also on failure. */
static int append(struct hq_yaml *map, const char *key, struct hq_yaml *value)
{
	struct hq_yaml **keys = reallocarray(map->keys, map->count + 1, sizeof(*keys));
	struct hq_yaml *name = new_node(HQ_YAML_SCALAR, key);

	if (keys)
		map->keys = keys;
	struct hq_yaml **values = reallocarray(map->values, map->count + 1, sizeof(*values));

	if (values)
		map->values = values;
	if (!keys || !values || !name || !value) {
		hq_yaml_free(name);
		hq_yaml_free(value);
		return -ENOMEM;
	}
	map->keys[map->count] = name;
	map->values[map->count++] = value;
	return 0;
}

/* `key:` with nothing behind it becomes a map without entries. */
static void make_map(struct hq_yaml *node)
{
	if (!hq_yaml_is_empty(node))
		return;
	free(node->text);
	node->text = NULL;
	node->kind = HQ_YAML_MAP;
}

/* In a list: the item that has the key, which is a map, or the key itself. */
static struct hq_yaml **find_item(struct hq_yaml *list, const char *key)
{
	for (size_t i = 0; i < list->count; i++) {
		struct hq_yaml *item = list->values[i];
		const int index = item->kind == HQ_YAML_MAP ? hq_yaml_index(item, key) : -1;

		if (index >= 0)
			return &item->values[index];
	}
	return NULL;
}

static struct hq_yaml **find(struct hq_yaml *node, const char *key)
{
	if (node->kind == HQ_YAML_LIST)
		return find_item(node, key);
	const int index = node->kind == HQ_YAML_MAP ? hq_yaml_index(node, key) : -1;

	return index < 0 ? NULL : &node->values[index];
}

/* `workload: NAME` becomes `workload: { NAME: }`, to have a place for options. */
static int open_workload(struct hq_yaml *workload)
{
	char *name = workload->text;

	if (workload->kind != HQ_YAML_SCALAR || hq_yaml_is_empty(workload))
		return 0;
	workload->kind = HQ_YAML_MAP;
	workload->text = NULL;
	const int status = append(workload, name, new_node(HQ_YAML_SCALAR, ""));

	free(name);
	return status;
}

/* The workload's name may be left out: there is only one. NULL without memory. */
static struct hq_yaml *skip_name(struct hq_yaml *workload, const char *next)
{
	if (open_workload(workload))
		return NULL;
	if (workload->kind != HQ_YAML_MAP || workload->count != 1 ||
	    hq_yaml_index(workload, next) >= 0)
		return workload;
	make_map(workload->values[0]);
	return workload->values[0];
}

/* The place of the last key's value; one that is missing is made empty. NULL after a complaint. */
static struct hq_yaml **walk(struct hq_yaml *root, const struct setting *setting,
			     struct hq_error *error)
{
	struct hq_yaml *node = root, **place = NULL;

	for (size_t i = 0; i < setting->count; i++) {
		const char *key = setting->keys[i];

		make_map(node);
		place = find(node, key);
		if (!place && node->kind != HQ_YAML_MAP) {
			refuse(setting, i ? "there is nothing of that name" : "not a scenario",
			       error);
			return NULL;
		}
		if (!place && append(node, key, new_node(HQ_YAML_SCALAR, ""))) {
			refuse(setting, "out of memory", error);
			return NULL;
		}
		place = place ? place : &node->values[node->count - 1];
		node = *place;
		if (i == 0 && !strcmp(key, "workload") && setting->count > 1)
			node = skip_name(node, setting->keys[1]);
		if (!node) {
			refuse(setting, "out of memory", error);
			return NULL;
		}
	}
	return place;
}

/* Nodes of a setting have no place in the file. */
static void forget_places(struct hq_yaml *node)
{
	node->line = node->column = 0;
	for (size_t i = 0; i < node->count; i++) {
		forget_places(node->values[i]);
		if (node->kind == HQ_YAML_MAP)
			forget_places(node->keys[i]);
	}
}

static int parse_value(const struct setting *setting, struct hq_yaml **value,
		       struct hq_error *error)
{
	/* Only what cannot be meant otherwise is read as YAML: "a:b,c: d" is a value too. */
	const bool nested = setting->value[0] == '{' || setting->value[0] == '[';
	struct hq_yaml_place place;
	struct hq_error why;

	*value = NULL;
	if (!nested)
		*value = new_node(HQ_YAML_SCALAR, setting->value);
	else if (hq_yaml_parse(setting->value, strlen(setting->value), value, &place, &why))
		return refuse(setting, why.text, error);
	if (!*value)
		return refuse(setting, "out of memory", error);
	forget_places(*value);
	return 0;
}

int hq_yaml_set(struct hq_yaml *root, const char *text, struct hq_error *error)
{
	struct setting setting = { .copy = strdup(text) };
	struct hq_yaml *value = NULL, **place = NULL;
	int status =
		setting.copy ? cut(&setting, text, error) : hq_error_set(error, "out of memory");

	if (!status)
		status = parse_value(&setting, &value, error);
	if (!status) {
		place = walk(root, &setting, error);
		status = place ? 0 : -EINVAL;
	}
	if (place) {
		hq_yaml_free(*place);
		*place = value;
	} else {
		hq_yaml_free(value);
	}
	free(setting.copy);
	return status;
}
