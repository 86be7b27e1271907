/* SPDX-License-Identifier: MIT */
/*
 * Rows of a few small fields: a client builds batches of them, a second thread frees them, and the
 * live heap goes up and down between nothing and two of them, 36 MiB. All is freed at the end.
 */
#include <sched.h>
#include <stdatomic.h>

#include "allocator/bench/bench.h"

#define ROWS   20000
#define FIELDS 6
#define TABLES 2

struct row {
	char *fields[FIELDS];
};

struct table {
	_Atomic(bool) is_full;
	size_t bytes;
	struct row *rows[ROWS];
};

struct feed {
	struct table tables[TABLES];
	uint64_t count;
};

static void fill_table(struct table *table, uint32_t *state)
{
	table->bytes = 0;
	for (int i = 0; i < ROWS; i++) {
		struct row *row = bench_malloc(sizeof(*row));

		table->bytes += sizeof(*row);
		for (int j = 0; j < FIELDS; j++) {
			size_t bytes =
				bench_between(state, 8, (size_t)16 << bench_random(state) % 7);

			row->fields[j] = bench_malloc(bytes);
			row->fields[j][0] = 1;
			row->fields[j][bytes - 1] = 1;
			table->bytes += bytes;
		}
		table->rows[i] = row;
	}
	bench_live_add(table->bytes);
}

static void free_table(struct table *table)
{
	for (int i = 0; i < ROWS; i++) {
		for (int j = 0; j < FIELDS; j++)
			free(table->rows[i]->fields[j]);
		free(table->rows[i]);
	}
	bench_live_sub(table->bytes);
}

static void *flush(void *argument)
{
	struct feed *feed = argument;

	for (uint64_t i = 0; i < feed->count; i++) {
		struct table *table = &feed->tables[i % TABLES];

		while (!atomic_load(&table->is_full))
			sched_yield();
		free_table(table);
		atomic_store(&table->is_full, false);
	}
	return NULL;
}

void bench_run(unsigned scale)
{
	static struct feed feed;
	uint32_t state = 42;

	feed.count = scale * UINT64_C(4);
	pthread_t flusher = bench_thread(flush, &feed);

	for (uint64_t i = 0; i < feed.count; i++) {
		struct table *table = &feed.tables[i % TABLES];

		while (atomic_load(&table->is_full))
			sched_yield();
		fill_table(table, &state);
		atomic_store(&table->is_full, true);
	}
	pthread_join(flusher, NULL);
}
