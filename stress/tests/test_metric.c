/* SPDX-License-Identifier: MIT */
/* Metrics: every name, where its value comes from, and what is said when there is none. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "stress/observe/counters.h"
#include "stress/tests/observed.h"
#include "stress/wire/hist.h"

/* 1 MiB more with every 100 ms: the value of a sample tells when it was taken. */
static struct hq_sample samples[41];
static struct hq_hist hist[HQ_LATENCY_COUNT];

static struct hq_observations observed_all(void)
{
	struct hq_observations seen = observed_good();

	for (size_t i = 0; i < 41; i++)
		samples[i] = (struct hq_sample){ i * 100 * HQ_MS, i * HQ_MIB };
	memset(hist, 0, sizeof(hist));
	seen.has_samples = true;
	seen.samples = samples;
	seen.sample_count = 41;
	seen.hist = hist;
	seen.rss_start_bytes = 5;
	seen.rss_peak_bytes = 50 * HQ_MIB;
	seen.quiet_count = 2;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = 1500 * HQ_MS,
					   .rss_bytes = 15 * HQ_MIB,
					   .lazyfree_bytes = 4 * HQ_MIB };
	seen.quiet[1] = (struct hq_quiet){ .time_ns = 3510 * HQ_MS,
					   .rss_bytes = 35 * HQ_MIB,
					   .lazyfree_bytes = 2 * HQ_MIB };
	seen.minor_faults = 11;
	seen.major_faults = 12;
	seen.voluntary_switches = 13;
	seen.involuntary_switches = 14;
	seen.migrations = 15;
	seen.has_migrations = true;
	seen.user_ns = 16;
	seen.system_ns = 17;
	seen.reallocs = 18;
	seen.weighed_bytes = 80;
	seen.usable_bytes = 100;
	seen.nulls = 19;
	seen.missed = 20;
	seen.requested_peak_bytes = 21;
	seen.last_null_ns = 22;
	seen.sampler_core_share = 0.01;
	seen.lives = 61;
	seen.space_start = (struct hq_space){ 31, 32, 33, 1 };
	seen.space_peak = (struct hq_space){ 41, 42, 43, 1 };
	seen.space_end = (struct hq_space){ 51, 52, 53, 1 };
	return seen;
}

static double value_of(const struct hq_observations *seen, const char *name, enum hq_unit expected)
{
	enum hq_unit unit = (enum hq_unit)99;
	struct hq_error error = { "" };
	double value = -1;
	const int status = hq_metric_get(seen, name, &value, &unit, &error);

	cr_assert_eq(status, 0, "%s: %d %s", name, status, error.text);
	cr_assert_eq(unit, expected, "%s", name);
	return value;
}

static void assert_error(const struct hq_observations *seen, const char *name, int status,
			 const char *text)
{
	enum hq_unit unit;
	struct hq_error error = { "" };
	double value;

	cr_assert_eq(hq_metric_get(seen, name, &value, &unit, &error), status, "%s: %s", name,
		     error.text);
	cr_assert(strstr(error.text, text), "%s: %s", name, error.text);
}

