/* SPDX-License-Identifier: MIT */
/* no-residue: nothing left, things of ours left, processes of the target left. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static void expect_finding(const struct hq_observations *seen, const char *text, const char *line)
{
	const struct hq_findings found = observed_check("no-residue", seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_expect(strstr(found.list[0].text, text), "%s", found.list[0].text);
	cr_expect(strstr(found.list[0].evidence, line), "%s", found.list[0].evidence);
}

Test(no_residue, nothing_left_is_good)
{
	const struct hq_observations seen = observed_good();

	cr_assert_eq(observed_check("no-residue", &seen).count, 0);
}

Test(no_residue, a_run_that_was_not_looked_at_is_a_gap)
{
	struct hq_observations seen = observed_good();

	seen.residue.known = false;
	seen.residue.left.threads = 7;
	const struct hq_findings found = observed_check("no-residue", &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}

Test(no_residue, whatever_is_left_is_one_finding_with_its_numbers)
{
	struct hq_observations seen = observed_good();

	seen.residue.left.groups = 2;
	seen.residue.left.threads = 1;
	expect_finding(&seen, "something of ours", "threads: 1 more than before");
	expect_finding(&seen, "something of ours", "control groups: 2 more than before");
}

Test(no_residue, changed_affinity_and_limits_are_findings)
{
	struct hq_observations seen = observed_good();

	seen.residue.affinity = true;
	expect_finding(&seen, "something of ours", "CPUs that may be used");
	seen.residue.affinity = false;
	seen.residue.limits = true;
	expect_finding(&seen, "something of ours", "a resource limit");
}

Test(no_residue, processes_of_a_host_that_ended_are_a_finding)
{
	struct hq_observations seen = observed_good();

	seen.residue.target_processes = 3;
	expect_finding(&seen, "the target left processes behind", "");
}

Test(no_residue, processes_of_a_program_or_of_a_killed_host_are_none_of_it)
{
	struct hq_observations seen = observed_good();

	seen.residue.target_processes = 3;
	seen.is_host = false;
	cr_assert_eq(observed_check("no-residue", &seen).count, 0);
	seen.is_host = true;
	seen.outcome = HQ_OUTCOME_HUNG;
	cr_assert_eq(observed_check("no-residue", &seen).count, 0);
}
