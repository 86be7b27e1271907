/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "injectors/syscall/wake.h"

static struct hq_plane plane;

static void reset(double ns_per_tick)
{
	plane.ns_per_tick = (uint64_t)(ns_per_tick * 4294967296.0);
	hq_store_relaxed(&plane.faulted_until, 0);
}

Test(wake, without_a_fault_holds_nothing)
{
	reset(1);
	cr_assert_not(hq_wake_holds(&plane.faulted_until, 0));
	cr_assert_not(hq_wake_holds(&plane.faulted_until, 12345));
}

Test(wake, holds_what_began_before_a_fault_and_until_a_millisecond_behind_it)
{
	reset(0.5);
	hq_wake_extend(&plane, 10000000, 0);
	cr_assert(hq_wake_holds(&plane.faulted_until, 1));
	cr_assert(hq_wake_holds(&plane.faulted_until, 10000000 + 2 * HQ_WAKE_NS - 1));
	cr_assert_not(hq_wake_holds(&plane.faulted_until, 10000000 + 2 * HQ_WAKE_NS));
}

Test(wake, of_a_fault_that_lasts_begins_at_its_end)
{
	reset(1);
	hq_wake_extend(&plane, 1000, 7000000);
	cr_assert(hq_wake_holds(&plane.faulted_until, 1000 + 7000000 + HQ_WAKE_NS - 1));
	cr_assert_not(hq_wake_holds(&plane.faulted_until, 1000 + 7000000 + HQ_WAKE_NS));
}

Test(wake, of_a_shorter_fault_leaves_a_longer_one_alone)
{
	reset(1);
	hq_wake_extend(&plane, 1000, 7000000);
	hq_wake_extend(&plane, 2000, 0);
	cr_assert_eq(hq_load_relaxed(&plane.faulted_until), 1000 + 7000000 + HQ_WAKE_NS);
	hq_store_relaxed(&plane.faulted_until, HQ_WAKE_ALWAYS);
	hq_wake_extend(&plane, 3000, 0);
	cr_assert_eq(hq_load_relaxed(&plane.faulted_until), HQ_WAKE_ALWAYS);
}

Test(wake, without_a_counter_counts_nanoseconds)
{
	reset(0);
	hq_wake_extend(&plane, 500, 1500);
	cr_assert_eq(hq_load_relaxed(&plane.faulted_until), 2000 + HQ_WAKE_NS);
}
