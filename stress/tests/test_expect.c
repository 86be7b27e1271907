/* SPDX-License-Identifier: MIT */
/* The expectation language: what it accepts, what it refuses and how, and what it judges. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_expectation parsed(const char *text)
{
	struct hq_expectation expectation;
	struct hq_error error = { "" };

	cr_assert_eq(hq_expectation_parse(text, true, &expectation, &error), 0, "%s: %s", text,
		     error.text);
	return expectation;
}

/* ---- reading ---- */

Test(expect, a_plain_value_is_read_in_the_unit_of_the_metric)
{
	static const struct {
		const char *text;
		const char *metric;
		const char *op;
		double constant;
		enum hq_unit unit;
	} table[] = {
		{ "rss.peak <= 64MiB", "rss.peak", "<=", 67108864, HQ_UNIT_BYTES },
		{ "rss.peak<=64MiB", "rss.peak", "<=", 67108864, HQ_UNIT_BYTES },
		{ "rss.idle(5s) < 1.5GiB", "rss.idle(5s)", "<", 1610612736, HQ_UNIT_BYTES },
		{ "rss.idle(1.5s)>0", "rss.idle(1.5s)", ">", 0, HQ_UNIT_BYTES },
		{ "latency.malloc.p99_9 <= 5us", "latency.malloc.p99_9", "<=", 5000, HQ_UNIT_NS },
		{ "latency.malloc@4KiB.p99 <= 5us", "latency.malloc@4KiB.p99", "<=", 5000,
		  HQ_UNIT_NS },
		{ "ops.count >= 10k", "ops.count", ">=", 10000, HQ_UNIT_COUNT },
		{ "heap.nulls == 0", "heap.nulls", "==", 0, HQ_UNIT_COUNT },
		{ "ops.missed != 1", "ops.missed", "!=", 1, HQ_UNIT_COUNT },
		{ "ops.rate >= 100/s", "ops.rate", ">=", 100, HQ_UNIT_PER_SECOND },
		{ "rss.slope <= 64KiB/s", "rss.slope", "<=", 65536, HQ_UNIT_BYTES_PER_SECOND },
		{ "sampler.share < 25%", "sampler.share", "<", 0.25, HQ_UNIT_SHARE },
		{ "inject.refuse-free.fired >= 10", "inject.refuse-free.fired", ">=", 10,
		  HQ_UNIT_COUNT },
		{ "inject.limit.held >= 10MiB", "inject.limit.held", ">=", 10485760,
		  HQ_UNIT_BYTES },
		{ "inject.limit.stalled >= 3ms", "inject.limit.stalled", ">=", 3e6, HQ_UNIT_NS },
		{ "  rss.end  >  1KiB  ", "rss.end", ">", 1024, HQ_UNIT_BYTES },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct hq_expectation e = parsed(table[i].text);

		cr_assert_str_eq(e.metric, table[i].metric);
		cr_assert_str_eq(e.op, table[i].op);
		cr_assert_float_eq(e.constant, table[i].constant, 1e-9, "%s", table[i].text);
		cr_assert_eq(e.unit, table[i].unit, "%s", table[i].text);
		cr_assert(!e.against_clean && e.other[0] == '\0');
	}
}

Test(expect, clean_may_have_a_factor_and_an_addend)
{
	struct hq_expectation e = parsed("latency.malloc.p99_9 <= 3 * clean");

	cr_assert(e.against_clean);
	cr_assert_eq(e.factor, 3.0);
	e = parsed("rss.peak <= clean");
	cr_assert(e.against_clean);
	cr_assert_eq(e.factor, 1.0);
	e = parsed("rss.peak <= 1.5*clean+8MiB");
	cr_assert(e.against_clean);
	cr_assert_eq(e.factor, 1.5);
	cr_assert_eq(e.constant, 8388608.0);
}

Test(expect, another_metric_may_have_a_factor_and_an_addend)
{
	const struct hq_expectation e = parsed("rss.idle(2s) <= 0.5 * rss.worked + 1MiB");

	cr_assert(!e.against_clean);
	cr_assert_str_eq(e.other, "rss.worked");
	cr_assert_eq(e.factor, 0.5);
	cr_assert_eq(e.constant, 1048576.0);
}

Test(expect, the_text_is_kept_as_written_without_spaces_around)
{
	cr_assert_str_eq(parsed("  rss.peak  <= 64MiB \n").text, "rss.peak  <= 64MiB");
}

