/* SPDX-License-Identifier: MIT */
/*
 * A client of insert-scan, with the server's side of its requests. A batch goes this way: rows are
 * written into a request buffer, decoded into an arena of the batch, logged, inserted into the
 * memtable, acknowledged in a response, entered into the statistics; then some older rows are
 * updated and looked up, and request, response and arena are freed. A client knows what it was
 * acknowledged and adds it up.
 *
 * Everything is drawn whatever is refused, so a refusal moves neither later rows nor the ends of
 * memtables.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

struct batch {
	struct insert_scan_vector request, response;
	struct insert_scan_arena arena;
	struct insert_scan_row **rows; /* in the arena */
	uint64_t first, count;         /* row numbers of this client */
};

static struct insert_scan_client *client_of(const struct insert_scan *self)
{
	return &self->shared->clients[self->index];
}

/* False: refused. `bytes` is what it is, in any case. */
static bool write_row(struct insert_scan *self, struct batch *batch, struct hq_random *random,
		      uint64_t number, uint64_t *bytes)
{
	const uint64_t columns = self->options->columns;
	struct insert_scan_row row = { .key = insert_scan_key(self->index, number) };
	uint32_t lengths[INSERT_SCAN_COLUMNS];
	uint64_t size, before = batch->request.used;
	static const uint8_t zeros[256];

	row.bytes = (uint32_t)(columns * sizeof(lengths[0]));
	for (uint64_t i = 0; i < columns; i++) {
		lengths[i] = (uint32_t)hq_random_size(random, &self->options->value);
		row.bytes += lengths[i];
	}
	size = insert_scan_row_size(&row);
	*bytes += size;
	if (!insert_scan_append(self, &batch->request, &row, sizeof(row)) ||
	    !insert_scan_append(self, &batch->request, lengths, columns * sizeof(lengths[0])))
		return false;
	for (uint64_t i = 0; i < columns; i++) {
		for (uint64_t at = 0; at < lengths[i]; at += sizeof(zeros)) {
			const uint64_t rest = lengths[i] - at;

			if (!insert_scan_append(self, &batch->request, zeros,
						rest < sizeof(zeros) ? rest : sizeof(zeros)))
				return false;
		}
		insert_scan_fill(batch->request.data + batch->request.used - lengths[i], lengths[i],
				 row.key, i, 0);
	}
	return insert_scan_append(self, &batch->request, zeros,
				  before + size - batch->request.used);
}

static bool write_request(struct insert_scan *self, struct batch *batch, struct hq_random *random,
			  uint64_t *bytes)
{
	bool written = true;

	for (uint64_t i = 0; i < batch->count; i++)
		written &= write_row(self, batch, random, batch->first + i, bytes);
	return written;
}

/* The server's side: rows out of the bytes that came, each where its arena has room. */
static bool decode(struct insert_scan *self, struct batch *batch)
{
	uint64_t at = 0;

	batch->rows = insert_scan_take(self, &batch->arena, batch->count * sizeof(*batch->rows));
	if (batch->rows == NULL)
		return false;
	for (uint64_t i = 0; i < batch->count; i++) {
		struct insert_scan_row row;
		uint64_t size;

		memcpy(&row, batch->request.data + at, sizeof(row));
		size = insert_scan_row_size(&row);
		if (size > batch->request.used - at) {
			hq_heap_wrong_data(self->heap, batch->request.data + at,
					   batch->request.used - at, size);
			return false;
		}
		batch->rows[i] = insert_scan_take(self, &batch->arena, size);
		if (batch->rows[i] == NULL)
			return false;
		memcpy(batch->rows[i], batch->request.data + at, size);
		at += size;
	}
	return true;
}

static void acknowledge(struct insert_scan *self, struct batch *batch, uint64_t i)
{
	struct insert_scan_client *const client = client_of(self);
	const uint64_t key = batch->rows[i]->key;

	client->versions[batch->first + i] = 0;
	client->sum += insert_scan_row_sum(key, 0);
	client->rows++;
	hq_fetch_add_relaxed(&self->shared->tally.rows, 1);
	if (!insert_scan_append(self, &batch->response, &key, sizeof(key)))
		hq_heap_missed(self->heap);
}

static void insert_rows(struct insert_scan *self, struct insert_scan_memtable *table,
			struct batch *batch)
{
	struct insert_scan_gathered *const gathered =
		insert_scan_statistics_begin(self, &batch->arena, batch->count);

