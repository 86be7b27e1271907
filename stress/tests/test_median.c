/* SPDX-License-Identifier: MIT */
/* The value in the middle. */
#include <criterion/criterion.h>

#include "stress/check/median.h"

Test(median, of_an_odd_number_is_the_middle_one_in_any_order)
{
	double values[] = { 3, -1, 100 };

	cr_assert_eq(hq_median(values, 3), 3);
}

Test(median, of_an_even_number_is_halfway_between_the_middle_two)
{
	double values[] = { 4, 1, 2, 1000 };

	cr_assert_eq(hq_median(values, 4), 3);
}

Test(median, of_one_is_that_one)
{
	double value = 7;

	cr_assert_eq(hq_median(&value, 1), 7);
}
