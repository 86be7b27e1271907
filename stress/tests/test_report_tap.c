/* SPDX-License-Identifier: MIT */
/* The report for test harnesses, read by a small parser of TAP and by a real one of YAML. */
#include <criterion/criterion.h>
#include <string.h>
#include <yaml.h>

#include "stress/tests/reported.h"

struct point {
	bool ok;
	unsigned int number;
	char description[400];
	char directive[400]; /* "SKIP reason", "TODO reason", "" */
	char diagnostics[4000];
};

struct document {
	unsigned int planned;
	struct point points[8];
	size_t count;
};

/* Splits at the first '#' that is not escaped, and takes the escapes away. */
static void split_description(const char *text, struct point *point)
{
	char *out = point->description;

	for (; *text; text++) {
		if (*text == '#') {
			snprintf(point->directive, sizeof(point->directive), "%s", text + 2);
			break;
		}
		if (*text == '\\')
			text++;
		*out++ = *text;
	}
	while (out > point->description && out[-1] == ' ')
		out--;
	*out = '\0';
}

static void read_point(const char *line, struct document *document)
{
	struct point *point = &document->points[document->count++];
	int length = 0;

	cr_assert_lt(document->count, 9);
	point->ok = strncmp(line, "not ", 4) != 0;
	line += point->ok ? 0 : 4;
	cr_assert_eq(sscanf(line, "ok %u - %n", &point->number, &length), 1, "%s", line);
	split_description(line + length, point);
}

static struct document parse(char *text)
{
	struct document document = { 0 };
	bool in_yaml = false;
	char *save = NULL;
	char *line = strtok_r(text, "\n", &save);

	cr_assert_str_eq(line, "TAP version 14");
	line = strtok_r(NULL, "\n", &save);
	cr_assert_eq(sscanf(line, "1..%u", &document.planned), 1);
	while ((line = strtok_r(NULL, "\n", &save))) {
		if (!strcmp(line, "  ---")) {
			in_yaml = true;
		} else if (!strcmp(line, "  ...")) {
			in_yaml = false;
		} else if (in_yaml) {
			char *diagnostics = document.points[document.count - 1].diagnostics;

			cr_assert_eq(strncmp(line, "  ", 2), 0, "%s", line);
			strcat(strcat(diagnostics, line + 2), "\n");
		} else if (line[0] != '#') {
			read_point(line, &document);
		}
	}
	cr_assert(!in_yaml);
	return document;
}

static struct document written(const struct hq_result *results, size_t count)
{
	const struct hq_suite suite = { .results = results,
					.count = count,
					.seed = 42,
					.wall_ns = 31240000000,
					.program_version = "0.1" };
	char *text = reported_text("tap", &suite);

	cr_assert(reported_is_printable(text));
	const struct document document = parse(text);

	free(text);
	return document;
}

/* The value of a key at the top of a YAML mapping; false: not YAML, or no such key. */
static bool yaml_find(const char *text, const char *key, char *value, size_t size)
{
	yaml_parser_t parser;
	yaml_document_t document;
	bool found = false;

	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (!yaml_parser_load(&parser, &document)) {
		yaml_parser_delete(&parser);
		return false;
	}
	const yaml_node_t *root = yaml_document_get_root_node(&document);
	const yaml_node_pair_t *pair = root->data.mapping.pairs.start;

	for (; pair < root->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(&document, pair->key);
		const yaml_node_t *node = yaml_document_get_node(&document, pair->value);

		if (strcmp((const char *)name->data.scalar.value, key))
			continue;
		found = true;
		if (node->type == YAML_SCALAR_NODE)
			snprintf(value, size, "%s", (const char *)node->data.scalar.value);
	}
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	return found;
}

Test(tap, plan_and_points_agree)
{
	struct hq_result results[7];
	const struct document document = written(results, reported_all(results));

	cr_assert_eq(document.planned, 7);
	cr_assert_eq(document.count, 7);
	for (unsigned int i = 0; i < 7; i++)
		cr_assert_eq(document.points[i].number, i + 1);
}

Test(tap, each_verdict_is_told_in_the_words_of_the_protocol)
{
	struct hq_result results[7];
	const struct document document = written(results, reported_all(results));
	static const struct {
		bool ok;
		const char *directive;
	} expected[] = { { true, "" },
			 { false, "" },
			 { false, "" },
			 { true, "SKIP mimalloc is not installed" },
			 { false, "TODO known: spins" },
			 { false, "" },
			 { false, "" } };

	for (size_t i = 0; i < 7; i++) {
		cr_assert_eq(document.points[i].ok, expected[i].ok, "%zu", i);
		cr_assert_str_eq(document.points[i].directive, expected[i].directive);
	}
	cr_assert_str_eq(document.points[1].description, "refuse-free on glibc (seed 42)");
}

Test(tap, diagnostics_are_yaml_with_verdict_message_and_findings)
{
	struct hq_result results[7];
	const struct document document = written(results, reported_all(results));
	const char *diagnostics = document.points[1].diagnostics;
	char value[1000] = "";

	cr_assert(yaml_find(diagnostics, "verdict", value, sizeof(value)), "%s", diagnostics);
	cr_assert_str_eq(value, "FAIL");
	cr_assert(yaml_find(diagnostics, "message", value, sizeof(value)));
	cr_assert_str_eq(value, "the content of a live block changed");
	cr_assert(yaml_find(diagnostics, "findings", value, sizeof(value)));
	cr_assert(yaml_find(diagnostics, "injected", value, sizeof(value)));
	cr_assert(yaml_find(diagnostics, "reproduce", value, sizeof(value)));
	cr_assert_str_eq(document.points[0].diagnostics, "");
}

Test(tap, a_name_cannot_make_itself_a_directive)
{
	struct hq_result result = reported(HQ_VERDICT_FAIL, "x # TODO later");
	const struct document document = written(&result, 1);

	cr_assert_str_eq(document.points[0].directive, "");
	cr_assert_str_eq(document.points[0].description, "refuse-free on x # TODO later (seed 42)");
}

Test(tap, nasty_strings_leave_points_and_yaml_intact)
{
	const struct hq_result result = reported_nasty();
	const struct document document = written(&result, 1);
	char value[1000] = "";

	cr_assert_eq(document.count, 1);
	cr_assert_str_eq(document.points[0].directive, "");
	cr_assert(yaml_find(document.points[0].diagnostics, "message", value, sizeof(value)), "%s",
		  document.points[0].diagnostics);
	cr_assert_str_eq(value,
			 "<&>\"'\\]]> \\x1b[31m \\xff\\xc3 # TODO \\n \\x01 gr\xc3\xbc\xc3\x9f "
			 "\\uffff \\u202e");
}

Test(tap, an_empty_suite_is_a_skipped_plan)
{
	const struct hq_suite suite = { .seed = 42 };
	char *text = reported_text("tap", &suite);

	cr_assert_eq(strncmp(text, "TAP version 14\n1..0 # SKIP nothing was run\n", 43), 0);
	free(text);
}
