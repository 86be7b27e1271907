/* SPDX-License-Identifier: MIT */
/* Text from targets is made fit to be shown. */
#include <criterion/criterion.h>

#include "stress/report/clean.h"
#include "stress/report/report.h"

static void assert_clean(const char *text, enum hq_clean how, const char *expected)
{
	char out[200];

	cr_assert_str_eq(hq_clean(text, how, out, sizeof(out)), expected);
}

Test(clean, ordinary_text_stays_as_it_is)
{
	assert_clean("block 0x10 of 3 bytes: \\ \"", HQ_CLEAN_LINE, "block 0x10 of 3 bytes: \\ \"");
	assert_clean("", HQ_CLEAN_LINE, "");
	assert_clean("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", HQ_CLEAN_LINE,
		     "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
}

Test(clean, bytes_that_are_no_utf8_are_escaped)
{
	assert_clean("a\xffz", HQ_CLEAN_LINE, "a\\xffz");
	assert_clean("a\xc3", HQ_CLEAN_LINE, "a\\xc3");
	assert_clean("a\xc3(", HQ_CLEAN_LINE, "a\\xc3(");
	assert_clean("\x80", HQ_CLEAN_LINE, "\\x80");
	assert_clean("\xe2\x82", HQ_CLEAN_LINE, "\\xe2\\x82");
}

Test(clean, overlong_forms_surrogates_and_numbers_beyond_unicode_are_escaped)
{
	assert_clean("\xc0\xaf", HQ_CLEAN_UTF8, "\\xc0\\xaf");
	assert_clean("\xe0\x80\xaf", HQ_CLEAN_UTF8, "\\xe0\\x80\\xaf");
	assert_clean("\xed\xa0\x80", HQ_CLEAN_UTF8, "\\xed\\xa0\\x80");
	assert_clean("\xf4\x90\x80\x80", HQ_CLEAN_UTF8, "\\xf4\\x90\\x80\\x80");
	assert_clean("\xf8\x88\x80\x80\x80", HQ_CLEAN_UTF8, "\\xf8\\x88\\x80\\x80\\x80");
}

Test(clean, control_characters_are_escaped_where_they_may_not_stay)
{
	assert_clean("\x1b[31m\x7f", HQ_CLEAN_LINE, "\\x1b[31m\\x7f");
	assert_clean("\xc2\x9b"
		     "31m",
		     HQ_CLEAN_LINE, "\\u009b31m");
	assert_clean("\x1b", HQ_CLEAN_LINES, "\\x1b");
	assert_clean("\x1b", HQ_CLEAN_UTF8, "\x1b");
}

Test(clean, marks_that_turn_text_around_and_no_characters_are_escaped)
{
	assert_clean("\xe2\x80\xae", HQ_CLEAN_LINE, "\\u202e");
	assert_clean("\xef\xbf\xbf", HQ_CLEAN_LINE, "\\uffff");
}

Test(clean, a_line_feed_stays_in_lines_and_is_escaped_in_a_line)
{
	assert_clean("a\nb\tc", HQ_CLEAN_LINES, "a\nb\tc");
	assert_clean("a\nb\tc", HQ_CLEAN_LINE, "a\\nb c");
}

Test(clean, what_does_not_fit_is_cut_between_two_characters)
{
	char out[6];

	cr_assert_str_eq(hq_clean("abcdefgh", HQ_CLEAN_LINE, out, sizeof(out)), "abcde");
	cr_assert_str_eq(hq_clean("abcd\xc3\xbc", HQ_CLEAN_LINE, out, sizeof(out)), "abcd");
	cr_assert_str_eq(hq_clean("abc\xff", HQ_CLEAN_LINE, out, sizeof(out)), "abc");
}

Test(clean, there_is_room_for_the_longest_text_of_a_result)
{
	const struct hq_result *result = NULL;

	cr_assert_geq(HQ_CLEAN_SIZE, 4 * (sizeof(result->repro) - 1) + 1);
	cr_assert_geq(HQ_CLEAN_SIZE, 4 * (sizeof(result->reason) - 1) + 1);
	cr_assert_geq(HQ_CLEAN_SIZE, 4 * (sizeof(result->findings.list[0].evidence) - 1) + 1);
	cr_assert_geq(HQ_CLEAN_SIZE, 4 * (sizeof(result->findings.list[0].text) - 1) + 1);
}
