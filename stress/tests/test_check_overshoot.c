/* SPDX-License-Identifier: MIT */
/* overshoot: below the limit, beyond it, and far from it. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_observations observed_full(uint64_t requested_mib, uint64_t resident_mib)
{
	struct hq_observations seen = observed_good();

	seen.requested_peak_bytes = seen.requested_sure_bytes = requested_mib * HQ_MIB;
	seen.rss_peak_bytes = resident_mib * HQ_MIB;
	seen.nulls = 3;
	return seen;
}

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("overshoot:limit=64MiB:slack=4MiB", seen);
}

Test(overshoot, work_that_stops_at_the_limit_is_good)
{
	const struct hq_observations seen = observed_full(64, 68);

	cr_assert_eq(judge(&seen).count, 0);
}

Test(overshoot, one_byte_requested_beyond_the_limit_is_a_finding)
{
	struct hq_observations seen = observed_full(64, 66);

	seen.requested_sure_bytes++;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "memory handed out passed the limit"));
	cr_assert(strstr(found.list[0].evidence, "answered NULL: 3"));
}

Test(overshoot, resident_memory_beyond_the_slack_is_a_finding)
{
	const struct hq_observations seen = observed_full(60, 69);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "resident memory passed the limit"));
}

Test(overshoot, work_far_from_the_limit_is_a_gap)
{
	const struct hq_observations seen = observed_full(40, 51);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}

Test(overshoot, program_of_which_nobody_knows_what_it_holds_is_a_gap)
{
	struct hq_observations seen = observed_full(0, 60);

	seen.is_host = false;
	cr_assert_eq(judge(&seen).count, 1);
	cr_assert(judge(&seen).list[0].gap);
	seen.rss_peak_bytes = 69 * HQ_MIB;
	cr_assert_not(judge(&seen).list[0].gap, "what is resident is known all the same");
}
