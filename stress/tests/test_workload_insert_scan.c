/* SPDX-License-Identifier: MIT */
/*
 * The workload insert-scan: each room of the engine by itself, and the whole: what was acknowledged
 * is found, what was lost or damaged is reported, refusals are survived, nothing is left over.
 */
#include "stress/tests/host_fixture.h"
#include "stress/workload/insert_scan.h"

#define SMALL "rows=3k batch=100 budget=128KiB block=4KiB cache=64KiB fan=3 "

static struct host_fixture fixture;
static struct host_fixture_run run;
static struct hq_heap heap;
static struct insert_scan_options chosen;
static struct insert_scan_shared shared;
static struct insert_scan_memtable table;
static struct insert_scan view;
static struct insert_scan_memtable slots[INSERT_SCAN_SLOTS];

static void start(void)
{
	host_fixture_start(&fixture);
	host_fixture_heap(&fixture, &heap, 0);
	chosen = (struct insert_scan_options){
		.threads = 1, .columns = 2, .block = 512, .cache = 1024 * 1024, .bloom_bits = 10
	};
	shared.file = -1;
	shared.slots = slots;
	shared.clients[0].log_file = -1;
	pthread_mutex_init(&shared.lock, NULL);
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++) {
		pthread_mutex_init(&shared.deltas[i].lock, NULL);
		pthread_mutex_init(&shared.cache[i].lock, NULL);
	}
	view = (struct insert_scan){ .options = &chosen, .shared = &shared, .heap = &heap };
}

TestSuite(workload_insert_scan, .init = start, .timeout = 100);

static uint64_t wrong_data(void)
{
	return host_fixture_events(&fixture, 0, HQ_EVENT_DATA, NULL);
}

static uint64_t all_wrong_data(void)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++)
		count += host_fixture_events(&fixture, i, HQ_EVENT_DATA, NULL);
	return count;
}

static struct insert_scan_tally *tally(void)
{
	return &((struct insert_scan_shared *)run.work.shared)->tally;
}

/* ---- the whole ---- */

Test(workload_insert_scan, every_room_is_used_and_nothing_is_lost)
{
	host_fixture_run(&fixture, &run, "insert-scan",
			 SMALL "threads=3 flushers=2 scanners=2 scan-share=50% cache=16MiB");

	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
	cr_expect_eq(hq_load_relaxed(&tally()->rows), 9000);
	cr_expect_geq(hq_load_relaxed(&tally()->scanned), 4 * 9000);
	cr_expect_gt(hq_load_relaxed(&tally()->updated), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->looked_up), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->bytes_flushed), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->bytes_compacted), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->cache_hits), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->cache_misses), 0);
	cr_expect_gt(hq_load_relaxed(&tally()->bloom_denials), 0);
	cr_expect_eq(hq_load_relaxed(&tally()->given_up), 0);
}

/* The flusher drops one row of each memtable: only the scans can tell, and they do. */
Test(workload_insert_scan, a_row_that_is_lost_fails_the_run)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "threads=1 lookups=0% lose=1");
	cr_assert_eq(all_wrong_data(), 2); /* one a pass */
}

Test(workload_insert_scan, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("insert-scan", SMALL "threads=3 flushers=2 scanners=0 fan=0 "
							    "lookups=0%");
}

Test(workload_insert_scan, a_switch_ends_it_after_the_inserts)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "end=inserts scan-share=0%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(hq_load_relaxed(&tally()->rows), 6000);
	cr_expect_eq(hq_load_relaxed(&tally()->scanned), 0);
}

Test(workload_insert_scan, flushes_are_followed_by_scans_as_often_as_it_says)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "end=inserts scan-share=100%");
	host_fixture_expect_clean(&fixture);
	cr_expect_gt(hq_load_relaxed(&tally()->scanned), 0);
}

Test(workload_insert_scan, older_rows_are_updated_and_looked_up_as_often_as_it_says)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "updates=100% lookups=100%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(hq_load_relaxed(&tally()->updated), 6000);
	cr_expect_eq(hq_load_relaxed(&tally()->looked_up), 6000);
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "updates=0% lookups=0%");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(hq_load_relaxed(&tally()->updated), 0);
	cr_expect_eq(hq_load_relaxed(&tally()->looked_up), 0);
}

