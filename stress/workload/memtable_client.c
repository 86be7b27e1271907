/* SPDX-License-Identifier: MIT */
/*
 * A client of memtable: batches of rows into memtables. Each batch has a request buffer and an
 * arena, both freed after it, as a server would have them. When either is refused the whole batch
 * is given up; when memory for a row is refused, that row is.
 *
 * A batch is drawn from a stream of its own and its bytes count towards the budget even where they
 * were refused, so a refusal shifts neither later rows nor where memtables end.
 */
#include "stress/workload/memtable.h"

#define REQUEST_MIN_BYTES (16u * 1024u)
#define REQUEST_MAX_BYTES (256u * 1024u)
#define ARENA_MIN_BYTES   (64u * 1024u)
#define ARENA_MAX_BYTES   (1024u * 1024u)

static struct memtable_client *client_of(const struct memtable *self)
{
	return &self->shared->clients[self->index];
}

/* One level more with a chance of a quarter. */
static uint64_t draw_height(struct hq_random *random)
{
	const uint64_t bits = hq_random_next(random) | 1ull << 2 * (MEMTABLE_HEIGHT - 1);

	return 1 + (uint64_t)__builtin_ctzll(bits) / 2;
}

static void draw_row(const struct memtable_options *chosen, struct hq_random *random,
		     struct memtable_shape *shape)
{
	shape->key = hq_random_next(random);
	shape->height = draw_height(random);
	shape->field_count = chosen->fields_min +
			     hq_random_below(random, chosen->fields_max - chosen->fields_min + 1);
	shape->bytes = 0;
	for (uint64_t i = 0; i < shape->field_count; i++) {
		shape->sizes[i] = hq_random_size(random, &chosen->value);
		shape->bytes += shape->sizes[i];
	}
}

/* The rows of one batch. With `given` false they are only drawn. */
static void insert_rows(struct memtable *self, struct memtable_table *table,
			struct hq_random *random, uint64_t rows, bool given)
{
	struct memtable_shape shape;

	for (uint64_t i = 0; i < rows; i++) {
		draw_row(self->options, random, &shape);
		table->bytes += shape.bytes;
		if (given && hq_load_relaxed(&table->broken) == 0 &&
		    !memtable_insert(self, table, &shape))
			hq_heap_missed(self->heap);
	}
}

static void insert_batch(struct memtable *self, struct memtable_table *table, uint64_t number,
			 uint64_t rows)
{
	static const struct hq_sizes request_sizes = { .min_bytes = REQUEST_MIN_BYTES,
						       .max_bytes = REQUEST_MAX_BYTES,
						       .shape = HQ_SIZES_LOG };
	static const struct hq_sizes arena_sizes = { .min_bytes = ARENA_MIN_BYTES,
						     .max_bytes = ARENA_MAX_BYTES,
						     .shape = HQ_SIZES_LOG };
	struct hq_random random = hq_random_stream(self->seed + number, self->index, MEMTABLE_ROWS);
	const uint64_t request_bytes = hq_random_size(&random, &request_sizes);
	const uint64_t arena_bytes = hq_random_size(&random, &arena_sizes);
	struct hq_block request, arena = { .address = NULL };
	bool given;

	hq_heap_op_begin(self->heap);
	given = hq_block_alloc(self->heap, &request, request_bytes) &&
		hq_block_alloc(self->heap, &arena, arena_bytes);
	if (!given)
		hq_heap_missed(self->heap);
	insert_rows(self, table, &random, rows, given);
	hq_block_free(self->heap, &arena);
	hq_block_free(self->heap, &request);
	hq_heap_op_end(self->heap);
}

/* An empty memtable for the next number, once its slot is free. NULL: the run is to stop. */
static struct memtable_table *open_table(struct memtable *self, uint64_t number)
{
	struct memtable_client *const client = client_of(self);
	struct memtable_table *const table = &client->slots[number % MEMTABLE_SLOTS];

	/* Pairs with the release in the flusher: the slot's former rows are freed, or leftovers. */
	while (hq_load_acquire(&client->flushed) + MEMTABLE_SLOTS <= number) {
		if (!memtable_wait())
			return NULL;
	}
	memtable_free_leftover(self, table);
	*table = (struct memtable_table){ .number = number };
	return table;
}

static void freeze(struct memtable *self, struct memtable_table *table)
{
	const bool chosen = memtable_is_chosen(self, self->index, table->number);

	hq_store_relaxed(&table->scanned, chosen ? 0 : 1);
	/* Pairs with the acquire in memtable_await_frozen: the memtable is whole. */
	hq_store_release(&client_of(self)->frozen, table->number + 1);
}

static void insert_all(struct memtable *self)
{
	const struct memtable_options *const chosen = self->options;
	struct memtable_table *table = open_table(self, 0);
	uint64_t left = chosen->rows;

	for (uint64_t number = 0; left > 0 && !hq_host_stopping(); number++) {
		const uint64_t rows = left < chosen->batch ? left : chosen->batch;

		if (table->bytes >= chosen->budget) {
			freeze(self, table);
			table = open_table(self, table->number + 1);
			if (table == NULL)
				return;
		}
		insert_batch(self, table, number, rows);
		left -= rows;
	}
}

void memtable_client_run(struct memtable *self)
{
	insert_all(self);
	/* Pairs with the acquires of flushers and scanners: the last memtable is whole. */
	hq_store_release(&client_of(self)->done, 1);
}

/* After an early end there may be frozen memtables that no flusher has come to. */
void memtable_client_release(struct memtable *self)
{
	struct memtable_client *const client = client_of(self);
	const uint64_t flushed = hq_load_acquire(&client->flushed);

	for (uint32_t i = 0; i < MEMTABLE_SLOTS; i++) {
		struct memtable_table *const table = &client->slots[i];

		if (table->number < flushed)
			memtable_free_leftover(self, table);
		else
			memtable_clear(self, table, NULL);
	}
}
