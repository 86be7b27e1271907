/* SPDX-License-Identifier: MIT */
/*
 * Operators of query-mix that put rows in order: numbers by radix with a second buffer of the same
 * size, texts by merging runs of row numbers.
 */
#include "stress/workload/query_mix.h"

#define DIGITS     8u
#define DIGIT_BITS 8u
#define TOP_MAX    1024u

static void sort_digit(const uint64_t *from, uint64_t *to, uint64_t count, unsigned shift)
{
	uint64_t places[1u << DIGIT_BITS] = { 0 }, next = 0;
	const uint64_t mask = (1u << DIGIT_BITS) - 1;

	for (uint64_t i = 0; i < count; i++)
		places[from[i] >> shift & mask]++;
	for (unsigned digit = 0; digit <= mask; digit++) {
		const uint64_t size = places[digit];

		places[digit] = next;
		next += size;
	}
	for (uint64_t i = 0; i < count; i++)
		to[places[from[i] >> shift & mask]++] = from[i];
}

/* Sorts in place, with a buffer beside. False: refused. */
static bool sort_numbers(struct query_mix *self, uint64_t *numbers, uint64_t count)
{
	uint64_t *const buffer = hq_heap_alloc(self->heap, count * sizeof(*buffer));

	if (buffer == NULL)
		return false;
	for (unsigned digit = 0; digit < DIGITS; digit += 2) {
		sort_digit(numbers, buffer, count, digit * DIGIT_BITS);
		sort_digit(buffer, numbers, count, (digit + 1) * DIGIT_BITS);
		hq_heap_alive(self->heap);
	}
	hq_heap_free(self->heap, buffer, count * sizeof(*buffer));
	return true;
}

/* a: salt; the sorted column goes to thread 0 */
bool query_mix_sort(struct query_mix *self, const struct query_mix_query *query,
		    struct query_mix_share *share)
{
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row++) {
		const uint64_t key = query_mix_hash(self->ids[row] + query->a);

		fits = query_mix_push(self, &share->vector, &key, sizeof(key));
	}
	return fits && sort_numbers(self, (uint64_t *)share->vector.data, self->rows);
}

static uint64_t take_least(struct query_mix_share *shares, uint32_t count, uint64_t *places)
{
	uint32_t best = count;
	uint64_t least = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t *const column = (const uint64_t *)shares[i].vector.data;

		if (places[i] == shares[i].vector.bytes / sizeof(*column) ||
		    (best != count && column[places[i]] >= least))
			continue;
		best = i;
		least = column[places[i]];
	}
	places[best]++;
	return least;
}

/* The sorted columns of all threads become one; an answer that is out of order is no answer. */
bool query_mix_merge_sorted(struct query_mix *self, const struct query_mix_query *query,
			    struct query_mix_share *result)
{
	struct query_mix_share *const shares = self->shared->shares;
	const uint32_t count = self->shared->thread_count;
	uint64_t places[HQ_WIRE_WORKERS] = { 0 }, rows = 0, before = 0;
	struct query_mix_vector merged = { .data = NULL };
	bool fits = true;

	(void)query;
	for (uint32_t i = 0; i < count; i++)
		rows += shares[i].vector.bytes / sizeof(uint64_t);
	for (uint64_t row = 0; fits && row < rows; row++) {
		const uint64_t least = take_least(shares, count, places);

		result->sum = result->sum * 31 + least + (least < before);
		before = least;
		fits = query_mix_push(self, &merged, &least, sizeof(least));
		if (row % QUERY_MIX_BLOCK_ROWS == 0)
			hq_heap_alive(self->heap);
	}
	for (uint32_t i = 0; i < count; i++)
		query_mix_drop(self, &shares[i].vector);
	query_mix_drop(self, &merged);
	return fits;
}

/* ---- texts ---- */

static int compare_rows(const struct query_mix *self, uint32_t left, uint32_t right)
{
	const uint32_t left_bytes = self->offsets[left + 1] - self->offsets[left];
	const uint32_t right_bytes = self->offsets[right + 1] - self->offsets[right];
	const int order =
		memcmp(self->texts + self->offsets[left], self->texts + self->offsets[right],
		       left_bytes < right_bytes ? left_bytes : right_bytes);

	if (order != 0)
		return order;
	return (left_bytes > right_bytes) - (left_bytes < right_bytes);
}

