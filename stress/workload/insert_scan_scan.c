/* SPDX-License-Identifier: MIT */
/*
 * Reading in insert-scan: look-ups of one key, which ask bloom filters first, and scans of a range
 * of keys by projection, which decode columns into buffers, compare a text with a predicate and
 * gather what matches. Every value that is read is compared with what was filled in. A scanner
 * reads a range whenever a chosen memtable was flushed, and after the last insert all there is,
 * several times: then rows and sums must be what the clients were acknowledged.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

#define NEEDLE_MAX   3u
#define BUFFER_BYTES (64u * 1024u) /* decoded, before buffers begin anew */

struct scan {
	uint64_t first, last; /* keys, both within it */
	uint64_t projection;  /* a bit a column */
	uint64_t needle_column;
	struct insert_scan_vector needle;
	struct insert_scan_vector columns[INSERT_SCAN_COLUMNS], matches, newer;
	uint64_t rows, sum;
	bool incomplete; /* something was refused, or the run is to stop */
};

static void decode(struct insert_scan *self, struct scan *scan,
		   const struct insert_scan_value *values)
{
	const struct insert_scan_value *const text = &values[scan->needle_column];
	const bool matches =
		memmem(text->memory, text->length, scan->needle.data, scan->needle.used) != NULL;

	for (uint64_t i = 0; i < self->options->columns; i++) {
		struct insert_scan_vector *const column = &scan->columns[i];

		if ((scan->projection >> i & 1) == 0)
			continue;
		if (column->used > BUFFER_BYTES)
			column->used = 0;
		if (!insert_scan_append(self, column, values[i].memory, values[i].length) ||
		    (matches && !insert_scan_append(self, &scan->matches, values[i].memory,
						    values[i].length))) {
			hq_heap_missed(self->heap);
			scan->incomplete = true;
		}
	}
}

static void scan_row(struct insert_scan *self, struct scan *scan, uint64_t key, uint32_t version,
		     struct insert_scan_value *values)
{
	const enum insert_scan_newer newer =
		insert_scan_delta_get(self, key, &version, &scan->newer);

	if (newer == INSERT_SCAN_REFUSED) {
		hq_heap_missed(self->heap);
		scan->incomplete = true;
	}
	if (newer == INSERT_SCAN_NEWER)
		values[0] = (struct insert_scan_value){ .memory = scan->newer.data,
							.length = scan->newer.used };
	for (uint64_t i = 0; i < self->options->columns; i++) {
		if (scan->projection >> i & 1)
			insert_scan_expect_value(self, &values[i], key, i, version);
	}
	decode(self, scan, values);
	scan->rows++;
	scan->sum += insert_scan_row_sum(key, version);
}

static void scan_table(struct insert_scan *self, struct scan *scan,
		       struct insert_scan_memtable *table)
{
	struct insert_scan_node *node = insert_scan_memtable_before(self, table, scan->first);
	struct insert_scan_value values[INSERT_SCAN_COLUMNS];

	hq_heap_op_begin(self->heap);
	while ((node = insert_scan_memtable_next(self, table, node)) != NULL &&
	       node->key <= scan->last) {
		insert_scan_row_values(node->row, self->options->columns, values);
		scan_row(self, scan, node->key, node->row->version, values);
	}
	hq_heap_op_end(self->heap);
}

static void scan_block(struct insert_scan *self, struct scan *scan,
		       const struct insert_scan_rowset *rowset, uint64_t index)
{
	struct insert_scan_cached *const cached = insert_scan_cache_get(self, rowset, index);
	struct insert_scan_cursor cursor;

	if (cached == NULL) {
		hq_heap_missed(self->heap);
		scan->incomplete = true;
		return;
	}
	hq_heap_op_begin(self->heap);
	insert_scan_cursor_start(&cursor, &cached->block);
	while (insert_scan_cursor_next(&cursor)) {
		if (cursor.key >= scan->first && cursor.key <= scan->last)
			scan_row(self, scan, cursor.key, cursor.version, cursor.values);
	}
	hq_heap_op_end(self->heap);
	insert_scan_cache_put(self, cached);
}