Test(metric, plain_names_give_their_fields)
{
	static const struct {
		const char *name;
		double value;
		enum hq_unit unit;
	} table[] = {
		{ "threads.lived", 61, HQ_UNIT_COUNT },
		{ "mapped.start", 31, HQ_UNIT_BYTES },
		{ "mapped.peak", 41, HQ_UNIT_BYTES },
		{ "mapped.end", 51, HQ_UNIT_BYTES },
		{ "space.start", 32, HQ_UNIT_BYTES },
		{ "space.peak", 42, HQ_UNIT_BYTES },
		{ "space.end", 52, HQ_UNIT_BYTES },
		{ "vma.start", 33, HQ_UNIT_COUNT },
		{ "vma.peak", 43, HQ_UNIT_COUNT },
		{ "vma.end", 53, HQ_UNIT_COUNT },
		{ "rss.start", 5, HQ_UNIT_BYTES },
		{ "rss.peak", 50 * HQ_MIB, HQ_UNIT_BYTES },
		{ "rss.end", 35 * HQ_MIB, HQ_UNIT_BYTES },
		{ "rss.median", 20 * HQ_MIB, HQ_UNIT_BYTES },
		{ "rss.worked", 10 * HQ_MIB, HQ_UNIT_BYTES },
		{ "rss.lazyfree", 2 * HQ_MIB, HQ_UNIT_BYTES },
		{ "faults.minor", 11, HQ_UNIT_COUNT },
		{ "faults.major", 12, HQ_UNIT_COUNT },
		{ "switches.voluntary", 13, HQ_UNIT_COUNT },
		{ "switches.involuntary", 14, HQ_UNIT_COUNT },
		{ "cpu.migrations", 15, HQ_UNIT_COUNT },
		{ "cpu.user", 16, HQ_UNIT_NS },
		{ "cpu.system", 17, HQ_UNIT_NS },
		{ "cpu.total", 33, HQ_UNIT_NS },
		{ "time.work", HQ_S, HQ_UNIT_NS },
		{ "time.wall", 4100 * HQ_MS, HQ_UNIT_NS },
		{ "ops.count", 1000, HQ_UNIT_COUNT },
		{ "ops.rate", 1000, HQ_UNIT_PER_SECOND },
		{ "ops.missed", 20, HQ_UNIT_COUNT },
		{ "heap.mallocs", 5000, HQ_UNIT_COUNT },
		{ "heap.last_null", 22, HQ_UNIT_NS },
		{ "heap.frees", 5000, HQ_UNIT_COUNT },
		{ "heap.reallocs", 18, HQ_UNIT_COUNT },
		{ "heap.waste", 0.25, HQ_UNIT_SHARE },
		{ "heap.nulls", 19, HQ_UNIT_COUNT },
		{ "heap.requested_peak", 21, HQ_UNIT_BYTES },
		{ "sampler.share", 0.01, HQ_UNIT_SHARE },
	};
	const struct hq_observations seen = observed_all();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_assert_float_eq(value_of(&seen, table[i].name, table[i].unit), table[i].value,
				   1e-9, "%s", table[i].name);
}

Test(metric, waste_is_not_known_where_nothing_was_weighed)
{
	struct hq_observations seen = observed_all();
	struct hq_error error;
	enum hq_unit unit;
	double value;

	seen.weighed_bytes = seen.usable_bytes = 0;
	cr_assert_eq(hq_metric_get(&seen, "heap.waste", &value, &unit, &error), -ENODATA);
}

Test(metric, a_counter_gives_its_value_and_a_missing_one_the_reason)
{
	struct hq_observations seen = observed_all();

	seen.counted[HQ_COUNTER_CYCLES] =
		(struct hq_counted){ .known = true, .value = 4000, .running = 0.5 };
	seen.counted[HQ_COUNTER_INSTRUCTIONS] =
		(struct hq_counted){ .known = true, .value = 9000, .running = 0.75 };
	seen.counted[HQ_COUNTER_TASK_CLOCK] =
		(struct hq_counted){ .known = true, .value = 77, .running = 0.25 };
	seen.counted[HQ_COUNTER_BRANCHES] = (struct hq_counted){ .status = -ENOENT };
	cr_assert_eq(value_of(&seen, "hardware.cycles", HQ_UNIT_COUNT), 4000);
	cr_assert_eq(value_of(&seen, "perf.task_clock", HQ_UNIT_NS), 77);
	cr_assert_eq(value_of(&seen, "hardware.running", HQ_UNIT_SHARE), 0.5);
	assert_error(&seen, "hardware.branches", -ENODATA, "does not count it");
	assert_error(&seen, "hardware.itlb_misses", -ENODATA, "nothing was counted");
}

