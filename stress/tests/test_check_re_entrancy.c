/* SPDX-License-Identifier: MIT */
/* re-entrancy: handlers that ended well, each way not to, and none at all. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_observations observed_signals(void)
{
	struct hq_observations seen = observed_good();

	seen.signals_taken = seen.signals_done = 100;
	return seen;
}

static void expect_finding(const struct hq_observations *seen, const char *words)
{
	const struct hq_findings found = observed_check("re-entrancy", seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_expect(strstr(found.list[0].text, words), "%s", found.list[0].text);
	cr_expect(strstr(found.list[0].evidence, "began"), "%s", found.list[0].evidence);
}

Test(re_entrancy, handlers_that_ended_well_are_good)
{
	const struct hq_observations seen = observed_signals();

	cr_assert_eq(observed_check("re-entrancy", &seen).count, 0);
}

Test(re_entrancy, a_handler_that_never_returned_is_a_finding)
{
	struct hq_observations seen = observed_signals();

	seen.signals_taken++;
	seen.outcome = HQ_OUTCOME_HUNG;
	expect_finding(&seen, "never returned");
}

Test(re_entrancy, a_run_that_ended_in_a_handler_in_another_way_is_left_to_others)
{
	struct hq_observations seen = observed_signals();

	seen.signals_taken++;
	seen.outcome = HQ_OUTCOME_SIGNALED;
	cr_assert_eq(observed_check("re-entrancy", &seen).count, 0);
}

Test(re_entrancy, null_in_a_handler_is_a_finding)
{
	struct hq_observations seen = observed_signals();

	seen.signal_nulls = 3;
	expect_finding(&seen, "answered NULL");
}

Test(re_entrancy, a_changed_block_is_a_finding)
{
	struct hq_observations seen = observed_signals();

	seen.signal_damaged = 1;
	expect_finding(&seen, "changed while it ran");
}

Test(re_entrancy, no_handler_is_a_gap)
{
	const struct hq_observations seen = observed_good();
	const struct hq_findings found = observed_check("re-entrancy", &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}