Test(expect, mistakes_are_refused_with_the_place_and_what_would_be_right)
{
	static const struct {
		const char *text;
		const char *error;
	} table[] = {
		{ "", "expected a metric" },
		{ "<= 3", "at '<= 3': expected a metric" },
		{ "rss.peek <= 3MiB",
		  "at 'rss.peek': no metric 'rss.peek'; did you mean 'rss.peak'?" },
		{ "rss.peak", "a comparison is missing" },
		{ "rss.peak = 3MiB", "at '= 3MiB': expected one of <= >= < > == !=" },
		{ "rss.peak 3MiB", "at '3MiB': expected one of" },
		{ "rss.peak <=", "at the end a value is missing, such as 64MiB" },
		{ "rss.peak <= 64", "at '64': " },
		{ "rss.peak <= 64", "written as in 64MiB" },
		{ "rss.peak <= 64MB", "at '64MB': " },
		{ "rss.peak <= 64us", "at '64us': " },
		{ "latency.op.p50 <= 64", "written as in 5us" },
		{ "latency.op.p50 <= 64MiB", "written as in 5us" },
		{ "ops.count >= 10MiB", "written as in 10k" },
		{ "ops.rate >= 10", "written as in 100/s" },
		{ "sampler.share <= 120%", "written as in 25%" },
		{ "rss.peak <= -1MiB", "at '-1MiB': " },
		{ "rss.peak <= nan", "no metric 'nan'" },
		{ "rss.peak <= 64MiB extra", "at '64MiB extra': " },
		{ "rss.peak <= 3 * ", "at '': expected `clean` or a metric" },
		{ "rss.peak <= 3 * 4MiB", "no metric" },
		{ "rss.peak <= 3 * klean", "at 'klean': " },
		{ "rss.peak <= clean * 3",
		  "at '* 3': expected the end, or + and a value such as 64MiB" },
		{ "rss.peak <= clean + 3", "at '3': " },
		{ "rss.peak <= clean +", "at the end a value is missing" },
		{ "rss.peak <= clean - 3MiB", "at '- 3MiB': expected the end" },
		{ "rss.peak <= 2 * ops.count", "at 'ops.count': a size" },
		{ "inject.x.fired >= clean", "nothing is injected in the clean runs" },
		{ "inject.x.held >= many", "no metric 'many'" },
		{ "inject.x.held >= 10 apples", "unit that the injector measures in" },
		{ "inject.x.held >=", "value is missing" },
		{ "rss.idle(x) <= 3MiB", "the time in 'rss.idle(x)' is wrong" },
		{ "rss.idle(2s <= 3MiB", "brackets" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct hq_expectation expectation;
		struct hq_error error = { "" };

		cr_assert_eq(hq_expectation_parse(table[i].text, true, &expectation, &error),
			     -EINVAL, "accepted: %s", table[i].text);
		cr_assert(strstr(error.text, table[i].error), "%s: %s", table[i].text, error.text);
	}
}

Test(expect, a_text_or_name_that_is_too_long_is_refused)
{
	struct hq_expectation expectation;
	struct hq_error error;
	char text[400];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_assert_eq(hq_expectation_parse(text, true, &expectation, &error), -EINVAL);
	cr_assert(strstr(error.text, "at most 159"));
	text[100] = '\0';
	cr_assert_eq(hq_expectation_parse(text, true, &expectation, &error), -EINVAL);
	cr_assert(strstr(error.text, "too long"), "%s", error.text);
}

Test(expect, metrics_of_the_host_are_refused_for_a_program_on_either_side)
{
	struct hq_expectation expectation;
	struct hq_error error;

	cr_assert_eq(hq_expectation_parse("ops.rate >= 1/s", false, &expectation, &error), -EINVAL);
	cr_assert(strstr(error.text, "only a built-in workload"));
	cr_assert_eq(hq_expectation_parse("time.wall <= time.work", false, &expectation, &error),
		     -EINVAL);
	cr_assert_eq(hq_expectation_parse("rss.peak <= 1GiB", false, &expectation, &error), 0);
}

Test(expect, idle_time_is_the_longest_of_both_sides)
{
	struct hq_expectation e = parsed("rss.idle(2s) <= rss.kept(5s)");

	cr_assert_eq(hq_expectation_idle_ns(&e), 5 * HQ_S);
	e = parsed("rss.idle(2s) <= 3 * clean");
	cr_assert_eq(hq_expectation_idle_ns(&e), 2 * HQ_S);
	e = parsed("rss.peak <= 3 * clean");
	cr_assert_eq(hq_expectation_idle_ns(&e), 0);
}

Test(expect, the_name_of_what_is_injected_is_found_on_either_side)
{
	char name[64];
	struct hq_expectation e = parsed("inject.refuse-free.fired >= 10");

	cr_assert_str_eq(hq_expectation_inject_name(&e, name), "refuse-free");
	e = parsed("ops.count >= inject.a.b.seen");
	cr_assert_str_eq(hq_expectation_inject_name(&e, name), "a.b");
	e = parsed("rss.peak <= 1GiB");
	cr_assert_str_eq(hq_expectation_inject_name(&e, name), "");
}

static bool needs_faults(const char *text)
{
	const struct hq_expectation e = parsed(text);

	return hq_expectation_needs_faults(&e);
}

Test(expect, what_only_faults_can_bring_about_needs_them)
{
	cr_assert(needs_faults("inject.refuse.fired >= 1"));
	cr_assert(needs_faults("ops.count >= 2 * inject.refuse.fired"));
	cr_assert(needs_faults("heap.nulls >= 1"));
	cr_assert(needs_faults("heap.nulls != 0"));
	cr_assert_not(needs_faults("heap.nulls == 0"));
	cr_assert_not(needs_faults("heap.last_null <= 2s"));
	cr_assert_not(needs_faults("rss.idle(2s) <= 1.3 * clean + 8MiB"));
}

/* ---- judging ---- */

static struct hq_observations with_peak(uint64_t bytes, uint64_t fired)
{
	struct hq_observations seen = observed_good();

	seen.has_samples = true;
	seen.rss_peak_bytes = bytes;
	seen.rss_start_bytes = 10 * HQ_MIB;
	seen.rule_count = 1;
	seen.rules[0] = (struct hq_rule_total){ .name = "refuse", .fired = fired };
	return seen;
}

static struct hq_findings judged(const char *text, const uint64_t *peaks, size_t count,
				 const uint64_t *clean_peaks, size_t clean_count)
{
	const struct hq_expectation expectation = parsed(text);
	struct hq_observations runs[8], clean[8];
	const struct hq_observations *run_list[8], *clean_list[8];
	struct hq_findings findings = { 0 };

	for (size_t i = 0; i < count; i++) {
		runs[i] = with_peak(peaks[i], 10 * (i + 1));
		run_list[i] = &runs[i];
	}
	for (size_t i = 0; i < clean_count; i++) {
		clean[i] = with_peak(clean_peaks[i], 0);
		clean_list[i] = &clean[i];
	}
	const struct hq_series series = {
		.runs = run_list,
		.run_count = count,
		.clean_runs = clean_list,
		.clean_count = clean_count,
		.confidence = { .false_alarm = 0.001, .missed = 0.05 },
	};

	hq_expectation_judge(&expectation, &series, &findings);
	return findings;
}

static struct hq_findings judged_one(const char *text, uint64_t peak)
{
	return judged(text, &peak, 1, NULL, 0);
}

static void assert_finding(const struct hq_findings *findings, const char *text)
{
	cr_assert_eq(findings->count, 1);
	cr_assert(!findings->list[0].gap);
	cr_assert_str_eq(findings->list[0].checker, "expect");
	cr_assert_str_eq(findings->list[0].text, text);
}

Test(expect, each_operator_compares_as_it_is_written)
{
	static const struct {
		const char *op;
		bool below, equal, above;
	} table[] = {
		{ "<", true, false, false },  { "<=", true, true, false },
		{ ">", false, false, true },  { ">=", false, true, true },
		{ "==", false, true, false }, { "!=", true, false, true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "rss.peak %s 2KiB", table[i].op);
		cr_assert_eq(judged_one(text, 1024).count == 0, table[i].below, "%s", text);
		cr_assert_eq(judged_one(text, 2048).count == 0, table[i].equal, "%s", text);
		cr_assert_eq(judged_one(text, 4096).count == 0, table[i].above, "%s", text);
	}
}

Test(expect, a_broken_bound_names_metric_value_and_bound_as_written)
{
	const struct hq_findings findings = judged_one("rss.peak <= 64MiB", 173 * HQ_MIB);

	assert_finding(&findings, "rss.peak = 173 MiB, expected <= 64MiB");
}

Test(expect, a_bound_missed_by_a_hair_is_shown_with_every_digit)
{
	const struct hq_findings findings = judged_one("rss.peak <= 64MiB", 64 * HQ_MIB + 1);

	assert_finding(&findings, "rss.peak = 67108865 B, expected <= 64MiB");
}

Test(expect, against_clean_names_the_clean_value_and_what_follows)
{
	uint64_t runs[7], clean[7];

	for (size_t i = 0; i < 7; i++) {
		runs[i] = (170 + i) * HQ_MIB;
		clean[i] = (37 + i) * HQ_MIB;
	}
	const struct hq_findings findings =
		judged("rss.peak <= 1.5 * clean + 4MiB", runs, 7, clean, 7);

	assert_finding(&findings,
		       "rss.peak = 173 MiB, expected <= 1.5 * clean + 4MiB (clean = 40 MiB, "
		       "so <= 64 MiB)");
}

Test(expect, against_another_metric_names_its_value)
{
	const struct hq_findings findings = judged_one("rss.peak <= 2 * rss.start", 30 * HQ_MIB);

	assert_finding(&findings,
		       "rss.peak = 30 MiB, expected <= 2 * rss.start (rss.start = 10 MiB, "
		       "so <= 20 MiB)");
}

Test(expect, the_median_of_the_runs_is_judged_and_all_are_shown)
{
	const uint64_t bad[] = { 9 * HQ_MIB, 1 * HQ_MIB, 5 * HQ_MIB };

	cr_assert_eq(judged("rss.peak <= 5MiB", bad, 3, NULL, 0).count, 0);
	const struct hq_findings findings = judged("rss.peak < 5MiB", bad, 3, NULL, 0);

	assert_finding(&findings, "rss.peak = 5 MiB, expected < 5MiB");
	cr_assert_str_eq(findings.list[0].evidence, "rss.peak: 9 MiB, 1 MiB, 5 MiB");
}

Test(expect, a_finding_against_clean_shows_all_runs_and_its_chance)
{
	const uint64_t runs[] = { 6 * HQ_MIB, 7 * HQ_MIB, 6 * HQ_MIB, 7 * HQ_MIB,
				  6 * HQ_MIB, 7 * HQ_MIB, 6 * HQ_MIB };
	const uint64_t clean[] = { 1 * HQ_MIB, 2 * HQ_MIB, 5 * HQ_MIB, 4 * HQ_MIB,
				   5 * HQ_MIB, 4 * HQ_MIB, 3 * HQ_MIB };
	const struct hq_findings findings = judged("rss.peak <= clean", runs, 7, clean, 7);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].text, "(clean = 4 MiB, so <= 4 MiB)"));
	cr_assert(strstr(findings.list[0].evidence, "\nclean: 1 MiB, 2 MiB, 5 MiB, "), "%s",
		  findings.list[0].evidence);
	cr_assert(strstr(findings.list[0].evidence, "once in 3432 such series"), "%s",
		  findings.list[0].evidence);
}

