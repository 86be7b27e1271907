/* SPDX-License-Identifier: MIT */
/*
 * Splitting and quoting command lines.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "stress/plan/words.h"

struct row {
	char text[64];
	char parts[64]; /* joined by '|'; "!" : refused */
};

ParameterizedTestParameters(words, command_line_splits_as_in_a_shell)
{
	static struct row rows[] = {
		{ "a b  c", "a|b|c" },  { "  a\t b\n", "a|b" },
		{ "'a b' c", "a b|c" }, { "\"a b\" c", "a b|c" },
		{ "a\\ b", "a b" },     { "a'b'\"c\"d", "abcd" },
		{ "'' x", "|x" },       { "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d" },
		{ "'a\\b'", "a\\b" },   { "$HOME *", "$HOME|*" },
		{ "'a", "!" },          { "\"a", "!" },
		{ "a\\", "!" },         { "", "" },
	};

	return cr_make_param_array(struct row, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct row *row, words, command_line_splits_as_in_a_shell)
{
	struct hq_error error;
	char joined[128] = "";
	char **words;
	const int status = hq_words_split(row->text, &words, &error);

	cr_assert_eq(status != 0, row->parts[0] == '!', "%s", row->text);
	for (size_t i = 0; words && words[i]; i++) {
		strcat(joined, i ? "|" : "");
		strcat(joined, words[i]);
	}
	if (!status)
		cr_assert_str_eq(joined, row->parts);
	hq_words_free(words);
}

Test(words, quoted_words_split_back_to_themselves)
{
	char *const words[] = { (char *)"a b", (char *)"",      (char *)"it's",
				(char *)"$x",  (char *)"plain", NULL };
	char text[100], **again;
	struct hq_error error;

	cr_assert_eq(hq_words_split(hq_words_quote(words, text, sizeof(text)), &again, &error), 0);
	for (size_t i = 0; words[i]; i++)
		cr_assert_str_eq(again[i], words[i]);
	cr_assert_null(again[5]);
	hq_words_free(again);
}

Test(words, long_quotation_is_cut_and_says_so)
{
	char *const words[] = { (char *)"abcdefghijklmnop", NULL };
	char text[10];

	cr_assert_str_eq(hq_words_quote(words, text, sizeof(text)), "abcdef...");
}
