/* SPDX-License-Identifier: MIT */
/*
 * How long single calls of malloc and free take while rows are inserted and flushed, as in the
 * workload memtable: clients build tables of rows of a few fields, and a flusher reads full ones
 * and frees nine rows of ten, in an order that has nothing to do with that of their birth; the
 * client frees the tenth. Each batch of rows has two large blocks of its own.
 *
 * Every call is timed alone. A call during which the thread was switched out against its will says
 * nothing about the allocator, and everything about how busy the machine is: it is left out, where
 * restartable sequences tell. One that waited for something is kept.
 */
#include "allocator/bench/bench.h"
#include "allocator/bench/latency.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#define CLIENTS       2u
#define SLOTS         3u
#define FIELDS        10u
#define TABLE_BYTES   (8u << 20)
#define TABLE_ROWS    16384u
#define TABLES        8u
#define BATCH_ROWS    512u
#define ENCODED_BYTES ((size_t)256 << 10)

struct row {
	uint32_t field_count;
	uint32_t bytes[FIELDS];
	char *fields[FIELDS];
};

struct table {
	struct row *rows[TABLE_ROWS];
	uint32_t count;
	uint32_t left;
};

/* Table n is in slot n % SLOTS. filled is written by the client, flushed by the flusher. */
struct client {
	struct table tables[SLOTS];
	uint64_t count;
	uint32_t state;
	_Atomic(uint64_t) filled;
	_Atomic(uint64_t) flushed;
};

static void wait_a_little(void)
{
	const struct timespec time = { .tv_nsec = 100000 };

	nanosleep(&time, NULL);
	latency_excuse();
}

/* From 2^least up to 2^(least + doublings), small ones as often as large ones. */
static size_t draw_bytes(uint32_t *state, unsigned least, unsigned doublings)
{
	size_t from = (size_t)1 << (least + bench_random(state) % doublings);

	return bench_between(state, from, 2 * from - 1);
}

static char *make_buffer(size_t bytes)
{
	char *buffer = latency_malloc(bytes);

	bench_touch(buffer, bytes);
	return buffer;
}

static struct row *make_row(uint32_t *state, size_t *bytes)
{
	struct row *row = latency_malloc(sizeof(*row));

	row->field_count = (uint32_t)bench_between(state, 2, FIELDS);
	for (uint32_t i = 0; i < row->field_count; i++) {
		row->bytes[i] = (uint32_t)draw_bytes(state, 3, 7);
		row->fields[i] = latency_malloc(row->bytes[i]);
		for (uint32_t at = 0; at < row->bytes[i]; at += 64)
			row->fields[i][at] = 1;
		*bytes += row->bytes[i];
	}
	return row;
}

static void free_row(struct row *row)
{
	for (uint32_t i = 0; i < row->field_count; i++)
		latency_free(row->fields[i]);
	latency_free(row);
}

static void fill(struct client *client, struct table *table)
{
	size_t bytes = 0;

	table->count = 0;
	while (bytes < TABLE_BYTES && table->count + BATCH_ROWS <= TABLE_ROWS) {
		char *request = make_buffer(draw_bytes(&client->state, 14, 4));
		char *arena = make_buffer(draw_bytes(&client->state, 16, 4));

		for (uint32_t i = 0; i < BATCH_ROWS; i++)
			table->rows[table->count++] = make_row(&client->state, &bytes);
		latency_free(arena);
		latency_free(request);
	}
}

/* What the flusher left. */
static void free_left(struct table *table)
{
	for (uint32_t i = 0; i < table->left; i++)
		free_row(table->rows[i]);
	table->left = 0;
}

static void *insert(void *argument)
{
	struct client *client = argument;

	for (uint64_t i = 0; i < client->count; i++) {
		struct table *table = &client->tables[i % SLOTS];

		while (i - atomic_load(&client->flushed) == SLOTS)
			wait_a_little();
		free_left(table);
		fill(client, table);
		atomic_store(&client->filled, i + 1);
	}
	latency_submit();
	return NULL;
}

/* Rows are read and freed in the order of their keys, which is any. */
static void shuffle(struct table *table, uint32_t *state)
{
	for (uint32_t i = table->count; i > 1; i--) {
		uint32_t other = bench_random(state) % i;
		struct row *row = table->rows[i - 1];

		table->rows[i - 1] = table->rows[other];
		table->rows[other] = row;
	}
}

static void encode(const struct table *table)
{
	char *encoded = latency_malloc(ENCODED_BYTES);
	size_t used = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct row *row = table->rows[i];

		for (uint32_t j = 0; j < row->field_count; j++) {
			if (used + row->bytes[j] > ENCODED_BYTES) {
				latency_free(encoded);
				encoded = latency_malloc(ENCODED_BYTES);
				used = 0;
			}
			for (uint32_t at = 0; at < row->bytes[j]; at += 64)
				encoded[used + at] = row->fields[j][at];
			used += row->bytes[j];
		}
	}
	latency_free(encoded);
}

static void flush(struct table *table, uint32_t *state)
{
	shuffle(table, state);
	encode(table);
	table->left = table->count / 10;
	for (uint32_t i = table->left; i < table->count; i++)
		free_row(table->rows[i]);
}

static void flush_all(struct client *clients)
{
	uint32_t state = 7;

	for (uint64_t i = 0; i < clients[0].count; i++) {
		for (uint32_t j = 0; j < CLIENTS; j++) {
			struct client *client = &clients[j];

			while (atomic_load(&client->filled) == i)
				wait_a_little();
			flush(&client->tables[i % SLOTS], &state);
			atomic_store(&client->flushed, i + 1);
		}
	}
}

void bench_run(unsigned scale)
{
	pthread_t threads[CLIENTS];
	struct client *clients = mmap(NULL, CLIENTS * sizeof(*clients), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (clients == MAP_FAILED)
		exit(3);
	latency_begin();
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i].count = scale * (uint64_t)TABLES;
		clients[i].state = 42 + i;
		threads[i] = bench_thread(insert, &clients[i]);
	}
	flush_all(clients);
	for (uint32_t i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < CLIENTS * SLOTS; i++)
		free_left(&clients[i / SLOTS].tables[i % SLOTS]);
	latency_submit();
	latency_print();
}
