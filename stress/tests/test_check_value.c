/* SPDX-License-Identifier: MIT */
/* Measured values as people read them. */
#include <criterion/criterion.h>

#include "stress/check/value.h"

static const struct {
	enum hq_unit unit;
	double value;
	const char *text;
	const char *exact;
} table[] = {
	{ HQ_UNIT_BYTES, 0, "0 B", "0 B" },
	{ HQ_UNIT_BYTES, 1023, "1023 B", "1023 B" },
	{ HQ_UNIT_BYTES, 1024, "1 KiB", "1024 B" },
	{ HQ_UNIT_BYTES, 67108864, "64 MiB", "67108864 B" },
	{ HQ_UNIT_BYTES, 181403649, "173 MiB", "181403649 B" },
	{ HQ_UNIT_BYTES, 1.5 * 1073741824.0, "1.5 GiB", "1610612736 B" },
	{ HQ_UNIT_BYTES, 20000.0 * 1073741824.0, "20000 GiB", "21474836480000 B" },
	{ HQ_UNIT_NS, 999, "999 ns", "999 ns" },
	{ HQ_UNIT_NS, 31250, "31.25 us", "31250 ns" },
	{ HQ_UNIT_NS, 2e9, "2 s", "2000000000 ns" },
	{ HQ_UNIT_COUNT, 1234567, "1234567", "1234567" },
	{ HQ_UNIT_COUNT, 2.5, "2.5", "2.5" },
	{ HQ_UNIT_COUNT, 98765.4, "98765", "98765.4" },
	{ HQ_UNIT_PER_SECOND, 61000, "61000/s", "61000/s" },
	{ HQ_UNIT_PER_SECOND, 0.25, "0.25/s", "0.25/s" },
	{ HQ_UNIT_SHARE, 0.25, "25%", "25%" },
	{ HQ_UNIT_BYTES_PER_SECOND, 2048, "2 KiB/s", "2048 B/s" },
	{ HQ_UNIT_SHARE, 0.0123456, "1.235%", "1.23456%" },
};

Test(value, is_printed_with_four_digits_and_its_unit)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[40];

		cr_assert_str_eq(hq_value_print(text, sizeof(text), table[i].unit, table[i].value),
				 table[i].text);
	}
}

Test(value, is_printed_exactly_where_that_is_asked_for)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[40];

		cr_assert_str_eq(
			hq_value_print_exact(text, sizeof(text), table[i].unit, table[i].value),
			table[i].exact);
	}
}
