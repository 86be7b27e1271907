/* SPDX-License-Identifier: MIT */
/* vma-economy: a bound by live memory and threads, and no growth in steady state. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed_space.h"

#define CONTRACT "vma-economy:per-gib=100:per-thread=10:base=50:grow=10%"

/* Half a GiB live and five threads: 50 + 50 + 50 more than before are allowed, growth of 15. */
static struct hq_observations observed_mappings(uint64_t first, uint64_t last)
{
	const struct hq_space from = { .mappings = first };
	const struct hq_space to = { .mappings = last, .threads = 5 };
	struct hq_observations seen = observed_growth(from, to);

	seen.space_start.mappings = 60;
	seen.requested_peak_bytes = 512 * HQ_MIB;
	return seen;
}

Test(vma_economy, few_mappings_that_stay_few_are_good)
{
	const struct hq_observations seen = observed_mappings(210, 210);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(vma_economy, mappings_beyond_the_bound_are_one_finding)
{
	const struct hq_observations seen = observed_mappings(61, 211);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "151 more than before the work, at most 150"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "60 mappings before the work, 211 at the peak"),
		  "%s", found.list[0].evidence);
}

Test(vma_economy, growth_in_steady_state_is_a_finding_below_the_bound)
{
	const struct hq_observations seen = observed_mappings(100, 140);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "become more in steady state"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].text, "120 in the second quarter"), "%s",
		  found.list[0].text);
}

Test(vma_economy, growth_while_warming_up_is_good)
{
	struct hq_observations seen = observed_mappings(200, 200);

	seen.spaces[0].space.mappings = seen.spaces[1].space.mappings = 60;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(vma_economy, work_too_short_to_show_growth_is_a_gap)
{
	struct hq_observations seen = observed_mappings(100, 100);

	seen.space_count = 2;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(vma_economy, run_that_was_not_read_is_a_gap)
{
	const struct hq_observations seen = observed_good();

	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}