Test(workload_insert_scan, many_threads_never_wait_in_a_circle)
{
	host_fixture_run(&fixture, &run, "insert-scan",
			 "rows=300 batch=10 budget=16KiB block=1KiB fan=2 threads=12 flushers=5 "
			 "scanners=3 scan-share=70% value=4B..32B_log");
	host_fixture_expect_clean(&fixture);
}

Test(workload_insert_scan, without_compaction_and_filters_everything_is_found)
{
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "fan=0 bloom=0 cache=4KiB");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(hq_load_relaxed(&tally()->compactions), 0);
	cr_expect_eq(hq_load_relaxed(&tally()->bloom_denials), 0);
}

Test(workload_insert_scan, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("insert-scan", SMALL "threads=2 scan-share=50%", 300);
	host_fixture_expect_survives("insert-scan", SMALL "threads=2 scan-share=50%", 20);
	host_fixture_expect_survives("insert-scan", SMALL "threads=2", 3);
}

Test(workload_insert_scan, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("insert-scan", SMALL "threads=2", 1);
}

Test(workload_insert_scan, it_stops_early_when_told_and_frees_everything)
{
	host_fixture_expect_stops_midway("insert-scan",
					 "rows=10M budget=64KiB threads=3 flushers=2 "
					 "scanners=2 scan-share=100%");
}

Test(workload_insert_scan, impossible_options_are_refused)
{
	host_fixture_expect_refuses("insert-scan", "threads=60 scanners=10");
	host_fixture_expect_refuses("insert-scan", "sync=flush");
}

/* ---- arenas ---- */

Test(workload_insert_scan, what_an_arena_gives_does_not_overlap)
{
	struct insert_scan_arena arena = { .first = NULL };
	uint8_t *taken[500];

	for (uint32_t i = 0; i < 500; i++) {
		taken[i] = insert_scan_take(&view, &arena, 1 + i * 37 % 9000);
		cr_assert_not_null(taken[i]);
		memset(taken[i], (int)(i & 0xff), 1 + i * 37 % 9000);
	}
	for (uint32_t i = 0; i < 500; i++)
		cr_assert_eq(taken[i][i * 37 % 9000], i & 0xff);
	insert_scan_arena_drop(&view, &arena);
	host_fixture_expect_clean(&fixture);
}

/* ---- the memtable ---- */

static bool insert(uint64_t key, uint32_t length)
{
	_Alignas(8) uint8_t memory[sizeof(struct insert_scan_row) + 8 + 128];
	struct insert_scan_row *const row = (struct insert_scan_row *)memory;

	row->key = key;
	row->version = 0;
	row->bytes = 8 + 2 * length;
	row->lengths[0] = row->lengths[1] = length;
	insert_scan_fill(memory + sizeof(*row) + 8, length, key, 0, 0);
	insert_scan_fill(memory + sizeof(*row) + 8 + length, length, key, 1, 0);
	return insert_scan_memtable_insert(&view, &table, row);
}

static void fill(uint64_t rows)
{
	for (uint64_t i = 0; i < rows; i++)
		cr_assert(insert(10 * (1 + i * 7919 % rows), 5 + i % 50));
}

Test(workload_insert_scan, rows_come_in_key_order)
{
	struct insert_scan_node *node = NULL;
	uint64_t key = 10;

	fill(1000);
	for (; (node = insert_scan_memtable_next(&view, &table, node)) != NULL; key += 10)
		cr_assert_eq(node->key, key);
	cr_assert_eq(key, 10010);
	cr_assert_null(insert_scan_memtable_before(&view, &table, 10));
	cr_assert_eq(insert_scan_memtable_before(&view, &table, 11)->key, 10);
}

