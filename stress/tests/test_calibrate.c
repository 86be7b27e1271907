/* SPDX-License-Identifier: MIT */
/*
 * The rate of the time stamp counter: none, or one by which an interval comes out as the clock
 * says.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <time.h>

#include "stress/observe/calibrate.h"

Test(calibrate, a_rate_is_plausible_or_absent, .timeout = 30)
{
	const uint64_t rate = hq_calibrate_ns_per_tick();

	if (rate == 0)
		cr_skip_test("no steady time stamp counter here");
	/* 100 kHz to 20 GHz. */
	cr_expect_gt(rate, (1ull << 32) / 20);
	cr_expect_lt(rate, 10000ull << 32);
}

Test(calibrate, two_calibrations_agree_within_a_thousandth, .timeout = 30)
{
	const double first = (double)hq_calibrate_ns_per_tick();
	const double second = (double)hq_calibrate_ns_per_tick();

	if (first <= 0 || second <= 0)
		cr_skip_test("no steady time stamp counter here");
	cr_expect_lt(first, second * 1.002);
	cr_expect_lt(second, first * 1.002);
}
