/* SPDX-License-Identifier: MIT */
/* hole-cost: costs that stay, costs that grow, and runs that do not say. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_observations with_costs(uint64_t first_ns, uint64_t last_ns)
{
	struct hq_observations seen = observed_good();

	seen.costs[0] = (struct hq_cost){ .scale = 64, .cpu_ns = first_ns };
	seen.costs[1] = (struct hq_cost){ .scale = 256, .cpu_ns = first_ns };
	seen.costs[2] = (struct hq_cost){ .scale = 4096, .cpu_ns = last_ns };
	seen.cost_count = 3;
	return seen;
}

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("hole-cost:power=50%:floor=1us", seen);
}

Test(hole_cost, cost_that_stays_is_good)
{
	const struct hq_observations seen = with_costs(7500, 7600);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(hole_cost, growth_with_the_allowed_power_is_good_and_beyond_it_a_finding)
{
	struct hq_observations seen = with_costs(5000, 40000);

	cr_assert_eq(judge(&seen).count, 0);
	seen.costs[2].cpu_ns = 41000;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "(64 times as many make it 8.2 times as dear, 8 "),
		  "%s", found.list[0].text);
	cr_assert(strstr(found.list[0].evidence, "beside 4096 free spans a batch took 41 us"), "%s",
		  found.list[0].evidence);
}

Test(hole_cost, costs_that_are_mostly_measurement_do_not_count)
{
	const struct hq_observations seen = with_costs(50, 8000);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(hole_cost, cost_that_falls_is_good)
{
	const struct hq_observations seen = with_costs(90000, 5000);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(hole_cost, without_two_measurements_there_is_nothing_to_compare)
{
	struct hq_observations seen = with_costs(5000, 90000);

	seen.cost_count = 1;
	cr_assert(judge(&seen).list[0].gap);
	seen.cost_count = 0;
	cr_assert(judge(&seen).list[0].gap);
	seen.cost_count = 3;
	seen.costs[2].scale = 64;
	cr_assert(judge(&seen).list[0].gap);
}

Test(hole_cost, says_nothing_about_a_target_that_did_not_end)
{
	struct hq_observations seen = with_costs(5000, 90000);

	seen.outcome = HQ_OUTCOME_SIGNALED;
	cr_assert_eq(judge(&seen).count, 0);
}