Test(expect, runs_that_overlap_with_their_bounds_are_a_gap)
{
	const uint64_t runs[] = { 6 * HQ_MIB, 2 * HQ_MIB, 4 * HQ_MIB };
	const uint64_t clean[] = { 1 * HQ_MIB, 5 * HQ_MIB, 3 * HQ_MIB };
	const struct hq_findings findings = judged("rss.peak <= clean", runs, 3, clean, 3);

	cr_assert_eq(findings.count, 1);
	cr_assert(findings.list[0].gap);
	cr_assert_str_eq(findings.list[0].text,
			 "cannot tell whether rss.peak <= clean: the runs differ too much among "
			 "each other");
}

Test(expect, equal_counts_hold_against_clean_unless_less_is_asked_for)
{
	const uint64_t same[] = { 4096, 4096, 4096, 4096, 4096, 4096, 4096 };

	cr_assert_eq(judged("rss.peak <= clean", same, 7, same, 7).count, 0);
	cr_assert_eq(judged("rss.peak >= clean", same, 7, same, 7).count, 0);
	cr_assert_eq(judged("rss.peak == clean", same, 7, same, 7).count, 0);
	cr_assert_eq(judged("rss.peak < clean", same, 7, same, 7).count, 1);
	cr_assert_eq(judged("rss.peak > clean", same, 7, same, 7).count, 1);
	cr_assert_eq(judged("rss.peak != clean", same, 7, same, 7).count, 1);
}

