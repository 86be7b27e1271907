/* SPDX-License-Identifier: MIT */
/*
 * Scenario files: what a good one becomes, and that wrong ones are refused with a place and a
 * reason. The sentences themselves are in the transcripts under stress/tests/cli.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/scenario.h"

static struct hq_scenario scenario;
static struct hq_complaints complaints;

static int parse(const char *text)
{
	return hq_scenario_parse(text, strlen(text), "folder/refuse-free.yaml", &scenario,
				 &complaints);
}

static void clear(void)
{
	hq_scenario_clear(&scenario);
}

TestSuite(scenario, .fini = clear);

#define HEAD "question: Q?\n"

Test(scenario, name_is_that_of_the_file)
{
	cr_assert_eq(parse(HEAD "workload: none\n"), 0);
	cr_assert_str_eq(scenario.plan.scenario, "refuse-free");
	cr_assert_str_eq(scenario.plan.path, "folder/refuse-free.yaml");
}

Test(scenario, given_name_wins_over_that_of_the_file)
{
	cr_assert_eq(parse(HEAD "name: other\nworkload: none\n"), 0);
	cr_assert_str_eq(scenario.plan.scenario, "other");
}

Test(scenario, bare_workload_gets_its_defaults)
{
	cr_assert_eq(parse(HEAD "workload: churn\n"), 0);
	cr_assert_not_null(scenario.plan.workload);
	cr_assert_str_eq(scenario.plan.workload->name, "churn");
	cr_assert(scenario.plan.is_host);
}

Test(scenario, defaults_of_run_are_filled_in)
{
	cr_assert_eq(parse(HEAD "workload: none\n"), 0);
	cr_assert_eq(scenario.plan.timeout_ns, 60 * HQ_S);
	cr_assert_eq(scenario.plan.sample_period_ns, 1 * HQ_MS);
	cr_assert_eq(scenario.plan.pairs, 7);
	cr_assert_eq(scenario.plan.seed, HQ_DEFAULT_SEED);
	cr_assert_not(scenario.has_seed);
	cr_assert_not(scenario.has_memory_cap);
}

Test(scenario, rule_becomes_a_rule_with_its_key_as_name)
{
	cr_assert_eq(parse(HEAD "workload: none\ninject:\n"
				"  - refuse: { call: madvise, advice: FREE, fail: EINVAL }\n"),
		     0);
	cr_assert_eq(scenario.plan.rule_count, 1);
	cr_assert_str_eq(scenario.plan.rules[0].name, "refuse");
	cr_assert_eq(scenario.plan.rules[0].required, 1);
}

Test(scenario, list_of_calls_is_the_same_as_one_with_commas)
{
	cr_assert_eq(parse(HEAD "workload: none\ninject:\n"
				"  - refuse: { call: [mmap, brk], fail: ENOMEM }\n"),
		     0);
	cr_assert_eq(scenario.plan.rules[0].calls, 1u << HQ_CALL_MMAP | 1u << HQ_CALL_BRK);
}

Test(scenario, required_false_and_optional_true_make_a_rule_optional)
{
	cr_assert_eq(parse(HEAD "workload: none\ninject:\n"
				"  - a: { call: mmap, fail: ENOMEM, required: false }\n"
				"  - b: { call: mmap, fail: ENOMEM, optional: true }\n"
				"  - c: { call: mmap, fail: ENOMEM, optional: false }\n"),
		     0);
	cr_assert_eq(scenario.plan.rules[0].required, 0);
	cr_assert_eq(scenario.plan.rules[1].required, 0);
	cr_assert_eq(scenario.plan.rules[2].required, 1);
}

Test(scenario, injector_is_found_by_key_and_by_its_injector_word)
{
	cr_assert_eq(parse(HEAD "workload: none\ninject:\n"
				"  - none:\n"
				"  - second: { injector: none, required: false }\n"),
		     0);
	cr_assert_eq(scenario.plan.injection_count, 2);
	cr_assert_str_eq(scenario.plan.injections[1].injector->name, "none");
	cr_assert_str_eq(scenario.plan.injections[1].name, "second");
	cr_assert_not(scenario.plan.injections[1].required);
}

Test(scenario, inline_rule_and_inline_injector_are_accepted_in_the_list)
{
	cr_assert_eq(parse(HEAD "workload: none\ninject:\n"
				"  - madvise:advice=FREE:error=EINVAL\n"
				"  - none:name=twin:optional\n"),
		     0);
	cr_assert_eq(scenario.plan.rule_count, 1);
	cr_assert_str_eq(scenario.plan.injections[0].name, "twin");
	cr_assert_not(scenario.plan.injections[0].required);
}

Test(scenario, command_is_split_like_a_shell_would)
{
	cr_assert_eq(parse(HEAD "target:\n  command: redis-server --dir '{run}/a b' \\$x\n"), 0);
	cr_assert_not(scenario.plan.is_host);
	cr_assert_str_eq(scenario.plan.command[2], "{run}/a b");
	cr_assert_str_eq(scenario.plan.command[3], "$x");
	cr_assert_null(scenario.plan.command[4]);
}

Test(scenario, environment_keeps_values_that_are_empty_or_look_like_numbers)
{
	cr_assert_eq(parse(HEAD "target:\n  env: { A: '', B: 1, C: }\nworkload: none\n"), 0, "%s",
		     complaints.list[0].text);
	cr_assert_str_eq(scenario.plan.env[0], "A=");
	cr_assert_str_eq(scenario.plan.env[1], "B=1");
	cr_assert_str_eq(scenario.plan.env[2], "C=");
}

Test(scenario, stop_signal_is_named_with_or_without_sig)
{
	cr_assert_eq(parse(HEAD "target: { command: x, stop: SIGINT }\n"), 0);
	cr_assert_eq(scenario.plan.stop_signal, SIGINT);
	hq_scenario_clear(&scenario);
	cr_assert_eq(parse(HEAD "target: { command: x, stop: QUIT }\n"), 0);
	cr_assert_eq(scenario.plan.stop_signal, SIGQUIT);
}

Test(scenario, known_failure_is_split_into_allocator_and_version)
{
	cr_assert_eq(parse(HEAD "workload: none\nknown:\n"
				"  mimalloc-2.0.9: { verdict: inconclusive, because: it spins }\n"),
		     0);
	cr_assert_str_eq(scenario.known[0].allocator, "mimalloc");
	cr_assert_str_eq(scenario.known[0].version, "2.0.9");
	cr_assert_eq(scenario.known[0].known.verdict, HQ_VERDICT_INCONCLUSIVE);
}

Test(scenario, expectations_ask_for_idle_time)
{
	cr_assert_eq(parse(HEAD "workload: none\nexpect: [ 'rss.idle(5s) <= 64MiB' ]\n"), 0);
	cr_assert_eq(hq_scenario_settle_ns(&scenario), 5 * HQ_S);
}

Test(scenario, contract_takes_options_from_a_map_and_from_its_inline_form)
{
	cr_assert_eq(parse(HEAD "workload: none\ncontracts:\n"
				"  - idle-falls: { within: 2s, keep: 10% }\n"
				"  - overlap\n"),
		     0, "%s", complaints.list[0].text);
	cr_assert_eq(scenario.plan.contract_count, 2);
	cr_assert_str_eq(scenario.plan.contracts[1].checker->name, "overlap");
	cr_assert_eq(hq_scenario_settle_ns(&scenario), 2 * HQ_S);
	hq_scenario_clear(&scenario);
	cr_assert_eq(parse(HEAD "workload: none\ncontracts: idle-falls:within=4s:keep=10%\n"), 0,
		     "%s", complaints.list[0].text);
	cr_assert_eq(hq_scenario_settle_ns(&scenario), 4 * HQ_S);
}

Test(scenario, command_line_changes_options_of_a_contract_that_the_file_asks_for)
{
	struct hq_error error = { .text = "" };

	cr_assert_eq(parse(HEAD "workload: none\ncontracts: [ idle-falls: { within: 2s } ]\n"), 0);
	cr_assert_eq(hq_scenario_add_contract(&scenario, "idle-falls:within=5s", &error), 0, "%s",
		     error.text);
	cr_assert_eq(scenario.plan.contract_count, 1);
	cr_assert_eq(hq_scenario_settle_ns(&scenario), 5 * HQ_S);
}

Test(scenario, contract_with_too_little_time_for_its_idling_is_refused)
{
	cr_assert_neq(parse(HEAD "workload: none\ncontracts: [ idle-falls: { within: 20s } ]\n"
				 "run: { timeout: 10s }\n"),
		      0);
	cr_assert(strstr(complaints.list[0].text, "20s of idle time"));
}

Test(scenario, errors_of_several_sections_are_reported_together_in_order)
{
	cr_assert_neq(parse("question: Q?\n"
			    "target: { allocator: jemallok }\n"
			    "workload: chrun\n"
			    "run: { timeout: 30 }\n"),
		      0);
	cr_assert_eq(complaints.count, 3);
	cr_assert_eq(complaints.list[0].place.line, 2);
	cr_assert_eq(complaints.list[1].place.line, 3);
	cr_assert_eq(complaints.list[2].place.line, 4);
}

Test(scenario, more_errors_than_are_kept_are_counted)
{
	cr_assert_neq(parse("a1: 1\na2: 1\na3: 1\na4: 1\na5: 1\na6: 1\na7: 1\na8: 1\na9: 1\n"
			    "b1: 1\nb2: 1\nb3: 1\nb4: 1\nb5: 1\nb6: 1\nb7: 1\nb8: 1\nb9: 1\n"),
		      0);
	cr_assert_eq(complaints.count, HQ_COMPLAINTS_MAX);
	cr_assert_geq(complaints.left_out, 2);
}

Test(scenario, command_line_adds_a_rule_and_an_expectation_on_it)
{
	struct hq_error error = { .text = "" };

	cr_assert_eq(parse(HEAD "workload: none\n"), 0);
	cr_assert_eq(hq_scenario_add_injection(&scenario, "mmap:error=ENOMEM:name=x", &error), 0);
	cr_assert_eq(hq_scenario_add_expectation(&scenario, "inject.x.fired >= 1", &error), 0);
	cr_assert_eq(hq_scenario_check(&scenario, &error), 0, "%s", error.text);
}

Test(scenario, expectation_on_what_nobody_injects_is_refused)
{
	struct hq_error error;

	cr_assert_eq(parse(HEAD "workload: none\n"), 0);
	cr_assert_eq(hq_scenario_add_expectation(&scenario, "inject.x.fired >= 1", &error), 0);
	cr_assert_neq(hq_scenario_check(&scenario, &error), 0);
	cr_assert(strstr(error.text, "inject.x"));
}

Test(scenario, command_without_a_file_is_a_scenario)
{
	char *const command[] = { (char *)"echo", (char *)"a b", NULL };

	cr_assert_eq(hq_scenario_of_command(command, &scenario), 0);
	cr_assert_str_eq(scenario.plan.scenario, "command");
	cr_assert_str_eq(scenario.plan.command[1], "a b");
	cr_assert(strstr(scenario.plan.question, "echo 'a b'"));
}

Test(scenario, dropping_faults_leaves_the_work_and_what_must_hold_anyway)
{
	cr_assert_eq(parse(HEAD
			   "workload: churn\n"
			   "inject:\n"
			   "  - refuse: { call: madvise, fail: ENOMEM }\n"
			   "  - migrate: { rate: 100/s }\n"
			   "expect: [inject.refuse.fired >= 1, ops.missed == 0, heap.nulls >= 1]\n"
			   "contracts: [purge-path, steady]\n"
			   "known: { jemalloc: { because: x } }\n"),
		     0);
	hq_scenario_drop_faults(&scenario);
	cr_assert_eq(scenario.plan.contract_count, 1);
	cr_assert_str_eq(scenario.plan.contracts[0].checker->name, "steady");
	cr_assert_eq(scenario.plan.rule_count + scenario.plan.injection_count, 0);
	cr_assert_eq(scenario.plan.expectation_count, 1);
	cr_assert_str_eq(scenario.plan.expectations[0].text, "ops.missed == 0");
	cr_assert_eq(scenario.known_count, 0);
}

Test(scenario, dropping_faults_keeps_what_is_known_not_to_be_provable)
{
	cr_assert_eq(parse(HEAD "workload: churn\n"
				"inject: [ refuse: { call: madvise, fail: ENOMEM } ]\n"
				"known:\n"
				"  jemalloc: { because: x }\n"
				"  glibc: { verdict: inconclusive, because: y }\n"),
		     0);
	hq_scenario_drop_faults(&scenario);
	cr_assert_eq(scenario.known_count, 1);
	cr_assert_str_eq(scenario.known[0].known.because, "y");
	cr_assert(scenario.known[0].known.sometimes);
}

Test(scenario, dropping_faults_where_there_are_none_changes_nothing)
{
	cr_assert_eq(parse(HEAD "workload: churn\nexpect: [heap.nulls >= 1]\n"
				"known: { jemalloc: { because: x } }\n"),
		     0);
	hq_scenario_drop_faults(&scenario);
	cr_assert_eq(scenario.plan.expectation_count, 1);
	cr_assert_eq(scenario.known_count, 1);
}

struct wrong {
	char text[120]; /* behind the question */
	uint32_t line, column;
};

