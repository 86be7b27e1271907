/* SPDX-License-Identifier: MIT */
/* space-bounded: reservations are no leak, growth with the frees is. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed_space.h"

#define CONTRACT "space-bounded:times=4:per-thread=8MiB:slack=32MiB"

/* 10 MiB live and four threads: 40 + 32 + 32 MiB of growth are allowed. */
static struct hq_observations observed_peak(uint64_t grown_bytes)
{
	const struct hq_space start = { .space_bytes = 100 * HQ_MIB, .mappings = 50 };
	const struct hq_space end = { .space_bytes = 100 * HQ_MIB + grown_bytes,
				      .mappings = 60,
				      .threads = 4 };
	struct hq_observations seen = observed_growth(start, end);

	seen.requested_peak_bytes = 10 * HQ_MIB;
	seen.freed_bytes = 500 * HQ_MIB;
	return seen;
}

Test(space_bounded, space_within_the_bound_is_good)
{
	const struct hq_observations seen = observed_peak(104 * HQ_MIB);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(space_bounded, space_beyond_the_bound_is_a_finding_with_its_course)
{
	const struct hq_observations seen = observed_peak(105 * HQ_MIB);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "grown by 105 MiB with at most 10 MiB live"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "address space 205 MiB"), "%s",
		  found.list[0].evidence);
}

Test(space_bounded, space_given_back_in_the_end_has_been_there)
{
	struct hq_observations seen = observed_peak(200 * HQ_MIB);

	seen.space_end = seen.space_start;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
}

Test(space_bounded, too_few_frees_to_break_the_bound_are_a_gap)
{
	struct hq_observations seen = observed_peak(50 * HQ_MIB);

	seen.freed_bytes = 104 * HQ_MIB;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen.freed_bytes++;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(space_bounded, run_that_was_not_read_is_a_gap)
{
	struct hq_observations seen = observed_good();

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(space_bounded, program_of_which_nobody_knows_what_is_live_is_a_gap)
{
	struct hq_observations seen = observed_peak(500 * HQ_MIB);

	seen.is_host = false;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(space_bounded, run_that_ended_early_is_left_to_others)
{
	struct hq_observations seen = observed_peak(500 * HQ_MIB);

	seen.outcome = HQ_OUTCOME_HUNG;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}