Test(metric, no_hardware_counter_has_no_share_of_the_time)
{
	struct hq_observations seen = observed_all();

	seen.counted[HQ_COUNTER_CYCLES].status = -ENOENT;
	assert_error(&seen, "hardware.running", -ENODATA, "does not count it");
}

Test(metric, each_counter_is_a_row_of_the_table)
{
	const struct hq_observations seen = observed_all();

	for (int i = 0; i < HQ_COUNTER_COUNT; i++)
		assert_error(&seen, hq_counter_metric((enum hq_counter)i), -ENODATA,
			     "nothing was counted");
}

Test(metric, traced_calls_have_count_time_and_longest_by_kind)
{
	struct hq_observations seen = observed_all();

	assert_error(&seen, "calls.madvise.count", -ENODATA, "run.calls");
	assert_error(&seen, "calls.lost", -ENODATA, "run.calls");
	seen.calls.status = -EPERM;
	assert_error(&seen, "calls.madvise.count", -ENODATA, "forbidden");
	seen.calls = (struct hq_calls_seen){
		.known = true,
		.kinds = { [HQ_TRACED_MADVISE] = { 3, 40, 20 } },
		.waits = { 5, 600, 70 },
		.advised_bytes = 8192,
		.unmapped_bytes = 4096,
	};
	cr_assert_eq(value_of(&seen, "calls.madvise.count", HQ_UNIT_COUNT), 3);
	cr_assert_eq(value_of(&seen, "calls.madvise.time", HQ_UNIT_NS), 40);
	cr_assert_eq(value_of(&seen, "calls.madvise.max", HQ_UNIT_NS), 20);
	cr_assert_eq(value_of(&seen, "calls.process_madvise.count", HQ_UNIT_COUNT), 0);
	cr_assert_eq(value_of(&seen, "calls.lock_waits", HQ_UNIT_COUNT), 5);
	cr_assert_eq(value_of(&seen, "calls.lock_wait_time", HQ_UNIT_NS), 600);
	cr_assert_eq(value_of(&seen, "calls.lock_wait_max", HQ_UNIT_NS), 70);
	cr_assert_eq(value_of(&seen, "calls.advised", HQ_UNIT_BYTES), 8192);
	cr_assert_eq(value_of(&seen, "calls.unmapped", HQ_UNIT_BYTES), 4096);
	cr_assert_eq(value_of(&seen, "calls.lost", HQ_UNIT_COUNT), 0);
}

Test(metric, of_calls_nothing_is_told_when_records_were_lost_but_how_many)
{
	struct hq_observations seen = observed_all();

	seen.calls = (struct hq_calls_seen){ .known = true, .lost = 9 };
	cr_assert_eq(value_of(&seen, "calls.lost", HQ_UNIT_COUNT), 9);
	assert_error(&seen, "calls.mmap.count", -ENODATA, "lost");
	assert_error(&seen, "calls.advised", -ENODATA, "lost");
}

Test(metric, a_call_that_is_not_traced_is_answered_with_the_nearest)
{
	const struct hq_observations seen = observed_all();

	assert_error(&seen, "calls.madvice.count", -ENOENT, "did you mean 'madvise'");
	assert_error(&seen, "calls.madvise.tims", -ENOENT, "did you mean 'time'");
	assert_error(&seen, "calls.lock_wait", -ENOENT, "did you mean 'calls.lock_waits'");
	assert_error(&seen, "calls.read.count", -ENOENT, "not traced");
}

Test(metric, what_was_faulted_beyond_the_peak_had_been_given_back)
{
	struct hq_observations seen = observed_all();

	seen.page_bytes = 4096;
	seen.rss_start_bytes = 10 * HQ_MIB;
	seen.rss_peak_bytes = 50 * HQ_MIB;
	assert_error(&seen, "memory.faulted", -ENODATA, "not read");
	seen.minor_faults_start = 100;
	seen.minor_faults = 100 + 60 * HQ_MIB / 4096;
	cr_assert_eq(value_of(&seen, "memory.faulted", HQ_UNIT_BYTES), 60 * HQ_MIB);
	cr_assert_eq(value_of(&seen, "memory.faulted_again", HQ_UNIT_BYTES), 20 * HQ_MIB);
	/* 35 MiB are resident at the end. */
	cr_assert_eq(value_of(&seen, "memory.given_back", HQ_UNIT_BYTES), 35 * HQ_MIB);
	seen.minor_faults = 100 + 5 * HQ_MIB / 4096;
	cr_assert_eq(value_of(&seen, "memory.faulted_again", HQ_UNIT_BYTES), 0);
}