	for (uint64_t i = 0; i < batch->count; i++) {
		if (!insert_scan_memtable_insert(self, table, batch->rows[i])) {
			hq_heap_missed(self->heap);
			continue;
		}
		acknowledge(self, batch, i);
		insert_scan_statistics_add(self, gathered, batch->rows[i]);
	}
	insert_scan_statistics_end(self, gathered);
}

static void update(struct insert_scan *self, uint64_t row, uint64_t length)
{
	struct insert_scan_client *const client = client_of(self);
	const uint64_t key = insert_scan_key(self->index, row);
	const uint32_t version = client->versions[row];

	if (version == INSERT_SCAN_NO_ROW)
		return;
	if (!insert_scan_delta_set(self, key, version + 1, length)) {
		hq_heap_missed(self->heap);
		return;
	}
	client->versions[row] = version + 1;
	client->sum += insert_scan_row_sum(key, version + 1) - insert_scan_row_sum(key, version);
	hq_fetch_add_relaxed(&self->shared->tally.updated, 1);
}

/* Updates and look-ups of rows of this batch and of older ones. */
static void touch_older(struct insert_scan *self, const struct batch *batch,
			struct hq_random *random)
{
	const struct insert_scan_options *const chosen = self->options;

	for (uint64_t i = 0; i < batch->count; i++) {
		const uint64_t row = hq_random_below(random, batch->first + batch->count);

		if (hq_random_chance(random, chosen->updates))
			update(self, row, hq_random_size(random, &chosen->value));
		if (hq_random_chance(random, chosen->lookups) &&
		    client_of(self)->versions[row] != INSERT_SCAN_NO_ROW &&
		    !insert_scan_look_up(self, insert_scan_key(self->index, row)))
			hq_heap_missed(self->heap);
	}
}

static void run_batch(struct insert_scan *self, struct insert_scan_memtable *table, uint64_t number,
		      struct batch *batch)
{
	struct insert_scan_part *const part = &table->parts[self->index];
	struct hq_random random =
		hq_random_stream(self->seed + number, self->index, INSERT_SCAN_ROWS);

	memset(client_of(self)->versions + batch->first, 0xff,
	       batch->count * sizeof(client_of(self)->versions[0]));
	hq_heap_op_begin(self->heap);
	if (write_request(self, batch, &random, &part->bytes) && decode(self, batch) &&
	    insert_scan_log_append(self, &part->log, &batch->request, batch->count))
		insert_rows(self, table, batch);
	else
		hq_heap_missed(self->heap);
	touch_older(self, batch, &random);
	insert_scan_drop(self, &batch->request);
	insert_scan_arena_drop(self, &batch->arena);
	insert_scan_drop(self, &batch->response);
	hq_heap_op_end(self->heap);
}

/* The memtable of that number, once its slot is free. NULL: the run is to stop. */
static struct insert_scan_memtable *open_table(struct insert_scan *self, uint64_t number)
{
	struct insert_scan_memtable *const table = &self->shared->slots[number % INSERT_SCAN_SLOTS];

	/* Pairs with the release in the flusher: the slot is empty. */
	while (hq_load_acquire(&table->number) != number) {
		if (!insert_scan_wait())
			return NULL;
	}
	hq_store_relaxed(&client_of(self)->opened, number + 1);
	return table;
}

static void insert_all(struct insert_scan *self)
{
	const struct insert_scan_options *const chosen = self->options;
	struct insert_scan_memtable *table = open_table(self, 0);
	struct batch batch = { .first = 0 };

	for (uint64_t number = 0; batch.first < chosen->rows; number++) {
		const uint64_t left = chosen->rows - batch.first;

		if (table == NULL || hq_host_stopping())
			return;
		batch.count = left < chosen->batch ? left : chosen->batch;
		run_batch(self, table, number, &batch);
		batch.first += batch.count;
		if (table->parts[self->index].bytes < chosen->budget / chosen->threads)
			continue;
		/* Pairs with the acquire in the flusher: this client's rows are in. */
		hq_count_own_release(&client_of(self)->left, 1);
		table = open_table(self, hq_load_relaxed(&client_of(self)->left));
	}
}

void insert_scan_client_run(struct insert_scan *self)
{
	insert_all(self);
	/* Pairs with the acquire in the flushers: all that it ever inserts is in. */
	hq_store_release(&client_of(self)->left, UINT64_MAX);
}
