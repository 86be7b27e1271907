/* SPDX-License-Identifier: MIT */
/*
 * Operators of query-mix with hash tables: open addressing, at most half full, doubled by building
 * a new table and freeing the old one. Texts as keys are copied into an arena that grows chunk by
 * chunk.
 */
#include "stress/workload/query_mix.h"

#define CELLS_FIRST 256u
#define ARENA_FIRST 4096u
#define ARENA_MAX   (1u << 20)

struct cell {
	uint64_t key; /* 0: empty; keys are hashes, and the one that is 0 becomes 1 */
	uint64_t count, sum;
};

/* What is in a share's vector: this, and the cells behind it. */
struct table {
	struct query_mix_vector cells;
	uint64_t used;
};

static uint64_t cell_count(const struct table *table)
{
	return table->cells.bytes / sizeof(struct cell);
}

static struct cell *find(const struct table *table, uint64_t key)
{
	struct cell *const cells = (struct cell *)table->cells.data;
	const uint64_t mask = cell_count(table) - 1;
	uint64_t at = key & mask;

	while (cells[at].key != 0 && cells[at].key != key)
		at = (at + 1) & mask;
	return &cells[at];
}

static bool grow(struct query_mix *self, struct table *table)
{
	struct table larger = { .used = table->used };
	const struct cell *const cells = (const struct cell *)table->cells.data;

	if (!query_mix_zeroed(self, &larger.cells, 2 * table->cells.bytes))
		return false;
	for (uint64_t i = 0; i < cell_count(table); i++) {
		if (cells[i].key != 0)
			*find(&larger, cells[i].key) = cells[i];
	}
	query_mix_drop(self, &table->cells);
	*table = larger;
	return true;
}

/* False: refused. */
static bool add(struct query_mix *self, struct table *table, uint64_t key, uint64_t count,
		uint64_t sum)
{
	key += key == 0;
	if (table->cells.data == NULL &&
	    !query_mix_zeroed(self, &table->cells, CELLS_FIRST * sizeof(struct cell)))
		return false;
	if (2 * table->used >= cell_count(table) && !grow(self, table))
		return false;
	struct cell *const cell = find(table, key);

	table->used += cell->key == 0;
	cell->key = key;
	cell->count += count;
	cell->sum += sum;
	return true;
}

/* The table goes to thread 0 as it is: of a share only the vector is needed. */
static void hand_over(struct query_mix_share *share, const struct table *table)
{
	share->vector = table->cells;
}

/* a: groups; b: salt */
bool query_mix_aggregate(struct query_mix *self, const struct query_mix_query *query,
			 struct query_mix_share *share)
{
	struct table table = { .used = 0 };
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row++)
		fits = add(self, &table, query_mix_hash(self->ids[row] % query->a + query->b), 1,
			   (uint64_t)self->values[row]);
	hand_over(share, &table);
	return fits;
}

/* Into the table of thread 0, and the sum of all groups into the answer. */
static bool merge(struct query_mix *self, struct query_mix_share *result, bool counts)
{
	struct query_mix_share *const shares = self->shared->shares;
	struct table all = { .used = 0 };
	bool fits = true;

	for (uint32_t i = 0; i < self->shared->thread_count; i++) {
		const struct cell *const cells = (const struct cell *)shares[i].vector.data;
		const uint64_t count = shares[i].vector.bytes / sizeof(*cells);

		for (uint64_t at = 0; fits && at < count; at++) {
			if (cells[at].key != 0)
				fits = add(self, &all, cells[at].key, cells[at].count,
					   cells[at].sum);
		}
		query_mix_drop(self, &shares[i].vector);
	}
	const struct cell *const cells = (const struct cell *)all.cells.data;

	for (uint64_t at = 0; cells != NULL && at < cell_count(&all); at++) {
		if (cells[at].key != 0)
			result->sum +=
				query_mix_hash(cells[at].key +
					       (counts ? cells[at].count * 31 + cells[at].sum : 0));
	}
	query_mix_drop(self, &all.cells);
	return fits;
}

bool query_mix_merge_aggregates(struct query_mix *self, const struct query_mix_query *query,
				struct query_mix_share *result)
{
	(void)query;
	return merge(self, result, true);
}

/* Which keys there are, not how often. */
bool query_mix_merge_uniq(struct query_mix *self, const struct query_mix_query *query,
			  struct query_mix_share *result)
{
	(void)query;
	return merge(self, result, false);
}

