/* SPDX-License-Identifier: MIT */
/* oom-graded: refusals and kills when the limit is full, and when it is not. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("oom-graded:limit=100MiB:use=60%", seen);
}

static void expect_finding(const struct hq_observations *seen, const char *words)
{
	const struct hq_findings found = judge(seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_expect(strstr(found.list[0].text, words), "%s", found.list[0].text);
}

Test(oom_graded, refusal_of_a_full_limit_is_good)
{
	struct hq_observations seen = observed_good();

	seen.refused_at_bytes = 60 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(oom_graded, refusal_with_unused_memory_is_a_finding)
{
	struct hq_observations seen = observed_good();

	seen.refused_at_bytes = 59 * HQ_MIB;
	expect_finding(&seen, "was refused although memory was unused (59 MiB were in use, at "
			      "least 60 MiB expected)");
}

Test(oom_graded, kill_with_live_memory_is_good)
{
	struct hq_observations seen = observed_good();

	seen.outcome = HQ_OUTCOME_OOM_KILLED;
	seen.requested_last_bytes = 80 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(oom_graded, kill_with_unused_memory_is_a_finding)
{
	struct hq_observations seen = observed_good();

	seen.outcome = HQ_OUTCOME_OOM_KILLED;
	seen.requested_last_bytes = 20 * HQ_MIB;
	expect_finding(&seen, "the kernel killed for the limit although memory was unused");
}

Test(oom_graded, limit_that_was_near_and_held_is_good)
{
	struct hq_observations seen = observed_good();

	seen.rss_peak_bytes = 90 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
}

Test(oom_graded, work_far_from_the_limit_is_a_gap)
{
	struct hq_observations seen = observed_good();

	seen.rss_peak_bytes = 50 * HQ_MIB;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}

Test(oom_graded, program_of_which_nobody_knows_what_is_live_is_a_gap)
{
	struct hq_observations seen = observed_good();

	seen.is_host = false;
	seen.outcome = HQ_OUTCOME_OOM_KILLED;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}