static void merge_runs(const struct query_mix *self, const uint32_t *from, uint32_t *to,
		       uint64_t start, uint64_t middle, uint64_t end)
{
	uint64_t left = start, right = middle;

	for (uint64_t i = start; i < end; i++) {
		const bool take_left =
			right == end ||
			(left < middle && compare_rows(self, from[left], from[right]) <= 0);

		to[i] = take_left ? from[left++] : from[right++];
	}
}

/* Merges runs that double; returns which of the two buffers has the rows in order. */
static uint32_t *sort_rows(const struct query_mix *self, uint32_t *rows, uint32_t *buffer)
{
	for (uint64_t run = 1; run < self->rows; run *= 2) {
		for (uint64_t start = 0; start < self->rows; start += 2 * run) {
			const uint64_t middle = start + run < self->rows ? start + run : self->rows;
			const uint64_t end = middle + run < self->rows ? middle + run : self->rows;

			merge_runs(self, rows, buffer, start, middle, end);
		}
		uint32_t *const swapped = rows;

		rows = buffer;
		buffer = swapped;
		hq_heap_alive(self->heap);
	}
	return rows;
}

/* a: texts of the sorted column that are copied out, from the first on */
bool query_mix_sort_texts(struct query_mix *self, const struct query_mix_query *query,
			  struct query_mix_share *share)
{
	const uint64_t bytes = self->rows * sizeof(uint32_t);
	uint32_t *const rows = hq_heap_alloc(self->heap, bytes);
	uint32_t *const buffer = rows ? hq_heap_alloc(self->heap, bytes) : NULL;
	struct query_mix_vector result = { .data = NULL };
	bool fits = buffer != NULL;

	for (uint64_t row = 0; fits && row < self->rows; row++)
		rows[row] = (uint32_t)row;
	const uint32_t *const sorted = fits ? sort_rows(self, rows, buffer) : NULL;

	for (uint64_t row = 0; fits && row < self->rows && row < query->a; row++) {
		const char *const text = self->texts + self->offsets[sorted[row]];

		fits = query_mix_push(self, &result, text,
				      self->offsets[sorted[row] + 1] - self->offsets[sorted[row]]);
	}
	share->sum += query_mix_hash_text((const char *)result.data, result.bytes);
	query_mix_drop(self, &result);
	hq_heap_free(self->heap, buffer, bytes);
	hq_heap_free(self->heap, rows, bytes);
	return fits;
}

/* ---- order without sorting everything ---- */

/* a: groups; each group's values are collected and sorted for its quantiles */
bool query_mix_quantiles(struct query_mix *self, const struct query_mix_query *query,
			 struct query_mix_share *share)
{
	for (uint64_t group = 0; group < query->a; group++) {
		struct query_mix_vector values = { .data = NULL };
		bool fits = true;

		for (uint64_t row = 0; fits && row < self->rows; row++) {
			const uint64_t value = (uint64_t)self->values[row];

			if (query_mix_hash(self->ids[row]) % query->a == group)
				fits = query_mix_push(self, &values, &value, sizeof(value));
		}
		const uint64_t count = values.bytes / sizeof(uint64_t);

		fits = fits && (count == 0 || sort_numbers(self, (uint64_t *)values.data, count));
		for (uint64_t tenth = 1; fits && count && tenth < 10; tenth++)
			share->sum += query_mix_hash(
				((const uint64_t *)values.data)[count * tenth / 10] + group);
		query_mix_drop(self, &values);
		if (!fits)
			return false;
	}
	return true;
}

/* a: the largest ones of a block that are kept, b: bytes that go with each */
bool query_mix_top(struct query_mix *self, const struct query_mix_query *query,
		   struct query_mix_share *share)
{
	void *payloads[TOP_MAX] = { NULL };
	uint64_t keys[TOP_MAX] = { 0 };
	const uint64_t kept = query->a < TOP_MAX ? query->a : TOP_MAX;
	bool fits = true;

	for (uint64_t row = 0; fits && row < self->rows; row++) {
		const uint64_t key = query_mix_hash(self->ids[row] + query->b);
		const uint64_t place = key % kept;

		if (key <= keys[place])
			continue;
		hq_heap_free(self->heap, payloads[place], query->b);
		payloads[place] = hq_heap_alloc(self->heap, query->b);
		keys[place] = key;
		fits = payloads[place] != NULL;
		if (fits)
			memset(payloads[place], (int)(key & 0xff), query->b);
	}
	for (uint64_t place = 0; place < kept; place++) {
		share->sum += keys[place];
		if (payloads[place] != NULL && fits)
			share->sum += ((const uint8_t *)payloads[place])[query->b - 1];
		hq_heap_free(self->heap, payloads[place], query->b);
	}
	return fits;
}
