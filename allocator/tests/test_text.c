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
