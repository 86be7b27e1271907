/* SPDX-License-Identifier: MIT */
/* Dirty memory from calloc belongs to one of two checkers, by whether an advice lied. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_event dirty = { .time_ns = GATE_NS + 5,
				 .address = 0x1000,
				 .size = 64,
				 .offset = 8,
				 .got = 2,
				 .kind = HQ_EVENT_NONZERO };

static struct hq_observations run_with(enum hq_action action, uint64_t fired)
{
	struct hq_observations seen = observed_good();

	seen.rules[0] = (struct hq_rule_total){
		.name = "rule", .calls = 1u << HQ_CALL_MADVISE, .action = action, .fired = fired
	};
	seen.rule_count = 1;
	seen.events = &dirty;
	seen.event_count = 1;
	return seen;
}

static void expect(enum hq_action action, uint64_t fired, size_t proven)
{
	const struct hq_observations seen = run_with(action, fired);

	cr_expect_eq(observed_check("zero-proven", &seen).count, proven);
	cr_expect_eq(observed_check("calloc-zero", &seen).count, 1 - proven);
}

Test(zero_proven, dirty_memory_after_a_lie_is_its_finding_alone)
{
	const struct hq_observations seen = run_with(HQ_ACTION_LIE, 3);
	const struct hq_findings findings = observed_check("zero-proven", &seen);

	expect(HQ_ACTION_LIE, 3, 1);
	cr_assert(strstr(findings.list[0].evidence, "offset 8: got 0x2 instead of 0"));
}

Test(zero_proven, an_advice_that_was_half_followed_lied_as_well)
{
	expect(HQ_ACTION_SHRINK, 1, 1);
}

Test(zero_proven, a_lie_that_was_never_told_excuses_nothing)
{
	expect(HQ_ACTION_LIE, 0, 0);
}

Test(zero_proven, after_a_refusal_dirty_memory_is_plain_wrong)
{
	expect(HQ_ACTION_FAIL, 10, 0);
}

Test(zero_proven, a_lie_about_another_call_is_no_lie_about_pages)
{
	struct hq_observations seen = run_with(HQ_ACTION_LIE, 10);

	seen.rules[0].calls = 1u << HQ_CALL_MUNMAP;
	cr_assert_eq(observed_check("zero-proven", &seen).count, 0);
	cr_assert_eq(observed_check("calloc-zero", &seen).count, 1);
}

Test(zero_proven, clean_memory_after_a_lie_is_fine)
{
	struct hq_observations seen = run_with(HQ_ACTION_LIE, 10);

	seen.event_count = 0;
	cr_assert_eq(observed_check("zero-proven", &seen).count, 0);
}
