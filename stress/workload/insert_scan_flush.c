/* SPDX-License-Identifier: MIT */
/*
 * A flusher of insert-scan: writes memtables that all clients have left to rowsets, reads their
 * logs a last time, and frees both: memory that clients asked for, long ago. After every `fan`
 * memtables it has them compacted.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

/* Waits until all clients have left it. */
static enum insert_scan_await await_left(struct insert_scan *self, uint64_t number)
{
	for (uint64_t i = 0; i < self->options->threads; i++) {
		/* Pairs with the releases in the client. */
		while (hq_load_acquire(&self->shared->clients[i].left) <= number) {
			if (!insert_scan_wait())
				return INSERT_SCAN_STOPPED;
		}
	}
	return insert_scan_is_beyond(self, number) ? INSERT_SCAN_NEVER : INSERT_SCAN_DONE;
}

/* Returns how many rows it met. */
static uint64_t write_rows(struct insert_scan *self, struct insert_scan_memtable *table,
			   struct insert_scan_writer *writer)
{
	struct insert_scan_value values[INSERT_SCAN_COLUMNS];
	struct insert_scan_node *node = NULL;
	uint64_t seen = 0;

	while ((node = insert_scan_memtable_next(self, table, node)) != NULL) {
		if (seen++ < self->options->lose)
			continue;
		insert_scan_row_values(node->row, self->options->columns, values);
		insert_scan_writer_add(self, writer, node->key, node->row->version, values);
	}
	return seen;
}

static uint64_t rows_of(const struct insert_scan *self, const struct insert_scan_memtable *table)
{
	uint64_t rows = 0;

	for (uint64_t i = 0; i < self->options->threads; i++)
		rows += table->parts[i].rows;
	return rows;
}

static void give_up(struct insert_scan *self, uint64_t rows)
{
	if (rows == 0)
		return;
	hq_fetch_add_relaxed(&self->shared->tally.given_up, rows);
	hq_heap_missed(self->heap);
}

/* NULL: it was refused, or there are too many already; the rows are given up. */
static struct insert_scan_rowset *write_rowset(struct insert_scan *self,
					       struct insert_scan_memtable *table, uint64_t number)
{
	const uint64_t rows = rows_of(self, table);
	struct insert_scan_writer writer;
	uint64_t seen;

	if (hq_load_relaxed(&self->shared->rowset_count) >=
		    INSERT_SCAN_ROWSETS - INSERT_SCAN_CLIENTS ||
	    !insert_scan_writer_start(self, &writer, number)) {
		give_up(self, rows);
		return NULL;
	}
	seen = write_rows(self, table, &writer);
	if (seen != rows)
		hq_heap_wrong_data(self->heap, table, rows, seen);
	insert_scan_writer_finish(self, &writer);
	give_up(self, writer.lost);
	hq_fetch_add_relaxed(&self->shared->tally.bytes_flushed, writer.rowset->bytes);
	return writer.rowset;
}

/* Readers that had a view of it go on for a moment. */
static void empty(struct insert_scan *self, struct insert_scan_memtable *table, uint64_t number)
{
	/* Pairs with the end of a view. Its holders never wait for others. */
	while (hq_load_acquire(&table->readers) > 0)
		hq_host_sleep_ns(10000);
	for (uint32_t i = 0; i < self->options->threads; i++)
		insert_scan_memtable_drop_part(self, table, i);
	for (uint32_t i = 0; i < INSERT_SCAN_HEIGHT; i++)
		hq_store_relaxed(&table->head[i], NULL);
	pthread_mutex_lock(&self->shared->lock);
	table->hidden = false;
	pthread_mutex_unlock(&self->shared->lock);
	/* Pairs with the acquires of clients, flushers and scanners. */
	hq_store_release(&table->number, number + INSERT_SCAN_SLOTS);
}

static void flush(struct insert_scan *self, uint64_t number)
{
	struct insert_scan_memtable *const table = &self->shared->slots[number % INSERT_SCAN_SLOTS];

	insert_scan_publish(self, write_rowset(self, table, number), NULL, 0, table);
	empty(self, table, number);
	hq_heap_alive(self->heap);
}

/*
 * The others that are to be merged with it have smaller numbers, so whoever flushes them waits for
 * nobody who waits here.
 */
static bool compact_after(struct insert_scan *self, uint64_t number)
{
	const uint64_t fan = self->options->fan;

	if (fan < 2 || (number + 1) % fan != 0)
		return true;
	for (uint64_t other = number + 1 - fan; other < number; other++) {
		if (insert_scan_await_flushed(self, other) == INSERT_SCAN_STOPPED)
			return false;
	}
	insert_scan_compact(self, number + 1 - fan);
	return true;
}

void insert_scan_flusher_run(struct insert_scan *self)
{
	for (uint64_t number = self->index;; number += self->options->flushers) {
		if (await_left(self, number) != INSERT_SCAN_DONE)
			break;
		flush(self, number);
		if (!compact_after(self, number))
			break;
	}
	/* Pairs with the acquire in the scanner: rowsets stay as they are. */
	hq_fetch_add_acq_rel(&self->shared->flushers_done, 1);
}
