/* SPDX-License-Identifier: MIT */
/*
 * The two tables behind the self-test: what the allocator says of its bugs, and which scenario
 * provokes which. They are joined by name, and must agree.
 */
#include <errno.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/command/selftest.h"
#include "stress/plan/yaml_node.h"

/* Copies one field; *text moves behind it. False when it is missing or too long. */
static bool take_field(const char **text, char *field, size_t size)
{
	const size_t length = strcspn(*text, "\t\n");

	if (length == 0 || length >= size)
		return false;
	memcpy(field, *text, length);
	field[length] = '\0';
	*text += length + ((*text)[length] == '\t');
	return true;
}

static bool take_line(const char **text, struct hq_selftest_bug *bug)
{
	const bool whole = take_field(text, bug->name, sizeof(bug->name)) &&
			   take_field(text, bug->contract, sizeof(bug->contract)) &&
			   take_field(text, bug->when, sizeof(bug->when)) &&
			   take_field(text, bug->checker, sizeof(bug->checker)) &&
			   take_field(text, bug->help, sizeof(bug->help)) && **text == '\n';

	*text += whole;
	return whole;
}

int hq_selftest_parse_bugs(const char *text, struct hq_selftest_bugs *bugs, struct hq_error *error)
{
	*bugs = (struct hq_selftest_bugs){ .count = 0 };
	while (*text) {
		struct hq_selftest_bug bug = { .scenario = "" };

		if (bugs->count == HQ_SELFTEST_BUGS)
			return hq_error_set(error, "the allocator has more than %d bugs",
					    HQ_SELFTEST_BUGS);
		if (!take_line(&text, &bug))
			return hq_error_set(error, "line %zu of the allocator's bugs is not whole",
					    bugs->count + 1);
		bugs->list[bugs->count++] = bug;
	}
	return 0;
}

static struct hq_selftest_bug *find(struct hq_selftest_bugs *bugs, const char *name)
{
	for (size_t i = 0; i < bugs->count; i++) {
		if (strcmp(bugs->list[i].name, name) == 0)
			return &bugs->list[i];
	}
	return NULL;
}

static int take_row(const struct hq_yaml *key, const struct hq_yaml *value,
		    struct hq_selftest_bugs *bugs, struct hq_error *error)
{
	struct hq_selftest_bug *bug = find(bugs, key->text);

	if (!bug)
		return hq_error_set(error, "line %u: the allocator has no bug '%.100s'", key->line,
				    key->text);
	if (value->kind != HQ_YAML_LIST || value->count < 2 || value->count > 3 ||
	    value->values[0]->kind != HQ_YAML_SCALAR || value->values[1]->kind != HQ_YAML_SCALAR)
		return hq_error_set(error, "line %u: write '%.100s: [scenario, budget, quick]'",
				    key->line, key->text);
	if (strlen(value->values[0]->text) >= sizeof(bug->scenario))
		return hq_error_set(error, "line %u: the name is too long", key->line);
	strcpy(bug->scenario, value->values[0]->text);
	bug->quick = value->count == 3;
	return hq_units_parse_duration(value->values[1]->text, &bug->budget_ns, error);
}

static int check_covered(const struct hq_selftest_bugs *bugs, struct hq_error *error)
{
	for (size_t i = 0; i < bugs->count; i++) {
		const struct hq_selftest_bug *bug = &bugs->list[i];

		if (!bug->scenario[0] && strcmp(bug->checker, "-") != 0)
			return hq_error_set(error, "bug '%s' has a checker and no scenario",
					    bug->name);
	}
	return 0;
}

int hq_selftest_read_table(const char *path, struct hq_selftest_bugs *bugs, struct hq_error *error)
{
	struct hq_yaml_place place;
	struct hq_yaml *root;
	int status = hq_yaml_read(path, &root, &place, error);

	if (status)
		return status;
	if (root->kind != HQ_YAML_MAP)
		status = hq_error_set(error, "it is not a map of bugs");
	for (size_t i = 0; !status && i < root->count; i++)
		status = take_row(root->keys[i], root->values[i], bugs, error);
	hq_yaml_free(root);
	return status ? status : check_covered(bugs, error);
}
