/* SPDX-License-Identifier: MIT */
/* The rank test: against numbers from tables, and against plain enumeration. */
#include <criterion/criterion.h>

#include "stress/check/rank.h"

Test(rank, counts_pairs_in_which_the_left_value_is_above)
{
	const double left[] = { 3, 5, 5 }, right[] = { 1, 5 };

	cr_assert_eq(hq_rank_above(left, 3, right, 2, false), 3);
	cr_assert_eq(hq_rank_above(left, 3, right, 2, true), 5);
	cr_assert_eq(hq_rank_above(right, 2, left, 3, false), 1);
}

Test(rank, complete_separation_has_the_chance_of_one_order_in_all)
{
	cr_assert_float_eq(hq_rank_chance(1, 1, 1), 1.0 / 2, 1e-12);
	cr_assert_float_eq(hq_rank_chance(3, 3, 9), 1.0 / 20, 1e-12);
	cr_assert_float_eq(hq_rank_chance(7, 7, 49), 1.0 / 3432, 1e-12);
	cr_assert_float_eq(hq_rank_chance(7, 7, 48), 2.0 / 3432, 1e-12);
	cr_assert_float_eq(hq_rank_chance(2, 5, 10), 1.0 / 21, 1e-12);
}

Test(rank, everything_or_less_than_nothing_is_certain)
{
	cr_assert_float_eq(hq_rank_chance(4, 6, 0), 1.0, 1e-12);
	cr_assert_float_eq(hq_rank_chance(0, 6, 0), 1.0, 1e-12);
	cr_assert_float_eq(hq_rank_chance(6, 0, 0), 1.0, 1e-12);
	cr_assert_float_eq(hq_rank_chance(33, 1, 33), 1.0, 1e-12);
}

/* Goes through all choices of which places are the left ones. */
static double enumerate(unsigned int left, unsigned int right, size_t above)
{
	const unsigned int places = left + right;
	unsigned int all = 0, tail = 0;

	for (unsigned int chosen = 0; chosen < 1u << places; chosen++) {
		size_t found = 0;
		unsigned int below = 0;

		if (__builtin_popcount(chosen) != (int)left)
			continue;
		for (unsigned int i = 0; i < places; i++) {
			found += chosen & 1u << i ? below : 0;
			below += !(chosen & 1u << i);
		}
		all++;
		tail += found >= above;
	}
	return (double)tail / all;
}

Test(rank, chance_is_that_of_all_orders_told_one_by_one)
{
	for (unsigned int left = 1; left <= 6; left++) {
		for (unsigned int right = 1; right <= 6; right++) {
			for (size_t above = 0; above <= left * right; above++)
				cr_assert_float_eq(hq_rank_chance(left, right, above),
						   enumerate(left, right, above), 1e-12);
		}
	}
}

Test(rank, largest_series_keep_their_precision)
{
	const double middle = hq_rank_chance(32, 32, 512);

	cr_assert(middle > 0.5 && middle < 0.51, "%g", middle);
	cr_assert(hq_rank_chance(32, 32, 1024) < 1e-17);
	cr_assert(hq_rank_chance(32, 32, 1024) > 1e-19);
	for (size_t above = 1; above <= 1024; above++)
		cr_assert_leq(hq_rank_chance(32, 32, above), hq_rank_chance(32, 32, above - 1));
}