static void *insert_many(void *argument)
{
	struct hq_heap own;
	const uint32_t index = (uint32_t)(uintptr_t)argument;

	host_fixture_heap(&fixture, &own, index);
	struct insert_scan self = view;

	self.heap = &own;
	self.index = index;
	for (uint64_t i = 0; i < 2000; i++) {
		struct insert_scan_row row = { .key = insert_scan_key(index, i) };

		insert_scan_memtable_insert(&self, &table, &row);
	}
	return NULL;
}

Test(workload_insert_scan, writers_at_once_lose_no_row)
{
	struct insert_scan_node *node = NULL;
	uint64_t rows = 0, last = 0;
	pthread_t threads[4];

	chosen.columns = 0;
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, insert_many, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (; (node = insert_scan_memtable_next(&view, &table, node)) != NULL; rows++) {
		cr_assert(rows == 0 || node->key > last);
		last = node->key;
	}
	cr_assert_eq(rows, 8000);
}

Test(workload_insert_scan, a_damaged_node_is_reported_and_not_followed)
{
	fill(10);
	struct insert_scan_node *const node = insert_scan_memtable_next(&view, &table, NULL);

	node->row = NULL;
	cr_assert_null(insert_scan_memtable_next(&view, &table, NULL));
	cr_assert_eq(wrong_data(), 1);
}

/* ---- the log ---- */

