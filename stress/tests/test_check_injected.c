/* SPDX-License-Identifier: MIT */
/* What was to go wrong and did not is a gap, never a finding. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_observations with_rule(uint64_t seen, uint64_t eligible, uint64_t fired)
{
	struct hq_observations observed = observed_good();

	observed.rule_count = 1;
	observed.rules[0] = (struct hq_rule_total){ .name = "refuse-free",
						    .seen = seen,
						    .eligible = eligible,
						    .fired = fired,
						    .required = 1 };
	return observed;
}

static void assert_gap(const struct hq_observations *observed, const char *text)
{
	struct hq_findings findings = observed_check("injected", observed);

	cr_assert_eq(findings.count, 1);
	cr_assert(findings.list[0].gap);
	cr_assert(strstr(findings.list[0].text, text) || strstr(findings.list[0].evidence, text),
		  "%s\n%s", findings.list[0].text, findings.list[0].evidence);
}

Test(injected, a_rule_that_fired_is_quiet)
{
	struct hq_observations observed = with_rule(10, 5, 1);

	cr_assert_eq(observed_check("injected", &observed).count, 0);
}

Test(injected, a_required_rule_that_saw_no_call_is_a_gap)
{
	struct hq_observations observed = with_rule(0, 0, 0);

	assert_gap(&observed, "seen 0, eligible 0, fired 0: the target made no such call");
}

Test(injected, the_text_of_a_gap_is_the_same_in_every_run)
{
	struct hq_observations observed = with_rule(3, 2, 0);

	assert_gap(&observed, "rule 'refuse-free' never fired");
	cr_assert_str_eq(observed_check("injected", &observed).list[0].text,
			 "rule 'refuse-free' never fired");
}

Test(injected, a_required_rule_without_an_eligible_call_is_a_gap)
{
	struct hq_observations observed = with_rule(120, 0, 0);

	assert_gap(&observed, "seen 120, eligible 0, fired 0: they came while");
}

Test(injected, a_required_rule_whose_words_chose_no_call_is_a_gap)
{
	struct hq_observations observed = with_rule(120, 20, 0);

	assert_gap(&observed, "seen 120, eligible 20, fired 0: `when`");
}

Test(injected, an_optional_rule_may_stay_silent)
{
	struct hq_observations observed = with_rule(0, 0, 0);

	observed.rules[0].required = 0;
	cr_assert_eq(observed_check("injected", &observed).count, 0);
}

Test(injected, rules_without_a_filter_are_one_gap)
{
	struct hq_observations observed = with_rule(0, 0, 0);

	observed.armed = false;
	assert_gap(&observed, "not in force");
}

Test(injected, not_armed_without_rules_is_quiet)
{
	struct hq_observations observed = observed_good();

	observed.armed = false;
	cr_assert_eq(observed_check("injected", &observed).count, 0);
}

Test(injected, threads_without_a_place_are_a_gap)
{
	struct hq_observations observed = with_rule(9, 9, 9);

	observed.threads_claimed = 256;
	observed.threads_unclaimed = 4;
	assert_gap(&observed, "4 of 260 threads");
}

Test(injected, processes_without_the_filter_are_a_gap)
{
	struct hq_observations observed = with_rule(9, 9, 9);

	observed.processes_unarmed = 2;
	assert_gap(&observed, "processes without it: 2");
}

static struct hq_observations with_injection(const char *measure, double value)
{
	struct hq_observations observed = observed_good();

	observed.injection_count = 1;
	observed.injections[0] = (struct hq_injection_result){ .name = "migrate",
							       .measure_count = 1,
							       .required = 1 };
	strcpy(observed.injections[0].measures[0].name, measure);
	observed.injections[0].measures[0].value = value;
	return observed;
}

Test(injected, an_injector_that_fired_is_quiet)
{
	struct hq_observations observed = with_injection("fired", 3);

	cr_assert_eq(observed_check("injected", &observed).count, 0);
}

Test(injected, a_required_injector_that_did_nothing_is_a_gap)
{
	struct hq_observations observed = with_injection("fired", 0);

	assert_gap(&observed, "injector 'migrate' did nothing");
}

Test(injected, a_required_injector_that_does_not_say_whether_it_fired_is_a_gap)
{
	struct hq_observations observed = with_injection("moves", 12);

	assert_gap(&observed, "injector 'migrate' has not said");
}

Test(injected, an_optional_injector_may_do_nothing)
{
	struct hq_observations observed = with_injection("fired", 0);

	observed.injections[0].required = 0;
	cr_assert_eq(observed_check("injected", &observed).count, 0);
}