Test(metric, the_table_is_sorted_and_complete)
{
	for (size_t i = 0; i < hq_metric_count; i++) {
		const struct hq_metric_info *info = &hq_metrics[i];

		cr_assert(info->pattern[0] && info->source[0] && info->help[0]);
		if (i > 0)
			cr_assert_lt(strcmp(hq_metrics[i - 1].pattern, info->pattern), 0, "%s",
				     info->pattern);
	}
}

Test(metric, the_end_is_the_last_sample_where_there_is_no_quiet_reading)
{
	struct hq_observations seen = observed_all();

	seen.quiet_count = 0;
	cr_assert_eq(value_of(&seen, "rss.end", HQ_UNIT_BYTES), 40 * HQ_MIB);
}

Test(metric, the_median_of_an_even_number_of_samples_is_the_middle)
{
	struct hq_observations seen = observed_all();

	seen.sample_count = 2;
	cr_assert_eq(value_of(&seen, "rss.median", HQ_UNIT_BYTES), HQ_MIB / 2);
}

Test(metric, idle_is_the_latest_sample_at_or_before_the_moment)
{
	const struct hq_observations seen = observed_all();

	cr_assert_eq(value_of(&seen, "rss.idle(2s)", HQ_UNIT_BYTES), 35 * HQ_MIB);
	cr_assert_eq(value_of(&seen, "rss.idle(1990ms)", HQ_UNIT_BYTES), 34 * HQ_MIB);
	cr_assert_eq(value_of(&seen, "rss.idle(0)", HQ_UNIT_BYTES), 15 * HQ_MIB);
}

Test(metric, idle_right_after_freeing_never_takes_a_sample_from_before)
{
	struct hq_observations seen = observed_all();

	seen.freed_ns = 1510 * HQ_MS;
	cr_assert_eq(value_of(&seen, "rss.idle(0)", HQ_UNIT_BYTES), 16 * HQ_MIB);
}

Test(metric, idle_beyond_the_end_of_the_run_was_not_observed)
{
	const struct hq_observations seen = observed_all();

	assert_error(&seen, "rss.idle(5s)", -ENODATA, "no sample of resident memory 5s after");
}

Test(metric, idle_of_a_run_that_never_freed_was_not_observed)
{
	struct hq_observations seen = observed_all();

	seen.freed_ns = 0;
	assert_error(&seen, "rss.idle(1s)", -ENODATA, "never came");
	assert_error(&seen, "rss.kept(1s)", -ENODATA, "never came");
}

Test(metric, idle_in_a_hole_between_samples_was_not_observed)
{
	struct hq_observations seen = observed_all();

	for (size_t i = 21; i < 40; i++)
		samples[i].time_ns = 2000 * HQ_MS + i;
	assert_error(&seen, "rss.idle(1s)", -ENODATA, "no sample");
}

Test(metric, idle_in_a_hole_between_samples_is_what_the_controller_read_soon_after)
{
	struct hq_observations seen = observed_all();

	for (size_t i = 21; i < 40; i++)
		samples[i].time_ns = 2000 * HQ_MS + i;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = seen.freed_ns + 900 * HQ_MS, .rss_bytes = 1 };
	seen.quiet[1] =
		(struct hq_quiet){ .time_ns = seen.freed_ns + 1300 * HQ_MS, .rss_bytes = 2 };
	seen.quiet_count = 2;
	cr_assert_eq(value_of(&seen, "rss.idle(1s)", HQ_UNIT_BYTES), 2);
	seen.quiet[1].time_ns += HQ_S;
	assert_error(&seen, "rss.idle(1s)", -ENODATA, "no sample");
}

