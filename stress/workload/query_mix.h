/* SPDX-License-Identifier: MIT */
/*
 * The workload query-mix from the inside. Nouns:
 *
 *   table      columns that each thread loads its share of, and holds: ids, values, texts
 *   query      one analytical question over the whole table, run by all threads together
 *   operator   how a kind of query is answered; one function, with two numbers of the query
 *   vector     memory that grows by doubling through realloc, as columns of results do
 *   answer     a checksum over the result: the same for every run of a query, or data were lost
 *
 * A query has two phases. In `part` every thread works on its own rows; in `join` thread 0 alone
 * puts together, and frees, what the others left in the hand-over slots. Between the phases, and
 * before the next query, all threads meet.
 *
 * What is refused by the allocator ends the query without an answer for this run: everything it had
 * is freed, and the operation counts as missed.
 */
#ifndef HQ_STRESS_WORKLOAD_QUERY_MIX_H
#define HQ_STRESS_WORKLOAD_QUERY_MIX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "injectors/atomic.h"
#include "injectors/option.h"
#include "stress/workload/arrivals.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

#define QUERY_MIX_BLOCK_ROWS 65536u /* rows that an operator takes at a time */
#define QUERY_MIX_TEXT_MIN   4u
#define QUERY_MIX_TEXT_MAX   27u

struct query_mix_options {
	uint64_t threads;
	uint64_t rows;
	uint64_t rounds;
	uint64_t pause_ns;
	char group[HQ_OPTION_TEXT_SIZE];
	uint64_t resident;
	bool clear; /* hash tables are cleared by hand, not taken from calloc */
	struct hq_arrivals_options arrivals;
};

/* Grows by doubling; `bytes` are in use. */
struct query_mix_vector {
	uint8_t *data;
	uint64_t bytes, room;
};

/* What a thread leaves for thread 0; whoever takes it frees it. */
struct query_mix_share {
	uint64_t sum; /* of the answer, as far as this thread knows it */
	struct query_mix_vector vector;
	bool refused;
	uint64_t padding[3];
};

struct query_mix_shared {
	_Atomic uint32_t arrived, turn;
	uint32_t thread_count;
	struct query_mix_share shares[HQ_WIRE_WORKERS];
	uint64_t answers[HQ_WIRE_PARTS]; /* thread 0 alone; 0: not known yet */
	struct hq_arrivals arrivals;     /* thread 0 alone */
	uint64_t due_ns; /* of the query; thread 0 writes it before all meet for the query */
};

/* One thread's view. */
struct query_mix {
	const struct query_mix_options *options;
	struct query_mix_shared *shared;
	struct hq_heap *heap;
	uint64_t seed;
	uint32_t thread;
	uint64_t rows; /* its share of the table */
	uint64_t *ids;
	double *values;
	uint32_t *offsets; /* rows + 1 of them */
	char *texts;
	uint64_t text_bytes;
	uint8_t *resident;
};

struct query_mix_query {
	const char *name;
	const char *group;
	/* Both add to share->sum; false: refused. */
	bool (*part)(struct query_mix *self, const struct query_mix_query *query,
		     struct query_mix_share *share);
	bool (*join)(
		struct query_mix *self, const struct query_mix_query *query,
		struct query_mix_share *result); /* NULL: sums are added, nothing else is left */
	uint64_t a, b;
};

/* ---- query_mix_vector.c ---- */

/* Room for so many bytes more, or false. */
bool query_mix_reserve(struct query_mix *self, struct query_mix_vector *vector, uint64_t bytes);
/* Exactly so much, zeroed, or false: the vector was empty. */
bool query_mix_zeroed(struct query_mix *self, struct query_mix_vector *vector, uint64_t bytes);
void query_mix_drop(struct query_mix *self, struct query_mix_vector *vector);

/* False: refused. */
static inline bool query_mix_push(struct query_mix *self, struct query_mix_vector *vector,
				  const void *data, uint64_t bytes)
{
	if (vector->room - vector->bytes < bytes && !query_mix_reserve(self, vector, bytes))
		return false;
	memcpy(vector->data + vector->bytes, data, bytes);
	vector->bytes += bytes;
	return true;
}

/* A bijection that leaves no pattern: the finalizer of MurmurHash3. */
static inline uint64_t query_mix_hash(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdull;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ull;
	return value ^ value >> 33;
}

static inline uint64_t query_mix_hash_text(const char *text, uint64_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ length;

	for (uint64_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return query_mix_hash(hash);
}

/* ---- operators: query_mix_{columns,hash,sort,text}.c ---- */

typedef bool query_mix_operator(struct query_mix *self, const struct query_mix_query *query,
				struct query_mix_share *share);

query_mix_operator query_mix_expression, query_mix_wide, query_mix_arrays;
query_mix_operator query_mix_aggregate, query_mix_aggregate_texts, query_mix_uniq,
	query_mix_uniq_texts, query_mix_join_tables;
query_mix_operator query_mix_sort, query_mix_sort_texts, query_mix_quantiles, query_mix_top;
query_mix_operator query_mix_transform, query_mix_search, query_mix_json;

query_mix_operator query_mix_merge_aggregates, query_mix_merge_uniq, query_mix_merge_sorted;

#endif
