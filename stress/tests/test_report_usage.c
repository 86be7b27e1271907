/* SPDX-License-Identifier: MIT */
/* The report for a comparison: the least of several runs, ratios to the best, and what is left out.
 */
#include <criterion/criterion.h>

#include "stress/tests/reported.h"

static struct hq_result results[8];

static struct hq_result used(const char *scenario, const char *allocator, double cpu_ns,
			     double peak_bytes)
{
	struct hq_result result = reported(HQ_VERDICT_PASS, allocator);

	strcpy(result.scenario, scenario);
	result.metric_count = 3;
	result.metrics[0] = (struct hq_result_metric){ "cpu.total", HQ_UNIT_NS, cpu_ns };
	result.metrics[1] = (struct hq_result_metric){ "rss.peak", HQ_UNIT_BYTES, 1 };
	result.metrics[2] = (struct hq_result_metric){ "rss.tree_peak", HQ_UNIT_BYTES, peak_bytes };
	return result;
}

static char *report(size_t count)
{
	const struct hq_suite suite = { .results = results, .count = count, .seed = 42 };
	char *text = reported_text("usage", &suite);

	cr_assert_not_null(text);
	return text;
}

/* Blanks in a row count as one, so that widths may change. */
static void assert_says(size_t count, const char *words)
{
	char *text = report(count), *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || (to > text && to[-1] != ' '))
			*to++ = *at;
	*to = '\0';
	cr_expect(strstr(text, words), "no '%s' in:\n%s", words, text);
	free(text);
}

Test(report_usage, each_allocator_has_its_ratio_to_the_best)
{
	results[0] = used("redis", "bedrock", 2e9, 104857600);
	results[1] = used("redis", "glibc", 3e9, 52428800);
	assert_says(2, "bedrock PASS 2 s 1.00 - - - 100 MiB 2.00 - -\n");
	assert_says(2, "glibc PASS 3 s 1.50 - - - 50 MiB 1.00 - -\n");
}

Test(report_usage, of_several_seeds_the_least_counts)
{
	results[0] = used("redis", "bedrock", 3e9, 104857600);
	results[1] = used("redis", "bedrock", 2e9, 209715200);
	assert_says(2, "bedrock PASS 2 s 1.00 - - - 100 MiB 1.00");
}

Test(report_usage, a_case_that_failed_is_no_measure_for_others)
{
	results[0] = used("redis", "bedrock", 2e9, 104857600);
	results[1] = used("redis", "glibc", 1e9, 52428800);
	results[1].verdict = HQ_VERDICT_FAIL;
	reported_fail(&results[1]);
	assert_says(2, "bedrock PASS 2 s 1.00");
	assert_says(2, "glibc FAIL 1 s - - - - 50 MiB - - -\n");
	assert_says(2, "FAIL on glibc: the content of a live block changed\n reproduce: heapquake");
}

Test(report_usage, latency_in_the_wake_of_faults_has_columns_where_there_were_faults)
{
	results[0] = used("redis", "bedrock", 2e9, 104857600);
	results[1] = used("redis", "glibc", 3e9, 52428800);
	results[1].metrics[3] =
		(struct hq_result_metric){ "latency.op.p99_9.clean", HQ_UNIT_NS, 5000 };
	results[1].metrics[4] =
		(struct hq_result_metric){ "latency.op.p99_9.faulted", HQ_UNIT_NS, 7000 };
	results[1].metric_count = 5;
	assert_says(2, "page faults best p99.9 clean p99.9 faulted\n");
	assert_says(2, "glibc PASS 3 s 1.50 - - - 50 MiB 1.00 - - 5 us 7 us\n");
	assert_says(2, "bedrock PASS 2 s 1.00 - - - 100 MiB 2.00 - - - -\n");
}

Test(report_usage, a_skipped_case_says_why)
{
	results[0] = reported(HQ_VERDICT_SKIP, "bedrock");
	results[0].metric_count = 0;
	strcpy(results[0].reason, "no node");
	assert_says(1, "SKIP on bedrock: no node\n");
	assert_says(1, "bedrock SKIP - - - - - - - - -\n");
}

Test(report_usage, means_are_of_scenarios_that_all_passed)
{
	results[0] = used("redis", "bedrock", 1e9, 104857600);
	results[1] = used("redis", "glibc", 4e9, 104857600);
	results[2] = used("perl", "bedrock", 1e9, 104857600);
	results[3] = used("perl", "glibc", 1e9, 104857600);
	results[4] = used("git", "bedrock", 1e9, 104857600);
	results[5] = used("git", "glibc", 9e9, 104857600);
	results[5].verdict = HQ_VERDICT_FAIL;
	assert_says(6, "geometric mean of 2 scenarios");
	assert_says(6, "glibc 2.00 - 1.00 -\n");
}

Test(report_usage, without_a_second_scenario_there_are_no_means)
{
	results[0] = used("redis", "bedrock", 1e9, 104857600);
	results[1] = used("redis", "glibc", 4e9, 104857600);
	char *text = report(2);

	cr_expect_null(strstr(text, "geometric"));
	free(text);
}

Test(report_usage, nothing_is_a_report_too)
{
	assert_says(0, "0 scenarios: nothing was run");
}

Test(report_usage, what_a_broken_target_says_stays_printable)
{
	results[0] = reported_nasty();
	char *text = report(1);

	cr_expect(reported_is_printable(text));
	free(text);
}
