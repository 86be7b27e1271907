/* SPDX-License-Identifier: MIT */
/*
 * The YAML tree: kinds, places, and everything that is refused with a sentence.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/plan/yaml_node.h"

static struct hq_yaml *parse(const char *text)
{
	struct hq_yaml_place place;
	struct hq_error error = { .text = "" };
	struct hq_yaml *root;

	cr_assert_eq(hq_yaml_parse(text, strlen(text), &root, &place, &error), 0, "%s", error.text);
	return root;
}

Test(yaml_node, map_keeps_keys_and_values_in_order)
{
	struct hq_yaml *root = parse("a: 1\nb: two words\n");

	cr_assert_eq(root->kind, HQ_YAML_MAP);
	cr_assert_eq(root->count, 2);
	cr_assert_str_eq(root->keys[1]->text, "b");
	cr_assert_str_eq(root->values[1]->text, "two words");
	hq_yaml_free(root);
}

Test(yaml_node, value_knows_its_line_and_column)
{
	struct hq_yaml *root = parse("first: 1\nsecond: { inner: 2 }\n");
	const struct hq_yaml *inner = root->values[1]->values[0];

	cr_assert_eq(inner->line, 2);
	cr_assert_eq(inner->column, 18);
	hq_yaml_free(root);
}

Test(yaml_node, column_counts_characters_not_bytes)
{
	struct hq_yaml *root = parse("\xc3\xa9\xc3\xa9: x\n");

	cr_assert_eq(root->values[0]->column, 5);
	hq_yaml_free(root);
}

Test(yaml_node, index_of_a_missing_key_is_minus_one)
{
	struct hq_yaml *root = parse("a: 1\n");

	cr_assert_eq(hq_yaml_index(root, "a"), 0);
	cr_assert_eq(hq_yaml_index(root, "b"), -1);
	hq_yaml_free(root);
}

Test(yaml_node, key_without_value_is_empty_but_quoted_nothing_is_not)
{
	struct hq_yaml *root = parse("a:\nb: \"\"\n");

	cr_assert(hq_yaml_is_empty(root->values[0]));
	cr_assert_not(hq_yaml_is_empty(root->values[1]));
	hq_yaml_free(root);
}

struct refused {
	char text[80];
	size_t length; /* 0: of the string */
	uint32_t line, column;
	char word[40]; /* in the sentence */
};

ParameterizedTestParameters(yaml_node, refused_text_names_place_and_reason)
{
	static struct refused rows[] = {
		{ "", 0, 1, 1, "empty" },
		{ "# only a comment\n", 0, 2, 1, "empty" },
		{ "a: &x 1\n", 0, 1, 4, "anchors" },
		{ "a: [1]\nb: &x [2]\n", 0, 2, 4, "anchors" },
		{ "a: *x\n", 0, 1, 4, "aliases" },
		{ "a: !!str 1\n", 0, 1, 4, "tags" },
		{ "a: !x {}\n", 0, 1, 4, "tags" },
		{ "a: 1\na: 2\n", 0, 2, 1, "already given in line 1" },
		{ "[1]: 2\n", 0, 1, 1, "a key must be a word" },
		{ "a:\n\tb: 1\n", 0, 2, 1, "tab" },
		{ "\xc3\xa9: 1\nb:\n\tc: 1\n", 0, 3, 1, "tab" },
		{ "a: 1\n---\nb: 2\n", 0, 2, 1, "second document" },
		{ "a: [1, 2\n", 0, 2, 1, "not YAML" },
		{ "a: b: c\n", 0, 1, 5, "not YAML" },
		{ "ab: \xff\n", 0, 1, 5, "UTF-8" },
		{ "a: \"\\0\"\n", 0, 1, 4, "NUL" },
		{ "a: x\0y\n", 7, 1, 5, "not UTF-8 text" },
		{ "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", 0, 1, 17, "nested" },
	};

	return cr_make_param_array(struct refused, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct refused *row, yaml_node, refused_text_names_place_and_reason)
{
	struct hq_yaml_place place;
	struct hq_error error = { .text = "" };
	struct hq_yaml *root;
	const size_t length = row->length ? row->length : strlen(row->text);

	cr_assert_neq(hq_yaml_parse(row->text, length, &root, &place, &error), 0);
	cr_assert_null(root);
	cr_assert(strstr(error.text, row->word), "'%s' says: %s", row->text, error.text);
	cr_assert_eq(place.line, row->line, "'%s': line %u", row->text, place.line);
	cr_assert_eq(place.column, row->column, "'%s': column %u", row->text, place.column);
}

Test(yaml_node, huge_text_is_refused)
{
	const size_t length = HQ_YAML_BYTES_MAX + 1;
	char *text = malloc(length);
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root;

	memset(text, '#', length);
	cr_assert_eq(hq_yaml_parse(text, length, &root, &place, &error), -EINVAL);
	cr_assert(strstr(error.text, "1 MiB"));
	free(text);
}

Test(yaml_node, too_many_entries_are_refused)
{
	char *text = malloc(16 * (HQ_YAML_ENTRIES_MAX + 2));
	size_t length = 0;
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root;

	for (int i = 0; i <= HQ_YAML_ENTRIES_MAX; i++)
		length += (size_t)sprintf(text + length, "k%d: 1\n", i);
	cr_assert_eq(hq_yaml_parse(text, length, &root, &place, &error), -EINVAL);
	cr_assert(strstr(error.text, "entries"));
	free(text);
}

Test(yaml_node, missing_file_and_folder_and_device_are_refused)
{
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root;

	cr_assert_eq(hq_yaml_read("/nonexistent/x.yaml", &root, &place, &error), -ENOENT);
	cr_assert_eq(hq_yaml_read("/proc", &root, &place, &error), -EISDIR);
	cr_assert_eq(hq_yaml_read("/dev/zero", &root, &place, &error), -EINVAL);
	cr_assert_null(root);
}