Test(metric, kept_leaves_out_what_the_kernel_may_take)
{
	const struct hq_observations seen = observed_all();

	cr_assert_eq(value_of(&seen, "rss.kept(2s)", HQ_UNIT_BYTES), 33 * HQ_MIB);
	cr_assert_eq(value_of(&seen, "rss.kept(100ms)", HQ_UNIT_BYTES), 12 * HQ_MIB);
}

Test(metric, kept_is_never_below_zero)
{
	struct hq_observations seen = observed_all();

	seen.quiet[1].lazyfree_bytes = 100 * HQ_MIB;
	cr_assert_eq(value_of(&seen, "rss.kept(2s)", HQ_UNIT_BYTES), 0);
}

Test(metric, kept_needs_a_reading_from_after_freeing)
{
	struct hq_observations seen = observed_all();

	seen.quiet_count = 1;
	seen.quiet[0].time_ns = HQ_S;
	assert_error(&seen, "rss.kept(2s)", -ENODATA, "LazyFree was not read after");
	seen.quiet_count = 0;
	assert_error(&seen, "rss.lazyfree", -ENODATA, "LazyFree was not read");
}

Test(metric, latency_quantiles_come_from_the_histogram_of_the_call)
{
	const struct hq_observations seen = observed_all();

	for (uint64_t ns = 1; ns <= 1000; ns++)
		hq_hist_record(&hist[HQ_LATENCY_FREE], ns);
	cr_assert_eq(value_of(&seen, "latency.free.p50", HQ_UNIT_NS), 500);
	cr_assert_eq(value_of(&seen, "latency.free.p90", HQ_UNIT_NS), 900);
	cr_assert_eq(value_of(&seen, "latency.free.p99", HQ_UNIT_NS), 990);
	cr_assert_eq(value_of(&seen, "latency.free.p99_9", HQ_UNIT_NS), 999);
	cr_assert_eq(value_of(&seen, "latency.free.p99_99", HQ_UNIT_NS), 1000);
	cr_assert_eq(value_of(&seen, "latency.free.max", HQ_UNIT_NS), 1000);
	cr_assert_eq(value_of(&seen, "latency.free.mean", HQ_UNIT_NS), 500.5);
	cr_assert_eq(value_of(&seen, "latency.free.count", HQ_UNIT_COUNT), 1000);
	cr_assert_eq(value_of(&seen, "latency.malloc.count", HQ_UNIT_COUNT), 0);
}

Test(metric, a_band_of_sizes_has_latencies_of_its_own)
{
	static struct hq_hist band;
	struct hq_observations seen = observed_all();

	seen.bands[HQ_LATENCY_MALLOC][HQ_BAND_4KIB] = &band;
	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 9);
	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 70);
	hq_hist_record(&band, 70);
	cr_assert_eq(value_of(&seen, "latency.malloc.p50", HQ_UNIT_NS), 9);
	cr_assert_eq(value_of(&seen, "latency.malloc@4KiB.p50", HQ_UNIT_NS), 70);
	cr_assert_eq(value_of(&seen, "latency.malloc@4KiB.max", HQ_UNIT_NS), 70);
	cr_assert_eq(value_of(&seen, "latency.malloc@4KiB.count", HQ_UNIT_COUNT), 1);
	cr_assert_eq(value_of(&seen, "latency.malloc@above.count", HQ_UNIT_COUNT), 0);
	assert_error(&seen, "latency.malloc@above.p50", -ENODATA, "no such call");
	assert_error(&seen, "latency.free@4KiB.p50", -ENODATA, "no such call");
	seen.hist = NULL;
	assert_error(&seen, "latency.malloc@64KiB.p50", -ENODATA, "not recorded");
}