Test(workload_insert_scan, a_log_that_lost_a_row_or_a_byte_is_reported)
{
	struct insert_scan_vector request = { .data = NULL };
	struct insert_scan_log log = { .rows = 0 };

	cr_assert(insert_scan_append(&view, &request, "abcdefgh", 8));
	cr_assert(insert_scan_log_append(&view, &log, &request, 3));
	insert_scan_log_retire(&view, &log, 3);
	cr_assert_eq(wrong_data(), 0);
	cr_assert(insert_scan_log_append(&view, &log, &request, 3));
	insert_scan_log_retire(&view, &log, 4);
	cr_assert_eq(wrong_data(), 1);
	cr_assert(insert_scan_log_append(&view, &log, &request, 3));
	log.entries.data[log.entries.used - 1] ^= 1;
	insert_scan_log_retire(&view, &log, 3);
	cr_assert_eq(wrong_data(), 2);
	insert_scan_drop(&view, &request);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

/* ---- blocks, rowsets and the cache ---- */

static struct insert_scan_rowset *write_rows(uint64_t first, uint64_t count, uint64_t number)
{
	struct insert_scan_writer writer;
	uint8_t memory[64];

	cr_assert(insert_scan_writer_start(&view, &writer, number));
	for (uint64_t key = first; key < first + count; key++) {
		struct insert_scan_value values[2] = { { memory, 11 }, { memory + 11, 30 } };

		insert_scan_fill(memory, 11, key * 1000, 0, 0);
		insert_scan_fill(memory + 11, 30, key * 1000, 1, 0);
		insert_scan_writer_add(&view, &writer, key * 1000, 0, values);
	}
	insert_scan_writer_finish(&view, &writer);
	cr_assert_eq(writer.lost, 0);
	insert_scan_publish(&view, writer.rowset, NULL, 0, NULL);
	return writer.rowset;
}

/* As release does it. */
static void drop_all(void)
{
	for (uint64_t i = 0; i < hq_load_relaxed(&shared.rowset_count); i++)
		insert_scan_rowset_release(&view, shared.rowsets[i]);
	insert_scan_delta_clear(&view);
	insert_scan_cache_clear(&view);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(workload_insert_scan, a_block_gives_back_its_rows)
{
	struct insert_scan_rowset *const rowset = write_rows(1, 300, 0);
	struct insert_scan_cursor cursor;
	uint64_t key = 0;

	chosen.cache = 4096;
	cr_assert_gt(insert_scan_place_count(rowset), 10);
	for (uint64_t i = 0; i < insert_scan_place_count(rowset); i++) {
		struct insert_scan_cached *const cached = insert_scan_cache_get(&view, rowset, i);

		insert_scan_cursor_start(&cursor, &cached->block);
		while (insert_scan_cursor_next(&cursor)) {
			cr_assert_eq(cursor.key, ++key * 1000);
			for (uint64_t j = 0; j < 2; j++)
				insert_scan_expect_value(&view, &cursor.values[j], key * 1000, j,
							 0);
		}
		insert_scan_cache_put(&view, cached);
	}
	cr_assert_eq(key, 300);
	cr_assert_eq(wrong_data(), 0);
	drop_all();
}

Test(workload_insert_scan, a_damaged_block_is_reported_when_it_is_read)
{
	struct insert_scan_rowset *const rowset = write_rows(1, 10, 0);

	insert_scan_places(rowset)[0].memory->data[7] ^= 1;
	cr_assert_null(insert_scan_cache_get(&view, rowset, 0));
	cr_assert_eq(wrong_data(), 1);
	drop_all();
}

Test(workload_insert_scan, the_cache_hits_and_keeps_to_its_budget)
{
	struct insert_scan_rowset *const rowset = write_rows(1, 2000, 0);

	chosen.cache = INSERT_SCAN_SHARDS * 2048;
	for (uint64_t i = 0; i < insert_scan_place_count(rowset); i++) {
		insert_scan_cache_put(&view, insert_scan_cache_get(&view, rowset, i));
		insert_scan_cache_put(&view, insert_scan_cache_get(&view, rowset, i));
	}
	cr_assert_eq(hq_load_relaxed(&shared.tally.cache_hits), insert_scan_place_count(rowset));
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++)
		cr_assert_leq(shared.cache[i].bytes, 2048);
	drop_all();
}

Test(workload_insert_scan, a_block_that_is_read_outlives_its_place_in_the_cache)
{
	struct insert_scan_rowset *const rowset = write_rows(1, 10, 0);
	struct insert_scan_cached *cached;

	chosen.cache = 0;
	cached = insert_scan_cache_get(&view, rowset, 0);
	cr_assert_eq(cached->block.rows, 10);
	insert_scan_cache_put(&view, cached);
	drop_all();
}

Test(workload_insert_scan, a_bloom_filter_denies_most_and_never_what_is_there)
{
	static uint64_t bloom[1000];
	const uint64_t words = insert_scan_bloom_words(2000, 10);
	uint64_t wrong = 0;

	for (uint64_t key = 0; key < 2000; key++)
		insert_scan_bloom_add(bloom, words, key);
	for (uint64_t key = 0; key < 2000; key++)
		cr_assert(insert_scan_bloom_may_have(bloom, words, key));
	for (uint64_t key = 2000; key < 12000; key++)
		wrong += insert_scan_bloom_may_have(bloom, words, key);
	cr_assert_lt(wrong, 500);
}

Test(workload_insert_scan, a_rowset_has_a_filter_only_where_one_is_asked_for)
{
	cr_assert_not_null(write_rows(1, 100, 0)->bloom);
	chosen.bloom_bits = 0;
	cr_assert_null(write_rows(101, 100, 1)->bloom);
	drop_all();
}

Test(workload_insert_scan, a_key_that_is_not_there_is_reported)
{
	write_rows(1, 100, 0);
	cr_assert(insert_scan_look_up(&view, 50 * 1000));
	cr_assert_eq(wrong_data(), 0);
	cr_assert(insert_scan_look_up(&view, 50 * 1000 + 1));
	cr_assert_eq(wrong_data(), 1);
	drop_all();
}

/* ---- deltas and compaction ---- */

Test(workload_insert_scan, the_newest_delta_counts_until_it_was_applied)
{
	struct insert_scan_vector value = { .data = NULL };
	uint32_t version = 0;

	cr_assert(insert_scan_delta_set(&view, 7, 1, 10));
	cr_assert(insert_scan_delta_set(&view, 7, 2, 20));
	insert_scan_delta_applied(&view, 7, 1);
	cr_assert_eq(insert_scan_delta_get(&view, 7, &version, &value), INSERT_SCAN_NEWER);
	cr_assert_eq(version, 2);
	cr_assert_eq(value.used, 20);
	cr_assert_eq(insert_scan_delta_get(&view, 7, &version, &value), INSERT_SCAN_NONE_NEWER);
	insert_scan_delta_applied(&view, 7, 2);
	version = 0;
	cr_assert_eq(insert_scan_delta_get(&view, 7, &version, &value), INSERT_SCAN_NONE_NEWER);
	insert_scan_drop(&view, &value);
	drop_all();
}

Test(workload_insert_scan, compaction_merges_rowsets_and_writes_updates_into_rows)
{
	chosen.fan = 2;
	write_rows(1, 100, 0);
	write_rows(101, 100, 1);
	cr_assert(insert_scan_delta_set(&view, 150 * 1000, 1, 40));
	insert_scan_compact(&view, 0);
	cr_assert_eq(hq_load_relaxed(&shared.rowset_count), 1);
	cr_assert_eq(shared.rowsets[0]->rows, 200);
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++)
		cr_assert_eq(hq_load_relaxed(&shared.deltas[i].count), 0);
	for (uint64_t key = 1; key <= 200; key++)
		insert_scan_look_up(&view, key * 1000);
	cr_assert_eq(wrong_data(), 0);
	drop_all();
}