Test(expect, counts_of_faults_are_judged_on_the_smallest_run)
{
	const uint64_t runs[] = { 1, 1, 1 }; /* which fired 10, 20 and 30 times */

	cr_assert_eq(judged("inject.refuse.fired >= 10", runs, 3, NULL, 0).count, 0);
	cr_assert_eq(judged("inject.refuse.fired >= 11", runs, 3, NULL, 0).count, 1);
}

static void assert_gap(const struct hq_findings *findings, const char *text)
{
	cr_assert_eq(findings->count, 1);
	cr_assert(findings->list[0].gap);
	cr_assert_str_eq(findings->list[0].checker, "expect");
	cr_assert(strstr(findings->list[0].text, text), "%s", findings->list[0].text);
}

Test(expect, too_few_faults_are_a_gap_and_no_fault_of_the_target)
{
	const struct hq_findings findings = judged_one("inject.refuse.fired >= 11", 1);

	assert_gap(&findings, "inject.refuse.fired = 10, expected >= 11");
}

Test(expect, too_many_faults_are_a_finding)
{
	const struct hq_findings findings = judged_one("inject.refuse.fired <= 9", 1);

	assert_finding(&findings, "inject.refuse.fired = 10, expected <= 9");
}

Test(expect, a_metric_that_was_not_observed_is_a_gap)
{
	const struct hq_findings findings = judged_one("latency.malloc.p50 <= 1us", 1);

	assert_gap(&findings, "latency.malloc.p50 was not observed: latency was not recorded");
	cr_assert_str_eq(findings.list[0].evidence, "expected: latency.malloc.p50 <= 1us");
}

