/* SPDX-License-Identifier: MIT */
/*
 * The workload memtable: nothing is lost on a sound allocator, damage to its own structures is
 * reported and not followed, requests repeat, refusals are survived, no thread waits for ever.
 */
#include "stress/tests/host_fixture.h"
#include "stress/workload/memtable.h"

#define SMALL "rows=3k batch=100 budget=256KiB "

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_memtable, .init = start, .timeout = 100);

Test(workload_memtable, nothing_is_lost_and_everything_is_freed)
{
	host_fixture_run(&fixture, &run, "memtable",
			 SMALL "threads=3 flushers=2 scanners=2 scan-share=50%");
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	host_fixture_expect_clean(&fixture);
	cr_assert_eq(sums.missed, 0);
	cr_assert_eq(sums.mallocs, sums.frees);
	/* A row is at least itself, its node and two fields. */
	cr_assert_gt(sums.mallocs, 3 * 3000 * 4);
}

Test(workload_memtable, memtables_are_frozen_and_flushed)
{
	host_fixture_run(&fixture, &run, "memtable", SMALL "threads=1");
	const struct memtable_shared *const shared = run.work.shared;
	const uint64_t frozen = hq_load_relaxed(&shared->clients[0].frozen);

	cr_assert_gt(frozen, MEMTABLE_SLOTS);
	cr_assert_eq(hq_load_relaxed(&shared->clients[0].flushed), frozen);
	host_fixture_expect_clean(&fixture);
}

Test(workload_memtable, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("memtable",
				       SMALL "threads=3 flushers=2 scanners=2 scan-share=50%");
}

Test(workload_memtable, it_works_without_scanners)
{
	host_fixture_run(&fixture, &run, "memtable", SMALL "scanners=0");
	host_fixture_expect_clean(&fixture);
}

Test(workload_memtable, it_works_with_more_flushers_than_clients)
{
	host_fixture_run(&fixture, &run, "memtable",
			 SMALL "threads=1 flushers=3 scanners=3 scan-share=100%");
	host_fixture_expect_clean(&fixture);
}

Test(workload_memtable, many_threads_never_wait_in_a_circle)
{
	host_fixture_run(&fixture, &run, "memtable",
			 "rows=2k batch=10 budget=16KiB threads=20 flushers=7 scanners=5 "
			 "scan-share=70% value=8B..64B_log");
	host_fixture_expect_clean(&fixture);
}

Test(workload_memtable, the_flusher_frees_the_share_that_it_should)
{
	host_fixture_run(&fixture, &run, "memtable", SMALL "threads=1 scanners=0 cross=0%");
	const uint64_t none = hq_load_relaxed(&fixture.wire->workers[1].frees);

	host_fixture_expect_clean(&fixture);
	host_fixture_start(&fixture);
	host_fixture_run(&fixture, &run, "memtable", SMALL "threads=1 scanners=0 cross=100%");
	host_fixture_expect_clean(&fixture);
	cr_assert_gt(hq_load_relaxed(&fixture.wire->workers[1].frees), none + 10000);
}

Test(workload_memtable, a_row_larger_than_a_block_is_cut_and_not_lost)
{
	host_fixture_run(&fixture, &run, "memtable",
			 "threads=1 rows=20 batch=5 budget=1MiB value=200KiB fields-max=3");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_memtable, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("memtable", SMALL "threads=2 scan-share=50%", 20);
	host_fixture_expect_survives("memtable", SMALL "threads=2 scan-share=50%", 3);
}

Test(workload_memtable, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("memtable", SMALL "threads=2", 1);
}

Test(workload_memtable, refusals_do_not_move_the_ends_of_memtables)
{
	host_fixture_run(&fixture, &run, "memtable", SMALL "threads=1");
	const uint64_t frozen =
		hq_load_relaxed(&((struct memtable_shared *)run.work.shared)->clients[0].frozen);

	host_fixture_start(&fixture);
	host_fixture_refuse(&fixture, 3);
	host_fixture_run(&fixture, &run, "memtable", SMALL "threads=1");
	cr_assert_eq(
		hq_load_relaxed(&((struct memtable_shared *)run.work.shared)->clients[0].frozen),
		frozen);
}

Test(workload_memtable, it_stops_early_when_told_and_frees_everything)
{
	host_fixture_expect_stops_midway("memtable", "rows=1G budget=64KiB threads=3 flushers=2 "
						     "scanners=2 scan-share=100%");
}

Test(workload_memtable, impossible_options_are_refused)
{
	host_fixture_expect_refuses("memtable", "fields-min=5 fields-max=4");
	host_fixture_expect_refuses("memtable", "threads=60 scanners=10");
}