/* a: how many different ones there are at most */
bool query_mix_uniq(struct query_mix *self, const struct query_mix_query *query,
		    struct query_mix_share *share)
{
	struct table table = { .used = 0 };
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row++)
		fits = add(self, &table, query_mix_hash(self->ids[row] * 7 % query->a + query->b),
			   0, 0);
	hand_over(share, &table);
	return fits;
}

/* ---- texts as keys ---- */

/* Chunks that double up to a bound; freed together. */
struct arena {
	struct query_mix_vector chunks; /* of struct query_mix_vector */
};

static struct query_mix_vector *last_chunk(const struct arena *arena)
{
	if (arena->chunks.bytes == 0)
		return NULL;
	return (struct query_mix_vector *)(arena->chunks.data + arena->chunks.bytes) - 1;
}

static bool add_chunk(struct query_mix *self, struct arena *arena)
{
	const struct query_mix_vector *const last = last_chunk(arena);
	struct query_mix_vector chunk = { .room = last == NULL             ? ARENA_FIRST
						  : last->room < ARENA_MAX ? 2 * last->room
									   : ARENA_MAX };

	chunk.data = hq_heap_alloc(self->heap, chunk.room);
	if (chunk.data == NULL)
		return false;
	if (query_mix_push(self, &arena->chunks, &chunk, sizeof(chunk)))
		return true;
	query_mix_drop(self, &chunk);
	return false;
}

static bool keep_text(struct query_mix *self, struct arena *arena, const char *text,
		      uint64_t length)
{
	const struct query_mix_vector *const last = last_chunk(arena);

	if ((last == NULL || last->room - last->bytes < length) && !add_chunk(self, arena))
		return false;
	struct query_mix_vector *const chunk = last_chunk(arena);

	memcpy(chunk->data + chunk->bytes, text, length);
	chunk->bytes += length;
	return true;
}

static void drop_arena(struct query_mix *self, struct arena *arena, uint64_t *sum)
{
	struct query_mix_vector *const chunks = (struct query_mix_vector *)arena->chunks.data;

	for (uint64_t i = 0; i < arena->chunks.bytes / sizeof(*chunks); i++) {
		*sum += query_mix_hash_text((const char *)chunks[i].data, chunks[i].bytes);
		query_mix_drop(self, &chunks[i]);
	}
	query_mix_drop(self, &arena->chunks);
}

/* Texts by their first `length` bytes; new ones are copied into the arena. */
static bool group_texts(struct query_mix *self, uint64_t length, bool counts,
			struct query_mix_share *share)
{
	struct table table = { .used = 0 };
	struct arena arena = { .chunks = { .data = NULL } };
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row++) {
		const char *const text = self->texts + self->offsets[row];
		const uint64_t all = self->offsets[row + 1] - self->offsets[row];
		const uint64_t used = table.used, taken = all < length ? all : length;

		fits = add(self, &table, query_mix_hash_text(text, taken), counts,
			   counts ? all : 0);
		if (fits && table.used != used)
			fits = keep_text(self, &arena, text, taken);
	}
	drop_arena(self, &arena, &share->sum);
	hand_over(share, &table);
	return fits;
}

/* a: bytes of a text that count */
bool query_mix_aggregate_texts(struct query_mix *self, const struct query_mix_query *query,
			       struct query_mix_share *share)
{
	return group_texts(self, query->a, true, share);
}

bool query_mix_uniq_texts(struct query_mix *self, const struct query_mix_query *query,
			  struct query_mix_share *share)
{
	return group_texts(self, query->a, false, share);
}

/* a: one row in that many is on the right side; b: columns of the result */
bool query_mix_join_tables(struct query_mix *self, const struct query_mix_query *query,
			   struct query_mix_share *share)
{
	struct table right = { .used = 0 };
	struct query_mix_vector result = { .data = NULL };
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row += query->a)
		fits = add(self, &right, query_mix_hash(row / query->a), 1, self->ids[row]);
	for (uint64_t row = 0; fits && right.used && row < self->rows; row++) {
		const uint64_t key = query_mix_hash(self->ids[row] % (2 * right.used));
		const struct cell *const cell = find(&right, key + (key == 0));

		for (uint64_t column = 0; fits && cell->key != 0 && column < query->b; column++) {
			const uint64_t value = cell->sum + column;

			fits = query_mix_push(self, &result, &value, sizeof(value));
		}
	}
	for (uint64_t at = 0; at < result.bytes; at += sizeof(uint64_t))
		share->sum += query_mix_hash(*(const uint64_t *)(result.data + at));
	query_mix_drop(self, &result);
	query_mix_drop(self, &right.cells);
	return fits;
}
