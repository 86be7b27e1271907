/* SPDX-License-Identifier: MIT */
/*
 * Operators of query-mix over whole columns: expressions through intermediate columns of a block
 * each, wide buffers of a megabyte and more, and arrays that grow beside each other.
 */
#include "stress/workload/query_mix.h"

#define ARRAYS_MAX 4096u

/* One step of an expression: a column becomes the next one. */
static void step(const uint64_t *from, uint64_t *to, uint64_t rows, uint64_t salt)
{
	for (uint64_t i = 0; i < rows; i++)
		to[i] = query_mix_hash(from[i] + salt);
}

/* A block of rows through `a` columns, of which two are alive at a time. */
static bool evaluate(struct query_mix *self, const struct query_mix_query *query, uint64_t start,
		     uint64_t rows, uint64_t *sum)
{
	const uint64_t bytes = rows * sizeof(uint64_t);
	uint64_t *column = NULL;
	const uint64_t *from = self->ids + start;

	for (uint64_t depth = 0; depth < query->a; depth++) {
		uint64_t *const next = hq_heap_alloc(self->heap, bytes);

		if (next != NULL)
			step(from, next, rows, query->b + depth);
		hq_heap_free(self->heap, column, bytes);
		if (next == NULL)
			return false;
		from = column = next;
	}
	for (uint64_t i = 0; i < rows; i++)
		*sum += from[i];
	hq_heap_free(self->heap, column, bytes);
	return true;
}

/* a: steps of the expression; b: which one */
bool query_mix_expression(struct query_mix *self, const struct query_mix_query *query,
			  struct query_mix_share *share)
{
	for (uint64_t start = 0; start < self->rows; start += QUERY_MIX_BLOCK_ROWS) {
		const uint64_t left = self->rows - start;

		if (!evaluate(self, query, start,
			      left < QUERY_MIX_BLOCK_ROWS ? left : QUERY_MIX_BLOCK_ROWS,
			      &share->sum))
			return false;
		hq_heap_alive(self->heap);
	}
	return true;
}

/* Writes a word in each line of the buffer and reads them back. */
static uint64_t sweep(uint64_t *words, uint64_t bytes, uint64_t salt)
{
	const uint64_t count = bytes / sizeof(*words);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < count; i += 8)
		words[i] = i ^ salt;
	for (uint64_t i = 0; i < count; i += 8)
		sum += words[i];
	return sum;
}

/* a: bytes of a buffer; b: buffers, one after another, each a bit smaller */
bool query_mix_wide(struct query_mix *self, const struct query_mix_query *query,
		    struct query_mix_share *share)
{
	for (uint64_t i = 0; i < query->b; i++) {
		const uint64_t bytes = query->a - i * (query->a / (2 * query->b));
		uint64_t *const words = hq_heap_alloc(self->heap, bytes);

		if (words == NULL)
			return false;
		share->sum += sweep(words, bytes, query->b + i);
		hq_heap_free(self->heap, words, bytes);
		hq_heap_alive(self->heap);
	}
	return true;
}

/* a: arrays that grow at one time, each row goes to one of them */
bool query_mix_arrays(struct query_mix *self, const struct query_mix_query *query,
		      struct query_mix_share *share)
{
	const uint64_t count = query->a < ARRAYS_MAX ? query->a : ARRAYS_MAX;
	struct query_mix_vector arrays = { .data = NULL };
	bool fits = query_mix_zeroed(self, &arrays, count * sizeof(struct query_mix_vector));
	struct query_mix_vector *const list = (struct query_mix_vector *)arrays.data;

	for (uint64_t row = 0; fits && row < self->rows; row++) {
		const uint64_t hash = query_mix_hash(self->ids[row]);

		fits = query_mix_push(self, &list[hash % count], &hash, sizeof(hash));
	}
	for (uint64_t i = 0; list != NULL && i < count; i++) {
		for (uint64_t at = 0; at < list[i].bytes; at += sizeof(uint64_t))
			share->sum += *(const uint64_t *)(list[i].data + at) ^ i;
		query_mix_drop(self, &list[i]);
	}
	query_mix_drop(self, &arrays);
	return fits;
}
