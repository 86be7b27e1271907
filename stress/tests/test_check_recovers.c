/* SPDX-License-Identifier: MIT */
/* Memory that can be had again is had again: after a window, and after everything was freed. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

/* Memory was refused until 450 ms, and the last NULL came then. */
static struct hq_observations refused(void)
{
	struct hq_observations seen = observed_good();

	seen.rules[0] = (struct hq_rule_total){ .name = "refuse",
						.calls = 1u << HQ_CALL_MMAP | 1u << HQ_CALL_BRK,
						.action = HQ_ACTION_FAIL,
						.fired = 10,
						.window_end_ns = 450 * HQ_MS };
	seen.rule_count = 1;
	seen.nulls = 10;
	seen.last_null_ns = 449 * HQ_MS;
	return seen;
}

static size_t count(const char *contract, const struct hq_observations *seen)
{
	return observed_check(contract, seen).count;
}

Test(recovers, nulls_while_memory_is_refused_are_fine)
{
	const struct hq_observations seen = refused();

	cr_assert_eq(count("recovers", &seen), 0);
}

Test(recovers, a_null_within_the_grace_is_fine)
{
	struct hq_observations seen = refused();

	seen.last_null_ns = 950 * HQ_MS;
	cr_assert_eq(count("recovers", &seen), 0);
	cr_assert_eq(count("recovers:grace=499ms", &seen), 1);
}

Test(recovers, a_null_long_after_the_end_is_found_with_both_times)
{
	struct hq_observations seen = refused();

	seen.last_null_ns = 951 * HQ_MS;
	const struct hq_findings findings = observed_check("recovers", &seen);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].evidence, "ended at +450 ms, the last NULL came at +951 "
						    "ms"),
		  "%s", findings.list[0].evidence);
}

Test(recovers, the_last_of_several_refusals_counts)
{
	struct hq_observations seen = refused();

	seen.rules[1] = seen.rules[0];
	seen.rules[1].window_end_ns = 800 * HQ_MS;
	seen.rule_count = 2;
	seen.last_null_ns = 1200 * HQ_MS;
	cr_assert_eq(count("recovers", &seen), 0);
	seen.rules[1].fired = 0;
	cr_assert_eq(count("recovers", &seen), 1, "a rule that never fired ended nothing");
}

Test(recovers, a_refusal_without_an_end_tells_nothing)
{
	struct hq_observations seen = refused();

	seen.rules[0].window_end_ns = UINT64_MAX;
	seen.last_null_ns = 3 * HQ_S;
	cr_assert_eq(count("recovers", &seen), 0);
}

Test(recovers, refused_purges_are_no_refused_memory)
{
	struct hq_observations seen = refused();

	seen.rules[0].calls = 1u << HQ_CALL_MADVISE;
	seen.last_null_ns = 3 * HQ_S;
	cr_assert_eq(count("recovers", &seen), 0);
}

Test(recovers, nulls_without_any_refusal_are_not_its_business)
{
	struct hq_observations seen = refused();

	seen.rule_count = 0;
	seen.last_null_ns = 3 * HQ_S;
	cr_assert_eq(count("recovers", &seen), 0);
}

/* ---- rounds ---- */

Test(recovers, as_much_in_the_last_round_is_fine)
{
	struct hq_observations seen = observed_good();

	seen.had_most_bytes = 100 * HQ_MIB;
	seen.had_last_bytes = 75 * HQ_MIB;
	cr_assert_eq(count("recovers", &seen), 0);
	cr_assert_eq(count("recovers:keep=90%", &seen), 1);
}

Test(recovers, much_less_in_the_last_round_is_found)
{
	struct hq_observations seen = observed_good();

	seen.had_most_bytes = 100 * HQ_MIB;
	seen.had_last_bytes = 20 * HQ_MIB;
	const struct hq_findings findings = observed_check("recovers", &seen);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].evidence, "100 MiB at most in one round, 20 MiB in the "
						    "last one"),
		  "%s", findings.list[0].evidence);
}

Test(recovers, a_round_that_was_cut_short_tells_nothing)
{
	struct hq_observations seen = observed_good();

	seen.had_most_bytes = 100 * HQ_MIB;
	seen.had_last_bytes = 20 * HQ_MIB;
	seen.outcome = HQ_OUTCOME_INTERRUPTED;
	cr_assert_eq(count("recovers", &seen), 0);
	seen.outcome = HQ_OUTCOME_TIMEOUT;
	cr_assert_eq(count("recovers", &seen), 0);
}