ParameterizedTestParameters(scenario, wrong_file_is_refused_at_its_place)
{
	static struct wrong rows[] = {
		{ "workload: none\nquestoin: x\n", 3, 1 },
		{ "workload: { churn: { trheads: 1 } }\n", 2, 22 },
		{ "workload: { churn: { threads: [1, [2]] } }\n", 2, 35 },
		{ "workload: [none]\n", 2, 11 },
		{ "target: { allocator: all, stop: SIGFOO }\nworkload: none\n", 2, 33 },
		{ "target: { env: { 1A: x } }\nworkload: none\n", 2, 18 },
		{ "target: { env: { LD_PRELOAD: x } }\nworkload: none\n", 2, 18 },
		{ "target: { command: \"'\" }\n", 2, 20 },
		{ "target: { driver: x }\nworkload: none\n", 2, 19 },
		{ "workload: none\ninject:\n  - a: { call: mmap, fail: EFOO }\n", 4, 28 },
		{ "workload: none\ninject:\n  - a: { call: mmap, fial: ENOMEM }\n", 4, 22 },
		{ "workload: none\nexpect:\n  - rss.peak <= 1\n", 4, 5 },
		{ "workload: none\ncontracts:\n  - idle-fals\n", 4, 5 },
		{ "workload: none\ncontracts:\n  - idle-falls: { witin: 1s }\n", 4, 19 },
		{ "workload: none\ncontracts:\n  - idle-falls: { within: 1 }\n", 4, 27 },
		{ "workload: none\ncontracts:\n  - overlap: { within: 1s }\n", 4, 16 },
		{ "workload: none\ncontracts:\n  - overlap\n  - overlap\n", 5, 5 },
		{ "workload: none\ncontracts: { overlap: {} }\n", 3, 12 },
		{ "workload: none\ncontracts: [ [ overlap ] ]\n", 3, 14 },
		{ "workload: none\nknown: { foo: { because: x } }\n", 3, 10 },
		{ "workload: none\nrun: { seed: -1 }\n", 3, 14 },
		{ "workload: none\ntags: [\"a b\"]\n", 3, 8 },
		{ "workload: none\nname: ../up\n", 3, 7 },
	};

	return cr_make_param_array(struct wrong, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct wrong *row, scenario, wrong_file_is_refused_at_its_place)
{
	char text[200];

	snprintf(text, sizeof(text), HEAD "%s", row->text);
	cr_assert_neq(parse(text), 0, "accepted: %s", row->text);
	cr_assert_eq(complaints.list[0].place.line, row->line, "%s: %u:%u: %s", row->text,
		     complaints.list[0].place.line, complaints.list[0].place.column,
		     complaints.list[0].text);
	cr_assert_eq(complaints.list[0].place.column, row->column, "%s: %u:%u: %s", row->text,
		     complaints.list[0].place.line, complaints.list[0].place.column,
		     complaints.list[0].text);
	hq_scenario_clear(&scenario);
}