static void scan_rowset(struct insert_scan *self, struct scan *scan,
			const struct insert_scan_rowset *rowset)
{
	for (uint64_t i = 0; i < insert_scan_place_count(rowset); i++) {
		const struct insert_scan_place *const place = &insert_scan_places(rowset)[i];

		if (hq_host_stopping()) {
			scan->incomplete = true;
			return;
		}
		if (place->last >= scan->first && place->first <= scan->last)
			scan_block(self, scan, rowset, i);
	}
}

static void scan_view(struct insert_scan *self, struct scan *scan)
{
	struct insert_scan_view view;

	if (!insert_scan_view_open(self, &view)) {
		hq_heap_missed(self->heap);
		scan->incomplete = true;
		return;
	}
	for (uint64_t i = 0; i < view.table_count; i++)
		scan_table(self, scan, view.tables[i]);
	for (uint64_t i = 0; i < view.rowset_count; i++)
		scan_rowset(self, scan, view.rowsets[i]);
	insert_scan_view_close(self, &view);
}

/* A predicate of one to three bytes, and which columns are wanted: at least its own. */
static void ask(struct insert_scan *self, struct scan *scan, struct hq_random *random)
{
	const uint64_t columns = self->options->columns;
	const uint64_t text = hq_random_next(random);

	scan->needle_column = hq_random_below(random, columns);
	scan->projection = hq_random_next(random) | 1ull << scan->needle_column;
	if (!insert_scan_append(self, &scan->needle, &text, 1 + text % NEEDLE_MAX)) {
		hq_heap_missed(self->heap);
		scan->incomplete = true;
	}
}

static void scan(struct insert_scan *self, struct scan *scan)
{
	if (!scan->incomplete)
		scan_view(self, scan);
	hq_fetch_add_relaxed(&self->shared->tally.scanned, scan->rows);
	for (uint64_t i = 0; i < self->options->columns; i++)
		insert_scan_drop(self, &scan->columns[i]);
	insert_scan_drop(self, &scan->needle);
	insert_scan_drop(self, &scan->matches);
	insert_scan_drop(self, &scan->newer);
}

static void scan_range(struct insert_scan *self, uint64_t number)
{
	struct hq_random random =
		hq_random_stream(self->seed + number, self->thread, INSERT_SCAN_QUESTIONS);
	struct scan of = { .first = hq_random_next(&random) };

	of.last = of.first > UINT64_MAX - UINT64_MAX / 8 ? UINT64_MAX : of.first + UINT64_MAX / 8;
	ask(self, &of, &random);
	scan(self, &of);
}

/* What the clients were acknowledged, but for what was given up since. */
static void expect_all(struct insert_scan *self, const struct scan *scan)
{
	struct insert_scan_shared *const shared = self->shared;
	const uint64_t given_up = hq_load_relaxed(&shared->tally.given_up);
	uint64_t rows = 0, sum = 0;

	for (uint64_t i = 0; i < self->options->threads; i++) {
		rows += shared->clients[i].rows;
		sum += shared->clients[i].sum;
	}
	if (scan->rows + given_up != rows)
		hq_heap_wrong_data(self->heap, shared->rowsets, rows, scan->rows + given_up);
	else if (given_up == 0 && scan->sum != sum)
		hq_heap_wrong_data(self->heap, shared->deltas, sum, scan->sum);
}

static void scan_everything(struct insert_scan *self, uint64_t pass)
{
	struct hq_random random =
		hq_random_stream(self->seed - 1 - pass, self->thread, INSERT_SCAN_QUESTIONS);
	struct scan of = { .first = 0, .last = UINT64_MAX };

	ask(self, &of, &random);
	if (pass == 0)
		of.projection = UINT64_MAX;
	scan(self, &of);
	if (!of.incomplete)
		expect_all(self, &of);
}

