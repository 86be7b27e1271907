/* SPDX-License-Identifier: MIT */
/* The workload query-mix: every query gives the same answer each time, is counted as a part of its
 * own, and gives up cleanly where memory is refused. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_query_mix, .init = start);

static uint64_t runs_of(uint32_t thread, size_t part)
{
	return hq_load_relaxed(&fixture.wire->workers[thread].parts[part].runs);
}

static size_t part_count(void)
{
	const struct hq_workload_part *parts = hq_workload_find("query-mix")->parts;
	size_t count = 0;

	while (parts[count].name)
		count++;
	return count;
}

Test(workload_query_mix, there_are_dozens_of_queries_with_names_of_their_own)
{
	const struct hq_workload_part *parts = hq_workload_find("query-mix")->parts;

	cr_assert_geq(part_count(), 36);
	for (size_t i = 0; parts[i].name; i++) {
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(parts[i].name, parts[j].name);
	}
}

Test(workload_query_mix, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "query-mix", "threads=3 rows=6k rounds=2");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
	for (uint32_t thread = 0; thread < 3; thread++) {
		for (size_t part = 0; part < part_count(); part++)
			cr_expect_eq(runs_of(thread, part), 2, "query %zu", part);
	}
}

Test(workload_query_mix, tables_that_are_cleared_by_hand_give_the_same_answers)
{
	host_fixture_run(&fixture, &run, "query-mix",
			 "threads=2 rows=4k rounds=2 clear=true resident=1MiB");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_query_mix, a_group_runs_alone)
{
	const struct hq_workload_part *parts = hq_workload_find("query-mix")->parts;

	host_fixture_run(&fixture, &run, "query-mix", "threads=1 rows=3k rounds=1 group=sort");
	host_fixture_expect_clean(&fixture);
	for (size_t part = 0; part < part_count(); part++)
		cr_expect_eq(runs_of(0, part), strcmp(parts[part].group, "sort") == 0);
}

Test(workload_query_mix, what_is_no_group_is_refused_with_one_that_is)
{
	const struct hq_workload *workload = hq_workload_find("query-mix");
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	struct hq_error error = { "" };

	hq_options_default(workload->options, options, &error);
	hq_options_parse(workload->options, options, "group=nonsense", &error);
	cr_expect_neq(workload->validate(options, &error), 0);
	cr_expect(strstr(error.text, "math"));
}

Test(workload_query_mix, queries_arrive_at_a_rate)
{
	host_fixture_run(&fixture, &run, "query-mix",
			 "threads=2 rows=1k rounds=3 group=math arrivals=poisson rate=1k/s");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(hq_hist_count(&fixture.wire->workers[1].hist[HQ_LATENCY_OP]), 12);
}

Test(workload_query_mix, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("query-mix", "threads=2 rows=4k rounds=1", 40);
}

Test(workload_query_mix, it_survives_when_its_table_is_refused)
{
	host_fixture_expect_survives("query-mix", "threads=2 rows=1k rounds=1", 1);
}

Test(workload_query_mix, it_stops_early_when_told_and_frees_what_it_has)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "query-mix", "threads=2 rows=1k rounds=1000000");
	host_fixture_expect_clean(&fixture);
}
