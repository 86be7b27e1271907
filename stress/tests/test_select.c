/* SPDX-License-Identifier: MIT */
/*
 * The expressions of -k and --tags.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "stress/plan/select.h"

struct row {
	char expression[64];
	enum hq_select_kind kind;
	int matches; /* -1: refused */
};

static const char *const name = "refuse-free[jemalloc-42]";
static const char *const tags = "decay quick";

ParameterizedTestParameters(select, expression_matches_or_is_refused)
{
	static struct row rows[] = {
		{ "refuse", HQ_SELECT_PART_OF_NAME, 1 },
		{ "REFUSE", HQ_SELECT_PART_OF_NAME, 1 },
		{ "glibc", HQ_SELECT_PART_OF_NAME, 0 },
		{ "not glibc", HQ_SELECT_PART_OF_NAME, 1 },
		{ "not not glibc", HQ_SELECT_PART_OF_NAME, 0 },
		{ "refuse and jemalloc", HQ_SELECT_PART_OF_NAME, 1 },
		{ "refuse and glibc", HQ_SELECT_PART_OF_NAME, 0 },
		{ "glibc or jemalloc", HQ_SELECT_PART_OF_NAME, 1 },
		{ "refuse or glibc and glibc", HQ_SELECT_PART_OF_NAME, 1 },
		{ "(refuse or glibc) and glibc", HQ_SELECT_PART_OF_NAME, 0 },
		{ "[jemalloc-42]", HQ_SELECT_PART_OF_NAME, 1 },
		{ "glibc, refuse", HQ_SELECT_PART_OF_NAME, 1 },
		{ "quick", HQ_SELECT_TAG, 1 },
		{ "quic", HQ_SELECT_TAG, 0 },
		{ "slow,decay", HQ_SELECT_TAG, 1 },
		{ "decay and not quick", HQ_SELECT_TAG, 0 },
		{ "", HQ_SELECT_TAG, -1 },
		{ "and", HQ_SELECT_TAG, -1 },
		{ "a and", HQ_SELECT_TAG, -1 },
		{ "a b", HQ_SELECT_TAG, -1 },
		{ "(a", HQ_SELECT_TAG, -1 },
		{ "a)", HQ_SELECT_TAG, -1 },
		{ "a,,b", HQ_SELECT_TAG, -1 },
		{ "not", HQ_SELECT_TAG, -1 },
		{ "((((((((((((((((((((((((((((((((((((((((a", HQ_SELECT_TAG, -1 },
	};

	return cr_make_param_array(struct row, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct row *row, select, expression_matches_or_is_refused)
{
	const char *text = row->kind == HQ_SELECT_TAG ? tags : name;
	struct hq_error error = { .text = "" };
	bool matches = false;
	const int status = hq_select(row->expression, row->kind, text, &matches, &error);

	cr_assert_eq(status != 0, row->matches < 0, "'%s': %s", row->expression, error.text);
	if (row->matches >= 0)
		cr_assert_eq(matches, row->matches == 1, "'%s'", row->expression);
}
