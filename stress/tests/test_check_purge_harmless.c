/* SPDX-License-Identifier: MIT */
/* Refused purges alone must do no harm; where anything else went wrong, nothing is said. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/tests/observed.h"

static struct hq_rule_total rule_of(enum hq_call call, enum hq_action action, uint64_t fired)
{
	return (struct hq_rule_total){ .name = "refuse",
				       .calls = 1u << call,
				       .action = action,
				       .seen = 100,
				       .eligible = 100,
				       .fired = fired,
				       .required = 1 };
}

/* Refused purges, and three allocations that were answered with NULL. */
static struct hq_observations harmed(void)
{
	struct hq_observations seen = observed_good();

	seen.rules[0] = rule_of(HQ_CALL_MADVISE, HQ_ACTION_FAIL, 50);
	seen.rule_count = 1;
	seen.nulls = 3;
	seen.missed = 2;
	return seen;
}

static struct hq_findings look(const struct hq_observations *seen)
{
	return observed_check("purge-harmless", seen);
}

Test(purge_harmless, refused_purges_that_nobody_noticed_are_fine)
{
	struct hq_observations seen = harmed();

	seen.nulls = 0;
	seen.missed = 0;
	cr_assert_eq(look(&seen).count, 0);
}

Test(purge_harmless, a_null_after_nothing_but_refused_purges_is_found_with_the_refusal)
{
	struct hq_observations seen = harmed();
	struct hq_fault_seen fault = { .fault = { .time_ns = GATE_NS + 5,
						  .result = -EAGAIN,
						  .args = { 0x2000, 8192, MADV_DONTNEED },
						  .call = HQ_CALL_MADVISE } };

	seen.faults = &fault;
	seen.fault_count = 1;
	seen.last_null_ns = 100;
	struct hq_findings findings = look(&seen);

	cr_assert_eq(findings.count, 1);
	cr_assert(!findings.list[0].gap);
	cr_assert_eq(findings.list[0].count, 3);
	cr_assert(strstr(findings.list[0].evidence,
			 "3 allocations answered NULL, 2 operations given up"));
	cr_assert(strstr(findings.list[0].evidence, "madvise(0x2000, 8192, MADV_DONTNEED) answered "
						    "EAGAIN"),
		  "%s", findings.list[0].evidence);
}

Test(purge_harmless, an_operation_given_up_without_a_null_is_found_as_well)
{
	struct hq_observations seen = harmed();

	seen.nulls = 0;
	cr_assert_eq(look(&seen).count, 1);
	cr_assert_eq(look(&seen).list[0].count, 2);
}

Test(purge_harmless, an_abort_is_found)
{
	struct hq_observations seen = harmed();

	seen.nulls = 0;
	seen.missed = 0;
	seen.outcome = HQ_OUTCOME_SIGNALED;
	seen.status = SIGABRT;
	cr_assert_eq(look(&seen).count, 1);
}

Test(purge_harmless, without_a_refused_purge_nothing_is_said)
{
	struct hq_observations seen = harmed();

	seen.rules[0].fired = 0;
	cr_assert_eq(look(&seen).count, 0);
	seen.rule_count = 0;
	cr_assert_eq(look(&seen).count, 0);
}

Test(purge_harmless, a_purge_that_lied_or_was_late_is_another_matter)
{
	struct hq_observations seen = harmed();

	seen.rules[0].action = HQ_ACTION_LIE;
	cr_assert_eq(look(&seen).count, 0);
	seen.rules[0].action = HQ_ACTION_DELAY;
	cr_assert_eq(look(&seen).count, 0);
}

Test(purge_harmless, a_refused_mapping_in_the_same_run_may_be_the_cause)
{
	struct hq_observations seen = harmed();

	seen.rules[1] = rule_of(HQ_CALL_MMAP, HQ_ACTION_FAIL, 1);
	seen.rule_count = 2;
	cr_assert_eq(look(&seen).count, 0);
	seen.rules[1].fired = 0;
	cr_assert_eq(look(&seen).count, 1, "a rule that never fired excuses nothing");
}

Test(purge_harmless, a_rule_for_advice_and_mappings_together_is_not_judged)
{
	struct hq_observations seen = harmed();

	seen.rules[0].calls |= 1u << HQ_CALL_MUNMAP;
	cr_assert_eq(look(&seen).count, 0);
}

Test(purge_harmless, an_injector_that_fired_may_be_the_cause)
{
	struct hq_observations seen = harmed();

	seen.injections[0].measure_count = 1;
	strcpy(seen.injections[0].measures[0].name, "fired");
	seen.injections[0].measures[0].value = 1;
	seen.injection_count = 1;
	cr_assert_eq(look(&seen).count, 0);
	seen.injections[0].measures[0].value = 0;
	cr_assert_eq(look(&seen).count, 1);
}
