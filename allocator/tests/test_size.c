/* SPDX-License-Identifier: MIT */
/*
 * Sizes: what is one, and what is not.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "allocator/bedrock/size.h"

static int64_t parsed(const char *text)
{
	int64_t value;

	return bedrock_size_parse(text, strlen(text), &value) ? value : -1;
}

Test(size, suffixes_are_powers_of_1024_in_all_spellings)
{
	cr_assert_eq(parsed("0"), 0);
	cr_assert_eq(parsed("12"), 12);
	cr_assert_eq(parsed("12B"), 12);
	cr_assert_eq(parsed("3k"), 3 << 10);
	cr_assert_eq(parsed("3K"), 3 << 10);
	cr_assert_eq(parsed("3KiB"), 3 << 10);
	cr_assert_eq(parsed("5M"), 5 << 20);
	cr_assert_eq(parsed("5MiB"), 5 << 20);
	cr_assert_eq(parsed("7g"), INT64_C(7) << 30);
	cr_assert_eq(parsed("2TiB"), INT64_C(2) << 40);
}

Test(size, what_is_no_size_is_refused)
{
	const char *const bad[] = { "",     "M",   "MiB", "-1",   "1MB",   "1kB", "1 M",
				    "1.5M", "1Mi", "1x",  "0x10", "1MiBx", "1b",  "%" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(parsed(bad[i]), -1, "%s", bad[i]);
}

Test(size, what_does_not_fit_is_refused)
{
	cr_assert_eq(parsed("8388607T"), INT64_C(8388607) << 40);
	cr_assert_eq(parsed("8388608T"), -1);
	cr_assert_eq(parsed("99999999999999999999"), -1);
}