static bool is_mine(const struct insert_scan *self, uint64_t number)
{
	struct hq_random random = hq_random_stream(self->seed + number, 0, INSERT_SCAN_CHOICE);

	return number % self->options->scanners == self->index &&
	       hq_random_chance(&random, self->options->scan_share);
}

void insert_scan_scanner_run(struct insert_scan *self)
{
	uint64_t number = 0;
	enum insert_scan_await await;

	for (; (await = insert_scan_await_flushed(self, number)) == INSERT_SCAN_DONE; number++) {
		if (is_mine(self, number))
			scan_range(self, number);
	}
	if (await == INSERT_SCAN_STOPPED || self->options->end == INSERT_SCAN_END_INSERTS)
		return;
	/* Pairs with the end of the flushers: no compaction is under way. */
	while (hq_load_acquire(&self->shared->flushers_done) < self->options->flushers) {
		if (!insert_scan_wait())
			return;
	}
	for (uint64_t pass = 0; pass < self->options->passes && !hq_host_stopping(); pass++)
		scan_everything(self, pass);
}

/* ---- one key ---- */

static bool is_in_table(struct insert_scan *self, struct insert_scan_memtable *table, uint64_t key)
{
	struct insert_scan_node *const node = insert_scan_memtable_next(
		self, table, insert_scan_memtable_before(self, table, key));
	struct insert_scan_value values[INSERT_SCAN_COLUMNS];

	if (node == NULL || node->key != key)
		return false;
	insert_scan_row_values(node->row, self->options->columns, values);
	for (uint64_t i = 0; i < self->options->columns; i++)
		insert_scan_expect_value(self, &values[i], key, i, node->row->version);
	return true;
}

static bool is_in_block(struct insert_scan *self, const struct insert_scan_block *block,
			uint64_t key)
{
	struct insert_scan_cursor cursor;

	insert_scan_cursor_start(&cursor, block);
	while (insert_scan_cursor_next(&cursor) && cursor.key < key)
		;
	if (cursor.key != key)
		return false;
	for (uint64_t i = 0; i < self->options->columns; i++)
		insert_scan_expect_value(self, &cursor.values[i], key, i, cursor.version);
	return true;
}

/* Sets *refused where a block could not be read. */
static bool is_in_rowset(struct insert_scan *self, const struct insert_scan_rowset *rowset,
			 uint64_t key, bool *refused)
{
	const struct insert_scan_place *const places = insert_scan_places(rowset);
	uint64_t low = 0, high = insert_scan_place_count(rowset);
	struct insert_scan_cached *cached;
	bool found;

	if (rowset->bloom != NULL &&
	    !insert_scan_bloom_may_have(rowset->bloom, rowset->bloom_words, key)) {
		hq_fetch_add_relaxed(&self->shared->tally.bloom_denials, 1);
		return false;
	}
	while (low < high) {
		const uint64_t middle = (low + high) / 2;

		if (places[middle].last < key)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == insert_scan_place_count(rowset) || places[low].first > key)
		return false;
	cached = insert_scan_cache_get(self, rowset, low);
	if (cached == NULL) {
		*refused = true;
		return false;
	}
	found = is_in_block(self, &cached->block, key);
	insert_scan_cache_put(self, cached);
	return found;
}

bool insert_scan_look_up(struct insert_scan *self, uint64_t key)
{
	struct insert_scan_view view;
	bool found = false, refused = false;

	if (!insert_scan_view_open(self, &view))
		return false;
	for (uint64_t i = 0; !found && i < view.table_count; i++)
		found = is_in_table(self, view.tables[i], key);
	for (uint64_t i = 0; !found && i < view.rowset_count; i++)
		found = is_in_rowset(self, view.rowsets[i], key, &refused);
	insert_scan_view_close(self, &view);
	hq_fetch_add_relaxed(&self->shared->tally.looked_up, 1);
	if (!found && !refused && hq_load_relaxed(&self->shared->tally.given_up) == 0)
		hq_heap_wrong_data(self->heap, self->shared->rowsets, key, 0);
	return !refused;
}
