/* SPDX-License-Identifier: MIT */
/* Which holes in the record make a run inconclusive, and which do not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_sample samples[] = { { 0, 1 }, { HQ_S, 1 } };
static struct hq_hist hist[HQ_LATENCY_COUNT];

static struct hq_observations complete(void)
{
	struct hq_observations observed = observed_good();

	observed.has_samples = true;
	observed.samples = samples;
	observed.sample_count = 2;
	observed.hist = hist;
	return observed;
}

static void assert_gap(const struct hq_observations *observed, const char *text)
{
	struct hq_findings findings = observed_check("recorded", observed);

	cr_assert_eq(findings.count, 1);
	cr_assert(findings.list[0].gap);
	cr_assert(strstr(findings.list[0].text, text) || strstr(findings.list[0].evidence, text),
		  "%s\n%s", findings.list[0].text, findings.list[0].evidence);
}

Test(recorded, a_complete_record_is_quiet)
{
	struct hq_observations observed = complete();

	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, dropped_events_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.events_dropped = 12;
	assert_gap(&observed, "12 events");
}

Test(recorded, guard_that_was_not_loaded_is_a_gap)
{
	struct hq_observations observed = complete();

	observed.guarded = true;
	assert_gap(&observed, "the guard was not loaded");
	observed.guard_programs = 1;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, guard_behind_a_programs_own_malloc_is_a_gap)
{
	struct hq_observations observed = complete();

	observed.guarded = true;
	observed.guard_programs = 1;
	observed.guard_refused = 3;
	assert_gap(&observed, "3 programs");
}

Test(recorded, blocks_that_the_guard_had_no_memory_for_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.guarded = true;
	observed.guard_programs = 1;
	observed.guard_unwatched = 5;
	assert_gap(&observed, "5 blocks");
}

Test(recorded, blocks_that_the_host_had_no_memory_for_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.unwatched = 7;
	assert_gap(&observed, "7 blocks");
}

Test(recorded, files_that_did_not_take_everything_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.unwritten = 9;
	observed.unwritten_error = ENOSPC;
	assert_gap(&observed, "9 writes failed, the last one: No space left on device");
}

Test(recorded, dropped_fault_records_are_no_gap)
{
	struct hq_observations observed = complete();

	observed.faults_dropped = 100000;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, no_samples_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.has_samples = false;
	assert_gap(&observed, "not sampled");
	observed.has_samples = true;
	observed.sample_count = 0;
	assert_gap(&observed, "not sampled");
}

Test(recorded, a_run_too_short_for_a_sample_is_quiet)
{
	struct hq_observations observed = complete();

	observed.sample_count = 0;
	observed.end_ns = 2 * HQ_MS;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
	observed.sample_count = 1;
	observed.samples_missed = 40;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, late_samples_are_quiet)
{
	struct hq_observations observed = complete();

	observed.samples_missed = 17;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, at_most_one_sample_in_ten_is_a_gap)
{
	struct hq_observations observed = complete();

	observed.samples_missed = 18;
	assert_gap(&observed, "18 of 20 samples missed");
}

Test(recorded, calls_without_latency_are_a_gap)
{
	struct hq_observations observed = complete();

	observed.hist = NULL;
	assert_gap(&observed, "latency");
}

Test(recorded, a_program_needs_no_latency)
{
	struct hq_observations observed = complete();

	observed.hist = NULL;
	observed.is_host = false;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(recorded, a_target_that_did_not_start_left_nothing_to_record)
{
	struct hq_observations observed = complete();

	observed.outcome = HQ_OUTCOME_NOT_STARTED;
	observed.has_samples = false;
	observed.hist = NULL;
	cr_assert_eq(observed_check("recorded", &observed).count, 0);
}

Test(progress, a_workload_that_gave_up_every_operation_is_a_gap)
{
	struct hq_observations observed = complete();

	observed.ops = 0;
	observed.missed = 50;
	observed.nulls = 60;
	struct hq_findings findings = observed_check("progress", &observed);

	cr_assert_eq(findings.count, 1);
	cr_assert(findings.list[0].gap);
	cr_assert(strstr(findings.list[0].evidence, "50 given up, 60 allocations"));
}

Test(progress, one_completed_operation_is_enough)
{
	struct hq_observations observed = complete();

	observed.ops = 1;
	observed.missed = 50;
	cr_assert_eq(observed_check("progress", &observed).count, 0);
}

Test(progress, operations_that_got_no_memory_at_all_are_none)
{
	struct hq_observations observed = complete();

	observed.ops = 50;
	observed.missed = 50;
	observed.mallocs = 55;
	observed.reallocs = 5;
	observed.nulls = 60;
	cr_assert_eq(observed_check("progress", &observed).count, 1);
	observed.nulls = 59;
	cr_assert_eq(observed_check("progress", &observed).count, 0);
}

Test(progress, a_workload_that_asks_for_nothing_is_quiet)
{
	struct hq_observations observed = complete();

	observed.ops = 0;
	observed.mallocs = 0;
	cr_assert_eq(observed_check("progress", &observed).count, 0);
}

Test(progress, a_crash_is_left_to_survived)
{
	struct hq_observations observed = complete();

	observed.ops = 0;
	observed.missed = 1;
	observed.outcome = HQ_OUTCOME_SIGNALED;
	cr_assert_eq(observed_check("progress", &observed).count, 0);
}
