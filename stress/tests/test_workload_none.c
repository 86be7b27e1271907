/* SPDX-License-Identifier: MIT */
/* The workload none: every kind of call once, nothing left. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_none, .init = start);

Test(workload_none, every_kind_of_call_is_made_and_everything_freed)
{
	host_fixture_run(&fixture, &run, "none", "threads=3");
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	host_fixture_expect_clean(&fixture);
	cr_assert_eq(sums.ops, 3);
	cr_assert_gt(sums.reallocs, 0);
	cr_assert_eq(sums.missed, 0);
	/* Each thread's block that began as a realloc of nothing is freed as well. */
	cr_assert_eq(sums.frees, sums.mallocs + 3);
}

Test(workload_none, it_repeats)
{
	host_fixture_expect_repeatable("none", "threads=2");
}

Test(workload_none, it_lives_when_everything_is_refused)
{
	host_fixture_refuse(&fixture, 1);
	host_fixture_run(&fixture, &run, "none", "threads=2");
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	host_fixture_expect_clean(&fixture);
	cr_assert_eq(sums.frees, 0);
	cr_assert_eq(sums.nulls, sums.mallocs + sums.reallocs);
	cr_assert_eq(sums.missed, sums.nulls);
}

Test(workload_none, every_row_of_the_table_can_be_found_and_has_sound_defaults)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	struct hq_error error = { "" };

	for (size_t i = 0; hq_workloads[i] != NULL; i++) {
		const struct hq_workload *const workload = hq_workloads[i];

		cr_expect_eq(hq_workload_find(workload->name), workload);
		cr_expect(i == 0 || strcmp(hq_workloads[i - 1]->name, workload->name) < 0);
		cr_expect_leq(workload->options_size, sizeof(options));
		cr_expect_eq(hq_options_default(workload->options, options, &error), 0, "%s: %s",
			     workload->name, error.text);
		cr_expect(workload->validate == NULL || workload->validate(options, &error) == 0,
			  "%s: %s", workload->name, error.text);
		cr_expect_leq(workload->threads(options), HQ_WIRE_WORKERS);
	}
	cr_expect_null(hq_workload_find("no-such-workload"));
}
