/* SPDX-License-Identifier: MIT */
/* The report for a person, word by word. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/reported.h"

static struct hq_suite suite_of(const struct hq_result *results, size_t count)
{
	return (struct hq_suite){ .results = results,
				  .count = count,
				  .seed = 42,
				  .wall_ns = 31240000000,
				  .program_version = "0.1" };
}

static void assert_text(const struct hq_suite *suite, const char *expected)
{
	char *text = reported_text("text", suite);

	cr_assert_str_eq(text, expected);
	free(text);
}

Test(text, a_suite_of_every_verdict)
{
	struct hq_result results[7];
	const struct hq_suite suite = suite_of(results, reported_all(results));

	assert_text(
		&suite,
		"heapquake 0.1, seed 42\n"
		"\n"
		"FAIL refuse-free on glibc 1.2.3 (seed 42, 1.5 s)\n"
		"  question: Does memory come back?\n"
		"  content: the content of a live block changed (3 times)\n"
		"      worker 1: block 0x1000\n"
		"        injected 2 ms earlier, rule 'refuse'\n"
		"  not conclusive, injected: rule 'other' never fired\n"
		"  injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen\n"
		"  results: results/latest/refuse-free/glibc/42\n"
		"  reproduce: heapquake run --seed=42 scenarios/decay/refuse-free.yaml\n"
		"\n"
		"INCONCLUSIVE refuse-free on jemalloc 1.2.3 (seed 42, 1.5 s)\n"
		"  question: Does memory come back?\n"
		"  not conclusive, injected: rule 'refuse' never fired\n"
		"  injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen\n"
		"  reproduce: heapquake run --seed=42 scenarios/decay/refuse-free.yaml\n"
		"\n"
		"SKIP refuse-free on mimalloc 1.2.3 (seed 42, 1.5 s): mimalloc is not installed\n"
		"XFAIL refuse-free on tcmalloc 1.2.3 (seed 42, 1.5 s): known: spins\n"
		"XPASS refuse-free on rpmalloc 1.2.3 (seed 42, 1.5 s)\n"
		"  question: Does memory come back?\n"
		"  reason: known to fail, but nothing was found\n"
		"  injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen\n"
		"  reproduce: heapquake run --seed=42 scenarios/decay/refuse-free.yaml\n"
		"\n"
		"ERROR refuse-free on snmalloc 1.2.3 (seed 42, 1.5 s)\n"
		"  question: Does memory come back?\n"
		"  reason: no memory for the run\n"
		"  injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen\n"
		"  reproduce: heapquake run --seed=42 scenarios/decay/refuse-free.yaml\n"
		"\n"
		"scenario     bedrock       glibc         jemalloc      mimalloc      tcmalloc    "
		"  rpmalloc      snmalloc\n"
		"refuse-free  PASS          FAIL          INCONCLUSIVE  SKIP          XFAIL       "
		"  XPASS         ERROR\n"
		"\n"
		"XFAIL: failed, as is known of this allocator\n"
		"XPASS: known to fail, but passed\n"
		"\n"
		"7 scenarios: 1 pass, 1 fail, 1 error, 1 xpass, 1 inconclusive, 1 xfail, 1 skip "
		"(seed 42, 31.2 s)\n");
}

Test(text, one_pass_is_the_last_line_alone)
{
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");
	const struct hq_suite suite = suite_of(&result, 1);

	assert_text(&suite, "heapquake 0.1, seed 42\n\n1 scenario: 1 pass (seed 42, 31.2 s)\n");
}

Test(text, verbose_shows_a_pass_with_its_metrics)
{
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");
	struct hq_suite suite = suite_of(&result, 1);

	suite.verbose = true;
	assert_text(&suite,
		    "heapquake 0.1, seed 42\n\n"
		    "PASS refuse-free on bedrock 1.2.3 (seed 42, 1.5 s)\n"
		    "  injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen\n"
		    "    rss.peak                     173 MiB\n"
		    "    ops.rate                     1234/s\n"
		    "    latency.op.mean              99.6 ns\n\n"
		    "1 scenario: 1 pass (seed 42, 31.2 s)\n");
}

Test(text, nothing_run_is_still_a_report)
{
	const struct hq_suite suite = suite_of(NULL, 0);

	assert_text(&suite, "heapquake 0.1, seed 42\n\n"
			    "0 scenarios: nothing was run (seed 42, 31.2 s)\n");
}

Test(text, several_seeds_share_a_cell_that_shows_the_joined_verdict)
{
	struct hq_result results[3] = { reported(HQ_VERDICT_PASS, "a"),
					reported(HQ_VERDICT_FAIL, "a"),
					reported(HQ_VERDICT_PASS, "b") };
	const struct hq_suite suite = suite_of(results, 3);
	char *text;

	strcpy(results[2].scenario, "other");
	text = reported_text("text", &suite);
	cr_assert(strstr(text, "\nrefuse-free  FAIL          -\n"), "%s", text);
	cr_assert(strstr(text, "\nother        -             PASS\n"), "%s", text);
	free(text);
}

Test(text, colors_are_used_only_if_asked_for)
{
	const struct hq_result result = reported(HQ_VERDICT_FAIL, "bedrock");
	struct hq_suite suite = suite_of(&result, 1);
	char *text = reported_text("text", &suite);

	cr_assert_null(strchr(text, '\x1b'));
	free(text);
	suite.color = true;
	text = reported_text("text", &suite);
	cr_assert(strstr(text, "\x1b[1;31mFAIL\x1b[0m"));
	free(text);
}

Test(text, a_target_cannot_speak_to_the_terminal)
{
	const struct hq_result result = reported_nasty();
	const struct hq_suite suite = suite_of(&result, 1);
	char *text = reported_text("text", &suite);

	cr_assert(reported_is_printable(text));
	cr_assert(strstr(text, "\\x1b[31m \\xff\\xc3 # TODO \\n \\x01 gr\xc3\xbc\xc3\x9f"));
	free(text);
}

Test(text, what_found_no_room_is_said)
{
	struct hq_result result = reported(HQ_VERDICT_FAIL, "bedrock");
	const struct hq_suite suite = suite_of(&result, 1);
	char *text;

	reported_fail(&result);
	result.findings.left_out = 5;
	text = reported_text("text", &suite);
	cr_assert(strstr(text, "\n  and 5 more that found no room\n"));
	free(text);
}