/* ---- the table by itself ---- */

static struct hq_heap heap;
static struct memtable view;
static struct memtable_table table;

/* Rows with keys 10, 20, ... in an order that is not theirs. */
static void fill(uint64_t rows)
{
	struct memtable_shape shape = { .field_count = 2, .bytes = 40, .sizes = { 16, 24 } };

	host_fixture_heap(&fixture, &heap, 0);
	view = (struct memtable){ .heap = &heap };
	for (uint64_t i = 0; i < rows; i++) {
		shape.key = 10 * (1 + i * 7919 % rows);
		shape.height = 1 + i % MEMTABLE_HEIGHT;
		cr_assert(memtable_insert(&view, &table, &shape));
	}
}

static uint64_t wrong_data(void)
{
	return host_fixture_events(&fixture, 0, HQ_EVENT_DATA, NULL);
}

Test(workload_memtable, rows_come_in_key_order)
{
	const struct memtable_node *node = NULL;
	uint64_t key = 10;

	fill(1000);
	for (; (node = memtable_next(&view, &table, node)) != NULL; key += 10)
		cr_assert_eq(node->key, key);
	cr_assert_eq(key, 10010);
	memtable_clear(&view, &table, NULL);
	host_fixture_expect_clean(&fixture);
}

Test(workload_memtable, a_damaged_link_is_reported_and_not_followed)
{
	struct memtable_node *node = NULL;

	fill(100);
	for (int i = 0; i < 50; i++)
		node = memtable_next(&view, &table, node);
	struct memtable_node *const link = node->next[0];

	node->next[0] = (struct memtable_node *)0x10;
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(wrong_data(), 1);
	cr_assert_eq(hq_load_relaxed(&fixture.wire->workers[0].frees), 49 * 4);
	node->next[0] = link;
	table.leftover = node;
	memtable_free_leftover(&view, &table);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_memtable, a_damaged_height_is_reported)
{
	fill(10);
	struct memtable_node *const node = memtable_next(&view, &table, NULL);
	const uint64_t height = node->height;

	node->height = 1ull << 40;
	cr_assert_null(memtable_next(&view, &table, NULL));
	cr_assert_eq(wrong_data(), 1);
	node->height = height;
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_memtable, damage_met_while_inserting_is_reported_once)
{
	struct memtable_shape shape = {
		.key = 5, .field_count = 1, .bytes = 8, .height = 1, .sizes = { 8 }
	};

	fill(10);
	struct memtable_node *const node = memtable_next(&view, &table, NULL);

	node->key ^= 1;
	cr_assert_not(memtable_insert(&view, &table, &shape));
	cr_assert_not(memtable_insert(&view, &table, &shape));
	cr_assert_eq(wrong_data(), 1);
	node->key ^= 1;
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_memtable, a_damaged_row_is_reported_and_its_fields_left_alone)
{
	fill(10);
	struct memtable_row *const row = memtable_next(&view, &table, NULL)->row;
	void *const field = row->fields[1].address;

	row->fields[1].address = (void *)8;
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(wrong_data(), 1);
	cr_assert_eq(host_fixture_all_events(&fixture), 1);
	row->fields[1].address = field;
	hq_block_free(&heap, &row->fields[0]);
	hq_block_free(&heap, &row->fields[1]);
	hq_heap_free(&heap, row, sizeof(*row) + 2 * sizeof(row->fields[0]));
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_memtable, a_damaged_field_is_reported)
{
	fill(10);
	((char *)memtable_next(&view, &table, NULL)->row->fields[1].address)[23] ^= 1;
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(host_fixture_events(&fixture, 0, HQ_EVENT_CONTENT, NULL), 1);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

/* A whole node that simply is not there any more: as if the link had never been written. */
Test(workload_memtable, a_lost_row_is_reported)
{
	fill(10);
	struct memtable_node *const node = memtable_next(&view, &table, NULL);

	table.head[0] = node->next[0];
	memtable_clear(&view, &table, NULL);
	cr_assert_eq(wrong_data(), 1);
	memtable_free_node(&view, node);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

static bool every_second(const struct memtable *self, uint64_t key)
{
	return self != NULL && key % 20 == 0;
}

Test(workload_memtable, rows_that_are_left_over_are_whole_and_can_be_freed_later)
{
	fill(200);
	memtable_clear(&view, &table, every_second);
	cr_assert_eq(hq_load_relaxed(&fixture.wire->workers[0].frees), 100 * 4);
	memtable_free_leftover(&view, &table);
	cr_assert_null(table.leftover);
	host_fixture_expect_clean(&fixture);
}
