/* SPDX-License-Identifier: MIT */
/*
 * Text through a small buffer.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/text.h"

static char written[4096];
static unsigned calls;

static void append(void *argument, const char *text)
{
	cr_assert_eq(argument, &calls);
	cr_assert_leq(strlen(written) + strlen(text), sizeof(written) - 1);
	strcat(written, text);
	calls++;
}

static struct bedrock_text text;

static void setup(void)
{
	bedrock_text_init(&text, append, &calls);
}

TestSuite(text, .init = setup);

Test(text, nothing_is_written_before_the_flush_and_nothing_for_an_empty_text)
{
	bedrock_text_flush(&text);
	bedrock_text_add(&text, "abc");
	cr_assert_eq(calls, 0);
	bedrock_text_flush(&text);
	cr_assert_eq(calls, 1);
	cr_assert_str_eq(written, "abc");
}

Test(text, long_text_comes_in_pieces_and_whole)
{
	char line[1001];

	for (size_t i = 0; i < 1000; i++)
		line[i] = (char)('a' + i % 26);
	line[1000] = '\0';
	bedrock_text_add(&text, line);
	bedrock_text_flush(&text);
	cr_assert_str_eq(written, line);
	cr_assert_eq(calls, 4);
}

Test(text, numbers_up_to_the_ends_of_their_ranges)
{
	bedrock_text_add_number(&text, 0);
	bedrock_text_add(&text, " ");
	bedrock_text_add_number(&text, UINT64_MAX);
	bedrock_text_add(&text, " ");
	bedrock_text_add_signed(&text, INT64_MIN);
	bedrock_text_flush(&text);
	cr_assert_str_eq(written, "0 18446744073709551615 -9223372036854775808");
}

Test(text, padding_counts_from_the_start_of_the_line)
{
	bedrock_text_add(&text, "long line\nab");
	bedrock_text_flush(&text);
	bedrock_text_pad(&text, 4);
	bedrock_text_add(&text, "c");
	bedrock_text_pad(&text, 3);
	bedrock_text_flush(&text);
	cr_assert_str_eq(written, "long line\nab  c");
}

Test(text, number_is_read_up_to_what_is_none_and_too_large_a_one_is_the_largest)
{
	const char *at = "18446744073709551615 018446744073709551616:-1";
	uint64_t number = 0;

	cr_assert(bedrock_text_read_number(&at, &number));
	cr_assert_eq(number, UINT64_MAX);
	cr_assert_eq(*at++, ' ');
	cr_assert(bedrock_text_read_number(&at, &number));
	cr_assert_eq(number, UINT64_MAX);
	cr_assert_eq(*at++, ':');
	number = 7;
	cr_assert_not(bedrock_text_read_number(&at, &number));
	cr_assert_str_eq(at, "-1");
	cr_assert_eq(number, 7);
}

Test(text, number_below_the_largest_is_what_it_says)
{
	const char *at = "18446744073709551614";
	uint64_t number = 0;

	cr_assert(bedrock_text_read_number(&at, &number));
	cr_assert_eq(number, UINT64_MAX - 1);
	cr_assert_eq(*at, '\0');
}

Test(text, string_is_copied_whole)
{
	char copy[BEDROCK_TEXT_BYTES];

	bedrock_text_init(&text, bedrock_text_to_string, copy);
	bedrock_text_add(&text, "cpu");
	bedrock_text_add_number(&text, 12);
	bedrock_text_flush(&text);
	cr_assert_str_eq(copy, "cpu12");
}
