/* SPDX-License-Identifier: MIT */
/*
 * Plans: what a scenario becomes for one allocator and seed, and that a printed plan parses back to
 * the same plan.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/guard.h"
#include "stress/plan/scenario.h"

static const struct hq_allocator jemalloc = {
	.asked = "jemalloc",
	.family = "jemalloc",
	.library = "/usr/lib/libjemalloc.so.2",
	.version = "5.3.0",
};

static struct hq_plan plan;

static void clear(void)
{
	hq_plan_clear(&plan);
}

TestSuite(plan, .fini = clear);

/* The plan of that text; fails the test if there is none. */
static void resolve(const char *text, const struct hq_allocator *allocator, uint64_t seed,
		    struct hq_plan *result)
{
	struct hq_scenario *scenario = calloc(1, sizeof(*scenario));
	struct hq_complaints complaints;
	struct hq_error error = { .text = "" };

	cr_assert_eq(hq_scenario_parse(text, strlen(text), "x.yaml", scenario, &complaints), 0,
		     "%u:%u: %s", complaints.list[0].place.line, complaints.list[0].place.column,
		     complaints.list[0].text);
	cr_assert_eq(hq_plan_resolve(scenario, allocator, seed, result, &error), 0, "%s",
		     error.text);
	hq_scenario_clear(scenario);
	free(scenario);
}

static char *print(const struct hq_plan *printed)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	cr_assert_eq(hq_plan_print(printed, stream), 0);
	fclose(stream);
	return text;
}

#define HEAD "question: Q?\n"

Test(plan, lists_outlive_the_scenario)
{
	resolve(HEAD "target: { env: { A: b }, command: [/bin/true, x], driver: /bin/true }\n",
		&jemalloc, 7, &plan);
	cr_assert_str_eq(plan.command[1], "x");
	cr_assert_str_eq(plan.env[0], "A=b");
	cr_assert_str_eq(plan.driver[0], "/bin/true");
	cr_assert_str_eq(plan.library, jemalloc.library);
	cr_assert_eq(plan.seed, 7);
}

Test(plan, guard_prints_as_it_was_asked_for)
{
	static const char *const ways[] = { "full", "canary", "1/64" };

	for (size_t i = 0; i < 3; i++) {
		char section[100], line[40], *text;

		snprintf(section, sizeof(section),
			 HEAD "target: { command: /bin/true, guard: %s }\n", ways[i]);
		snprintf(line, sizeof(line), "  guard: %s\n", ways[i]);
		resolve(section, &jemalloc, 7, &plan);
		text = print(&plan);
		cr_expect(strstr(text, line), "%s", text);
		free(text);
		hq_plan_clear(&plan);
	}
}

Test(plan, guard_of_no_such_kind_is_refused)
{
	static const char *const wrong[] = { "", "half", "1/0", "1/x", "1/1000001", "canary " };
	struct hq_plan none = { .guard_every = 0 };
	struct hq_error why;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect(hq_guard_parse(wrong[i], &none, &why) < 0, "'%s'", wrong[i]);
	cr_expect_eq(none.guard_every, 0);
}

Test(plan, clean_runs_are_needed_when_an_expectation_says_clean)
{
	resolve(HEAD "workload: churn\nexpect: [ 'latency.malloc.p99 <= 3 * clean' ]\n", &jemalloc,
		1, &plan);
	cr_assert(plan.needs_clean);
}

Test(plan, settle_time_is_the_longest_that_is_asked_for)
{
	resolve(HEAD "workload: churn\n"
		     "expect: [ 'rss.idle(2s) <= 1GiB', 'rss.idle(3s) <= 1GiB' ]\n"
		     "run: { settle: 1s }\n",
		&jemalloc, 1, &plan);
	cr_assert_eq(plan.settle_ns, 3 * HQ_S);
}

Test(plan, memory_is_capped_unless_the_scenario_says_otherwise)
{
	resolve(HEAD "workload: none\n", &jemalloc, 1, &plan);
	cr_assert_gt(plan.memory_cap_bytes, 0);
	hq_plan_clear(&plan);
	resolve(HEAD "workload: none\nrun: { memory-cap: 0 }\n", &jemalloc, 1, &plan);
	cr_assert_eq(plan.memory_cap_bytes, 0);
}

Test(plan, known_failure_of_the_exact_version_beats_that_of_all)
{
	resolve(HEAD "workload: none\nknown:\n"
		     "  jemalloc: { because: all }\n"
		     "  jemalloc-5.3: { because: this }\n"
		     "  jemalloc-5.2: { because: another }\n"
		     "  glibc: { because: not ours }\n",
		&jemalloc, 1, &plan);
	cr_assert(plan.known.present);
	cr_assert_str_eq(plan.known.because, "this");
}

Test(plan, known_failure_of_another_allocator_does_not_count)
{
	resolve(HEAD "workload: none\nknown: { glibc: { because: x } }\n", &jemalloc, 1, &plan);
	cr_assert_not(plan.known.present);
}

Test(plan, missing_allocator_is_a_reason_to_skip)
{
	const struct hq_allocator missing = { .asked = "jemalloc", .missing = "not installed" };

	resolve(HEAD "workload: none\n", &missing, 1, &plan);
	cr_assert_str_eq(plan.skip_reason, "not installed");
}