Test(metric, latencies_in_clean_and_in_faulted_windows_are_apart)
{
	static struct hq_hist clean[HQ_LATENCY_COUNT], faulted[HQ_LATENCY_COUNT], band;
	struct hq_observations seen = observed_all();

	seen.apart[HQ_WINDOW_CLEAN].hist = clean;
	seen.apart[HQ_WINDOW_FAULTED].hist = faulted;
	seen.apart[HQ_WINDOW_FAULTED].bands[HQ_LATENCY_FREE][HQ_BAND_1MIB] = &band;
	hq_hist_record(&hist[HQ_LATENCY_FREE], 50);
	hq_hist_record(&clean[HQ_LATENCY_FREE], 60);
	hq_hist_record(&faulted[HQ_LATENCY_FREE], 70);
	hq_hist_record(&band, 80);
	cr_assert_eq(value_of(&seen, "latency.free.p99", HQ_UNIT_NS), 50);
	cr_assert_eq(value_of(&seen, "latency.free.p99.clean", HQ_UNIT_NS), 60);
	cr_assert_eq(value_of(&seen, "latency.free.p99_9.faulted", HQ_UNIT_NS), 70);
	cr_assert_eq(value_of(&seen, "latency.free.max.faulted", HQ_UNIT_NS), 70);
	cr_assert_eq(value_of(&seen, "latency.free@1MiB.p50.faulted", HQ_UNIT_NS), 80);
	cr_assert_eq(value_of(&seen, "latency.free@1MiB.count.clean", HQ_UNIT_COUNT), 0);
	cr_assert_eq(value_of(&seen, "latency.malloc.count.faulted", HQ_UNIT_COUNT), 0);
	assert_error(&seen, "latency.malloc.p99.faulted", -ENODATA, "in the wake of a fault");
	assert_error(&seen, "latency.op.mean.clean", -ENODATA, "outside the wake of faults");
}

Test(metric, a_window_that_does_not_exist_is_answered_with_those_that_do)
{
	const struct hq_observations seen = observed_all();

	assert_error(&seen, "latency.malloc.p99.fault", -ENOENT, "did you mean 'faulted'");
	assert_error(&seen, "latency.malloc.p99.", -ENOENT, "quantile");
	assert_error(&seen, "latency.malloc.p99.clean.faulted", -ENOENT, ".clean and .faulted");
	assert_error(&seen, "latency.malloc.clean", -ENOENT, "quantile");
}

Test(metric, a_band_that_does_not_exist_is_answered_with_those_that_do)
{
	const struct hq_observations seen = observed_all();

	assert_error(&seen, "latency.malloc@4KB.p50", -ENOENT, "did you mean '4KiB'");
	assert_error(&seen, "latency.malloc@.p50", -ENOENT, "@256B");
	assert_error(&seen, "latency.op@4KiB.p50", -ENOENT, "has no size");
	assert_error(&seen, "latency.mallok@4KiB.p50", -ENOENT, "did you mean 'malloc'");
	assert_error(&seen, "latency.malloc@4KiB.p5x", -ENOENT, "quantile");
	assert_error(&seen, "latency.@4KiB.p50", -ENOENT, "malloc, free, realloc or op");
}

Test(metric, latency_of_a_call_that_never_came_was_not_observed)
{
	struct hq_observations seen = observed_all();

	assert_error(&seen, "latency.op.p50", -ENODATA, "no such call");
	seen.hist = NULL;
	assert_error(&seen, "latency.op.count", -ENODATA, "not recorded");
}

static struct hq_observations observed_faults(void)
{
	struct hq_observations seen = observed_all();

	seen.rule_count = 1;
	seen.rules[0] = (struct hq_rule_total){
		.name = "refuse.free", .seen = 3, .eligible = 2, .fired = 1
	};
	seen.injection_count = 1;
	seen.injections[0] = (struct hq_injection_result){
		.name = "limit",
		.measure_count = 4,
		.measures = { { "fired", "", 4 },
			      { "held", "B", 5 },
			      { "stalled", "ns", 6 },
			      { "rate", "/s", 7 } },
	};
	return seen;
}

