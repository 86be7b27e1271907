/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the workload insert-scan: added to row by row or once a batch, by several clients,
 * they end with the same totals, and those are the rows; refusals cost trace entries, never counts.
 */
#include "stress/tests/host_fixture.h"
#include "stress/workload/insert_scan.h"

#define ROWS  6000u /* of three clients */
#define SMALL "threads=3 rows=2k batch=100 budget=128KiB block=4KiB cache=64KiB passes=1 "

static struct host_fixture fixture;
static struct host_fixture_run run, other_run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_insert_scan_statistics, .init = start, .timeout = 100);

static struct insert_scan_shared *shared_of(const struct host_fixture_run *of)
{
	return of->work.shared;
}

static uint64_t sum(_Atomic uint64_t *sizes)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < INSERT_SCAN_MAGNITUDES; i++)
		total += hq_load_relaxed(&sizes[i]);
	return total;
}

static void expect_rows(struct insert_scan_statistics *seen, uint64_t rows)
{
	cr_expect_eq(hq_load_relaxed(&seen->rows), rows);
	cr_expect_eq(sum(seen->row_sizes), rows);
	cr_expect_eq(sum(seen->value_sizes), 6 * rows);
	cr_expect_eq(seen->traced + seen->forgotten + hq_load_relaxed(&seen->lost), rows);
	cr_expect_leq(seen->traced, INSERT_SCAN_TRACED);
}

static void expect_all_counted(const char *options, uint64_t rows)
{
	host_fixture_run(&fixture, &run, "insert-scan", options);
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
	expect_rows(&shared_of(&run)->statistics, rows);
}

Test(workload_insert_scan_statistics, row_by_row_every_row_is_counted)
{
	expect_all_counted(SMALL "statistics=row", ROWS);
}

Test(workload_insert_scan_statistics, once_a_batch_every_row_is_counted)
{
	expect_all_counted(SMALL "statistics=batch", ROWS);
}

Test(workload_insert_scan_statistics, a_batch_larger_than_the_trace_is_counted_in_pieces)
{
	expect_all_counted("threads=2 rows=9k batch=9k value=4B..16B_log passes=0 "
			   "statistics=batch",
			   18000);
	cr_expect_gt(shared_of(&run)->statistics.forgotten, 0);
}

Test(workload_insert_scan_statistics, both_forms_end_with_the_same_totals)
{
	struct insert_scan_statistics *row, *batch;

	host_fixture_run(&fixture, &run, "insert-scan", SMALL "statistics=row");
	host_fixture_run(&fixture, &other_run, "insert-scan", SMALL "statistics=batch");
	row = &shared_of(&run)->statistics;
	batch = &shared_of(&other_run)->statistics;
	cr_expect_gt(hq_load_relaxed(&row->bytes), ROWS);
	cr_expect_eq(hq_load_relaxed(&row->bytes), hq_load_relaxed(&batch->bytes));
	cr_expect_arr_eq(row->row_sizes, batch->row_sizes, sizeof(row->row_sizes));
	cr_expect_arr_eq(row->value_sizes, batch->value_sizes, sizeof(row->value_sizes));
}

Test(workload_insert_scan_statistics, off_nothing_is_counted)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL);
	expect_rows(&shared_of(&run)->statistics, 0);
}

/* All that the forms differ in, seen by the allocator: an entry a row, or a chunk a batch. */
Test(workload_insert_scan_statistics, a_batch_asks_for_memory_less_often_than_its_rows)
{
	const char *const row = SMALL "fan=0 lookups=0% scanners=0 statistics=row";
	const char *const batch = SMALL "fan=0 lookups=0% scanners=0 statistics=batch";
	uint64_t by_row, by_batch;

	host_fixture_run(&fixture, &run, "insert-scan", row);
	by_row = host_fixture_sum(&fixture).mallocs;
	host_fixture_run(&fixture, &other_run, "insert-scan", batch);
	by_batch = host_fixture_sum(&fixture).mallocs - by_row;
	cr_expect_gt(by_row, by_batch + ROWS / 2);
}