Test(plan, missing_program_is_a_reason_to_skip)
{
	resolve(HEAD "target: { command: no-such-program-here }\n", &jemalloc, 1, &plan);
	cr_assert(strstr(plan.skip_reason, "no-such-program-here"), "%s", plan.skip_reason);
}

Test(plan, missing_need_is_a_reason_to_skip)
{
	resolve(HEAD "target: { command: /bin/true, needs: [sh, no-such-program-here] }\n",
		&jemalloc, 1, &plan);
	cr_assert(strstr(plan.skip_reason, "no-such-program-here"), "%s", plan.skip_reason);
}

Test(plan, need_with_a_wildcard_that_matches_nothing_is_a_reason_to_skip)
{
	resolve(HEAD "target: { command: /bin/true, needs: '/usr/lib/no-such-*/bin/initdb' }\n",
		&jemalloc, 1, &plan);
	cr_assert(strstr(plan.skip_reason, "does not exist"), "%s", plan.skip_reason);
}

Test(plan, needs_that_are_there_are_no_reason_to_skip)
{
	resolve(HEAD "target: { command: /bin/true, needs: [sh, '/bin/s?', '/etc/pass*'] }\n",
		&jemalloc, 1, &plan);
	cr_assert_str_eq(plan.skip_reason, "");
	cr_assert_str_eq(plan.needs[1], "/bin/s?");
}

Test(plan, file_that_is_no_program_is_a_reason_to_skip)
{
	resolve(HEAD "target: { command: /etc/passwd }\n", &jemalloc, 1, &plan);
	cr_assert(strstr(plan.skip_reason, "/etc/passwd"), "%s", plan.skip_reason);
}

Test(plan, allocator_that_a_program_brings_along_is_printed_as_own)
{
	const struct hq_allocator own = { .asked = HQ_ALLOCATOR_OWN };

	resolve(HEAD "target: { command: /bin/true }\n", &own, 1, &plan);
	char *text = print(&plan);

	cr_assert(strstr(text, "allocator: own\n"), "%s", text);
	free(text);
}

Test(plan, library_given_by_path_is_printed_as_its_path)
{
	const struct hq_allocator library = { .asked = "./x.so", .library = "/opt/lib/x.so" };

	resolve(HEAD "workload: none\n", &library, 1, &plan);
	char *text = print(&plan);

	cr_assert(strstr(text, "allocator: /opt/lib/x.so\n"), "%s", text);
	free(text);
}

struct text {
	char text[1200];
};

ParameterizedTestParameters(plan, printed_plan_parses_back_to_the_same)
{
	static struct text rows[] = {
		{ HEAD "workload: none\n" },
		{ "question: \"Does 'it': \\\"quote\\\", # and \xc3\xa9?\"\ntags: [a, b-c]\n"
		  "workload: { churn: { threads: 3, size: 16B..4KiB log, calloc: 12.5% } }\n" },
		{ HEAD "workload: churn\ninject:\n"
		       "  - refuse-free: { call: madvise, advice: [FREE, DONTNEED], fail: EINVAL, "
		       "window: 0s..3s, when: 3+2, probability: 10%, times: 5 }\n"
		       "  - lie: { call: madvise, advice: FREE, lie: true, optional: true }\n"
		       "  - slow: { call: mmap, length: 1MiB.., kind: anonymous, delay: 5ms }\n"
		       "  - part: { call: madvise, advice: DONTNEED, shrink: 50% }\n"
		       "  - quiet: { injector: none, required: false }\n"
		       "expect:\n"
		       "  - rss.idle(5s) <= 64MiB\n"
		       "  - latency.malloc.p99_9 <= 3 * clean + 1ms\n"
		       "  - inject.refuse-free.fired >= 10\n"
		       "contracts: [ idle-falls: { within: 4s, keep: 10% }, overlap ]\n"
		       "known: { jemalloc-5: { verdict: inconclusive, because: \"a: b, c\", "
		       "sometimes: true, checker: overlap } }\n"
		       "run: { timeout: 90s, hang: 3s, settle: 6s, sample: 2ms, pairs: 9, "
		       "memory-cap: 1GiB, mechanism: trap, seed: 9 }\n" },
		{ HEAD
		  "target:\n  command: [/bin/sh, -c, 'echo \"$1\"; \\true', \"a\\tb\", '', '5']\n"
		  "  env: { A: 'x: {y}', B: 'true', C: '' }\n"
		  "  driver: [/bin/sleep, 1s]\n"
		  "  needs: [sh, '/usr/*/true']\n"
		  "  ready: { file: '{run}/ready, or not' }\n"
		  "  stop: SIGINT\n" },
	};

	return cr_make_param_array(struct text, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct text *row, plan, printed_plan_parses_back_to_the_same)
{
	struct hq_plan again;

	resolve(row->text, &jemalloc, 12345, &plan);
	char *first = print(&plan);

	resolve(first, &jemalloc, 12345, &again);
	char *second = print(&again);

	cr_assert_str_eq(first, second);
	cr_assert_eq(memcmp(plan.rules, again.rules, sizeof(plan.rules)), 0);
	cr_assert_eq(memcmp(&plan.known, &again.known, sizeof(plan.known)), 0);
	hq_plan_clear(&plan);
	hq_plan_clear(&again);
	free(first);
	free(second);
}