Test(metric, counts_of_a_rule_are_found_by_its_name_also_with_a_dot)
{
	const struct hq_observations seen = observed_faults();

	cr_assert_eq(value_of(&seen, "inject.refuse.free.seen", HQ_UNIT_COUNT), 3);
	cr_assert_eq(value_of(&seen, "inject.refuse.free.eligible", HQ_UNIT_COUNT), 2);
	cr_assert_eq(value_of(&seen, "inject.refuse.free.fired", HQ_UNIT_COUNT), 1);
}

Test(metric, measures_of_an_injector_keep_their_unit)
{
	const struct hq_observations seen = observed_faults();

	cr_assert_eq(value_of(&seen, "inject.limit.fired", HQ_UNIT_COUNT), 4);
	cr_assert_eq(value_of(&seen, "inject.limit.held", HQ_UNIT_BYTES), 5);
	cr_assert_eq(value_of(&seen, "inject.limit.stalled", HQ_UNIT_NS), 6);
	cr_assert_eq(value_of(&seen, "inject.limit.rate", HQ_UNIT_PER_SECOND), 7);
}

Test(metric, unknown_faults_and_counters_are_refused_with_what_there_is)
{
	const struct hq_observations seen = observed_faults();

	assert_error(&seen, "inject.refuse.fre.fired", -ENOENT, "did you mean 'refuse.free'");
	assert_error(&seen, "inject.limit.hold", -ENOENT, "fired, held, stalled, rate");
	assert_error(&seen, "inject.refuse.free.held", -ENOENT, "eligible, fired, seen");
}

Test(metric, unknown_names_are_answered_with_the_nearest)
{
	static const struct {
		const char *name;
		const char *text;
	} table[] = {
		{ "rss.peek", "did you mean 'rss.peak'?" },
		{ "rss.idel(2s)", "did you mean 'rss.idle(T)'?" },
		{ "rss.idle", "did you mean 'rss.idle(T)'?" },
		{ "latency.mallok.p50", "did you mean 'malloc'?" },
		{ "latency.malloc.p99.9", "did you mean 'p99_9'?" },
		{ "latency.malloc.QUANTILE", "quantile (p50, p99_9), max, mean and count" },
		{ "latency.malloc", "quantile" },
		{ "latency.malloc.p0", "quantile" },
		{ "latency.malloc.p100", "quantile" },
		{ "latency.malloc.p99_", "quantile" },
		{ "latency.malloc.p99_9999", "quantile" },
		{ "inject.fired", "inject.NAME.COUNTER" },
		{ "inject..fired", "inject.NAME.COUNTER" },
		{ "rss.idle(2)", "the time in 'rss.idle(2)' is wrong" },
		{ "rss.idle(2s", "time in brackets" },
		{ "rss.idle()", "the time in 'rss.idle()' is wrong" },
		{ "", "no metric ''" },
		{ "completely.different", "explain metrics" },
	};
	const struct hq_observations seen = observed_all();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_error(&seen, table[i].name, -ENOENT, table[i].text);
}

Test(metric, what_was_not_recorded_is_said_and_not_invented)
{
	struct hq_observations seen = { 0 };

	assert_error(&seen, "rss.peak", -ENODATA, "not sampled");
	assert_error(&seen, "faults.minor", -ENODATA, "counters were not read");
	assert_error(&seen, "cpu.migrations", -ENODATA, "did not tell of moves");
	assert_error(&seen, "ops.count", -ENODATA, "only a built-in workload");
	seen.is_host = true;
	assert_error(&seen, "time.work", -ENODATA, "not completed");
	assert_error(&seen, "ops.rate", -ENODATA, "not completed");
	seen.has_samples = true;
	assert_error(&seen, "rss.end", -ENODATA, "no sample");
	assert_error(&seen, "rss.median", -ENODATA, "no sample");
	assert_error(&seen, "rss.worked", -ENODATA, "not completed");
}