Test(workload_insert_scan_statistics, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("insert-scan",
				       SMALL "scanners=0 fan=0 lookups=0% statistics=row");
	host_fixture_expect_repeatable("insert-scan",
				       SMALL "scanners=0 fan=0 lookups=0% statistics=batch");
}

static void expect_refusals_cost_no_count(const char *options, uint64_t one_in)
{
	host_fixture_refuse(&fixture, one_in);
	host_fixture_run(&fixture, &run, "insert-scan", options);
	host_fixture_expect_clean(&fixture);
	expect_rows(&shared_of(&run)->statistics, hq_load_relaxed(&shared_of(&run)->tally.rows));
}

Test(workload_insert_scan_statistics, a_refused_entry_is_lost_and_its_row_is_counted)
{
	expect_refusals_cost_no_count(SMALL "statistics=row", 20);
	cr_expect_gt(hq_load_relaxed(&shared_of(&run)->statistics.lost), 0);
}

Test(workload_insert_scan_statistics, refusals_cost_no_count_of_a_batch)
{
	expect_refusals_cost_no_count(SMALL "statistics=batch", 30);
	cr_expect_gt(hq_load_relaxed(&shared_of(&run)->tally.rows), 0);
}

/* ---- the check of the totals ---- */

static struct insert_scan_options chosen = { .statistics = INSERT_SCAN_STATISTICS_BATCH };
static struct insert_scan_shared shared;
static struct hq_heap heap;

static const struct insert_scan_row row = { .key = 1 };

static struct insert_scan begin_view(void)
{
	host_fixture_heap(&fixture, &heap, 0);
	pthread_mutex_init(&shared.statistics.lock, NULL);
	return (struct insert_scan){ .options = &chosen, .shared = &shared, .heap = &heap };
}

static uint64_t reports_of_finish(struct insert_scan *view, uint64_t rows)
{
	hq_store_relaxed(&shared.tally.rows, rows);
	insert_scan_statistics_finish(view);
	cr_expect_eq(host_fixture_sum(&fixture).requested, 0);
	return host_fixture_events(&fixture, 0, HQ_EVENT_DATA, NULL);
}

/* Gathers 25 rows, in pieces of 10, and pretends that there were so many. */
static uint64_t reports_of_batch(uint64_t rows)
{
	struct insert_scan view = begin_view();
	struct insert_scan_arena arena = { .first = NULL };
	struct insert_scan_gathered *const gathered =
		insert_scan_statistics_begin(&view, &arena, 10);

	cr_assert_not_null(gathered);
	for (uint64_t i = 0; i < 25; i++)
		insert_scan_statistics_add(&view, gathered, &row);
	insert_scan_statistics_end(&view, gathered);
	insert_scan_arena_drop(&view, &arena);
	return reports_of_finish(&view, rows);
}

Test(workload_insert_scan_statistics, totals_that_are_those_of_the_rows_are_not_reported)
{
	cr_expect_eq(reports_of_batch(25), 0);
}

Test(workload_insert_scan_statistics, totals_that_are_not_those_of_the_rows_are_reported)
{
	cr_expect_eq(reports_of_batch(26), 3);
}

Test(workload_insert_scan_statistics, a_batch_that_cannot_be_gathered_is_counted_row_by_row)
{
	struct insert_scan view = begin_view();
	struct insert_scan_arena arena = { .first = NULL };

	host_fixture_refuse(&fixture, 1);
	cr_assert_null(insert_scan_statistics_begin(&view, &arena, 10));
	insert_scan_statistics_add(&view, NULL, &row);
	fixture.allocator.malloc = malloc;
	insert_scan_statistics_add(&view, NULL, &row);
	insert_scan_statistics_end(&view, NULL);
	cr_expect_eq(hq_load_relaxed(&shared.statistics.rows), 2);
	cr_expect_eq(hq_load_relaxed(&shared.statistics.lost), 1);
	cr_expect_eq(reports_of_finish(&view, 2), 0);
}