Test(workload_insert_scan, a_compaction_that_is_refused_changes_nothing)
{
	chosen.fan = 2;
	write_rows(1, 100, 0);
	write_rows(101, 100, 1);
	fixture.allocator.malloc = host_fixture_refusing_malloc;
	host_fixture_refuse_one_in = 5;
	insert_scan_compact(&view, 0);
	cr_assert_eq(hq_load_relaxed(&shared.rowset_count), 2);
	fixture.allocator.malloc = malloc;
	for (uint64_t key = 1; key <= 200; key++)
		insert_scan_look_up(&view, key * 1000);
	cr_assert_eq(wrong_data(), 0);
	drop_all();
}

static uint64_t requests, refused_request;

static bool is_refused(void)
{
	errno = ENOMEM;
	return ++requests == refused_request;
}

static void *refuse_one_malloc(size_t size)
{
	return is_refused() ? NULL : malloc(size);
}

static void *refuse_one_calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : calloc(count, size);
}

static void *refuse_one_realloc(void *address, size_t size)
{
	return is_refused() ? NULL : realloc(address, size);
}

/* False: it did not ask for so much. */
static bool compact_refused(uint64_t request)
{
	requests = 0;
	refused_request = request;
	fixture.allocator.malloc = refuse_one_malloc;
	fixture.allocator.calloc = refuse_one_calloc;
	fixture.allocator.realloc = refuse_one_realloc;
	insert_scan_compact(&view, 0);
	fixture.allocator.malloc = malloc;
	fixture.allocator.calloc = calloc;
	fixture.allocator.realloc = realloc;
	return requests >= request;
}

Test(workload_insert_scan, a_compaction_loses_no_row_whichever_request_is_refused)
{
	bool refused = true;

	for (uint64_t request = 1; refused; request++) {
		memset(&shared, 0, sizeof(shared));
		start();
		chosen.fan = 2;
		write_rows(1, 100, 0);
		write_rows(101, 100, 1);
		cr_assert(insert_scan_delta_set(&view, 150 * 1000, 1, 40));
		refused = compact_refused(request);
		cr_assert_eq(host_fixture_sum(&fixture).missed > 0, refused);
		for (uint64_t key = 1; key <= 200; key++)
			cr_assert(insert_scan_look_up(&view, key * 1000));
		cr_assert_eq(wrong_data(), 0, "request %lu", request);
		drop_all();
	}
	cr_assert_eq(hq_load_relaxed(&shared.tally.compactions), 1);
}

Test(workload_insert_scan, what_is_in_a_view_stays_after_it_was_replaced)
{
	struct insert_scan_rowset *const rowset = write_rows(1, 100, 0);
	struct insert_scan_view of;

	cr_assert(insert_scan_view_open(&view, &of));
	insert_scan_publish(&view, NULL, &rowset, 1, NULL);
	insert_scan_rowset_release(&view, rowset);
	cr_assert_eq(of.rowsets[0]->rows, 100);
	insert_scan_view_close(&view, &of);
	drop_all();
}