Test(expect, clean_without_a_clean_run_is_a_gap)
{
	const struct hq_findings findings = judged_one("rss.peak <= clean", 1);

	assert_gap(&findings, "rss.peak was not observed in the clean runs");
}

Test(expect, without_any_run_everything_is_a_gap)
{
	const struct hq_findings findings = judged("rss.peak <= 1GiB", NULL, 0, NULL, 0);

	assert_gap(&findings, "rss.peak was not observed");
}

Test(expect, an_unknown_fault_is_a_gap)
{
	const struct hq_findings findings = judged_one("inject.refuze.fired >= 1", 1);

	assert_gap(&findings, "did you mean 'refuse'");
}

static struct hq_findings judged_measure(const char *text)
{
	const struct hq_expectation expectation = parsed(text);
	struct hq_observations seen = observed_good();
	const struct hq_observations *run = &seen;
	struct hq_findings findings = { 0 };

	seen.injection_count = 1;
	seen.injections[0] = (struct hq_injection_result){
		.name = "limit",
		.measure_count = 3,
		.measures = { { "held", "B", 4096 }, { "wanted", "B", 8192 }, { "steps", "", 1 } },
	};
	hq_expectation_judge(&expectation, &(struct hq_series){ .runs = &run, .run_count = 1 },
			     &findings);
	return findings;
}

Test(expect, a_measure_of_an_injector_is_judged_in_its_own_unit)
{
	cr_assert_eq(judged_measure("inject.limit.held >= 4KiB").count, 0);
	const struct hq_findings findings = judged_measure("inject.limit.held >= 5KiB");

	assert_finding(&findings, "inject.limit.held = 4 KiB, expected >= 5KiB");
}

Test(expect, a_measure_in_another_unit_than_expected_is_a_gap)
{
	const struct hq_findings findings = judged_measure("inject.limit.held >= 5ms");

	assert_gap(&findings, "it is a size, but the expectation is about a time");
}

Test(expect, a_step_that_was_not_taken_is_a_gap)
{
	const struct hq_findings findings = judged_measure("inject.limit.steps >= 2");

	assert_gap(&findings, "inject.limit.steps = 1, expected >= 2");
}

Test(expect, two_measures_of_one_unit_can_be_compared)
{
	const struct hq_findings findings =
		judged_measure("inject.limit.held >= inject.limit.wanted");

	assert_finding(&findings, "inject.limit.held = 4 KiB, expected >= inject.limit.wanted "
				  "(inject.limit.wanted = 8 KiB, so >= 8 KiB)");
}
