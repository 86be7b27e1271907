/* SPDX-License-Identifier: MIT */
/*
 * Analytical queries one after another, as a column store answers them: hash tables that double,
 * buffers for sorting, joins in memory, columns of texts, wide intermediate columns. This file has
 * the options, the table of queries and how threads run them; query_mix.h says what the parts are.
 */
#include "stress/workload/query_mix.h"

#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/table.h"

#define WAIT_NS  (50 * HQ_US)
#define PAUSE_NS (10 * HQ_MS) /* between two looks whether the run ends */

#define AT(field) offsetof(struct query_mix_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL,
	  "threads that share each query" },
	{ "rows", HQ_OPTION_COUNT, AT(rows), "400k", 1000, 1000000000, NULL, "rows of the table" },
	{ "rounds", HQ_OPTION_COUNT, AT(rounds), "2", 1, 1000000, NULL,
	  "how often all queries run" },
	{ "pause", HQ_OPTION_DURATION, AT(pause_ns), "0", 0, 60 * HQ_S, NULL,
	  "silence between two queries" },
	{ "group", HQ_OPTION_TEXT, AT(group), "all", 0, 0, NULL,
	  "only the queries of that group: math, sort, uniq, ..." },
	{ "resident", HQ_OPTION_SIZE, AT(resident), "0", 0, 1ull << 40, NULL,
	  "memory that each thread holds and does not use, as caches of a server" },
	{ "clear", HQ_OPTION_BOOL, AT(clear), "false", 0, 0, NULL,
	  "hash tables come from malloc and are cleared, instead of from calloc" },
	HQ_ARRIVALS_OPTIONS(struct query_mix_options, arrivals, "20/s",
			    "queries, for constant and poisson"),
	{ .name = NULL },
};

#define MERGED  query_mix_merge_aggregates
#define COUNTED query_mix_merge_uniq
#define ORDERED query_mix_merge_sorted

/* X(name, group, operator, how thread 0 puts the shares together, a, b) */
#define QUERY_TABLE(X)                                                                             \
	X("math-1", "math", expression, NULL, 1, 11)                                               \
	X("math-4", "math", expression, NULL, 4, 12)                                               \
	X("math-8", "math", expression, NULL, 8, 13)                                               \
	X("math-16", "math", expression, NULL, 16, 14)                                             \
	X("sum-10", "aggregation", aggregate, MERGED, 10, 1)                                       \
	X("sum-1k", "aggregation", aggregate, MERGED, 1000, 2)                                     \
	X("sum-30k", "aggregation", aggregate, MERGED, 30000, 3)                                   \
	X("sum-100k", "aggregation", aggregate, MERGED, 100000, 4)                                 \
	X("sum-all", "aggregation", aggregate, MERGED, 1000000000, 5)                              \
	X("text-groups-2", "string_aggregation", aggregate_texts, MERGED, 2, 0)                    \
	X("text-groups-3", "string_aggregation", aggregate_texts, MERGED, 3, 0)                    \
	X("text-groups-all", "string_aggregation", aggregate_texts, MERGED, 64, 0)                 \
	X("uniq-1k", "uniq", uniq, COUNTED, 1000, 1)                                               \
	X("uniq-60k", "uniq", uniq, COUNTED, 60000, 2)                                             \
	X("uniq-all", "uniq", uniq, COUNTED, 1000000000, 3)                                        \
	X("uniq-texts-4", "uniq", uniq_texts, COUNTED, 4, 0)                                       \
	X("uniq-texts", "uniq", uniq_texts, COUNTED, 64, 0)                                        \
	X("order-1", "sort", sort, ORDERED, 1, 0)                                                  \
	X("order-2", "sort", sort, ORDERED, 2, 0)                                                  \
	X("top-100", "sort", top, NULL, 100, 96)                                                   \
	X("top-1000", "sort", top, NULL, 1000, 480)                                                \
	X("order-texts-10k", "string_sort", sort_texts, NULL, 10000, 0)                            \
	X("order-texts", "string_sort", sort_texts, NULL, 1000000000, 0)                           \
	X("quantiles-1", "quantile", quantiles, NULL, 1, 0)                                        \
	X("quantiles-7", "quantile", quantiles, NULL, 7, 0)                                        \
	X("join-16", "joins_in_memory", join_tables, NULL, 16, 2)                                  \
	X("join-4", "joins_in_memory", join_tables, NULL, 4, 3)                                    \
	X("join-1", "joins_in_memory", join_tables, NULL, 1, 4)                                    \
	X("concat-2", "string", transform, NULL, 2, '-')                                           \
	X("concat-6", "string", transform, NULL, 6, ',')                                           \
	X("search-q", "string", search, NULL, 'q', 0)                                              \
	X("search-upper-e", "string", search, NULL, 'E', 1)                                        \
	X("json-8", "json", json, NULL, 8, 64)                                                     \
	X("json-2", "json", json, NULL, 2, 4096)                                                   \
	X("arrays-16", "array", arrays, NULL, 16, 0)                                               \
	X("arrays-1k", "array", arrays, NULL, 1000, 0)                                             \
	X("wide-1m", "wide", wide, NULL, 1u << 20, 24)                                             \
	X("wide-6m", "wide", wide, NULL, 6u << 20, 8)                                              \
	X("wide-24m", "wide", wide, NULL, 24u << 20, 3)                                            \
	X("wide-64k", "wide", wide, NULL, 64u << 10, 200)

#define QUERY(name_, group_, part_, join_, a_, b_)                                                 \
	{ .name = name_,                                                                           \
	  .group = group_,                                                                         \
	  .part = query_mix_##part_,                                                               \
	  .join = join_,                                                                           \
	  .a = a_,                                                                                 \
	  .b = b_ },

static const struct query_mix_query queries[] = { QUERY_TABLE(QUERY) };

#define PART(name_, group_, ...) { name_, group_ },

static const struct hq_workload_part parts[] = { QUERY_TABLE(PART){ NULL, NULL } };

#define QUERIES (sizeof(queries) / sizeof(queries[0]))
_Static_assert(QUERIES <= HQ_WIRE_PARTS, "each query is a part");

static bool is_chosen(const struct query_mix_options *chosen, const struct query_mix_query *query)
{
	return !strcmp(chosen->group, "all") || !strcmp(chosen->group, query->group);
}

static int query_mix_validate(const void *values, struct hq_error *error)
{
	const struct query_mix_options *const chosen = values;

	if (chosen->arrivals.kind != HQ_ARRIVALS_CLOSED && chosen->pause_ns != 0)
		return hq_error_set(error, "either a pause between queries, or arrivals at a rate");
	if (chosen->rows / chosen->threads < 100)
		return hq_error_set(error, "fewer than 100 rows a thread");
	for (size_t i = 0; i < QUERIES; i++) {
		if (is_chosen(chosen, &queries[i]))
			return hq_arrivals_validate(&chosen->arrivals, error);
	}
	return hq_error_set(error, "no query is of the group '%s'; one is '%s'", chosen->group,
			    queries[0].group);
}

static uint32_t query_mix_threads(const void *values)
{
	return (uint32_t)((const struct query_mix_options *)values)->threads;
}

static int query_mix_prepare(struct hq_work *work)
{
	struct query_mix_shared *const shared = hq_host_map(sizeof(*shared));
	struct query_mix *const threads = hq_host_map(work->thread_count * sizeof(*threads));

	if (shared == NULL || threads == NULL)
		return -ENOMEM;
	shared->thread_count = work->thread_count;
	hq_arrivals_start(&shared->arrivals,
			  &((const struct query_mix_options *)work->options)->arrivals, work->seed,
			  0);
	for (uint32_t i = 0; i < work->thread_count; i++)
		threads[i] = (struct query_mix){
			.options = work->options, .shared = shared, .seed = work->seed, .thread = i
		};
	work->shared = threads;
	return 0;
}

/* ---- the table ---- */

static uint64_t text_length(uint64_t hash)
{
	return QUERY_MIX_TEXT_MIN + hash % (QUERY_MIX_TEXT_MAX - QUERY_MIX_TEXT_MIN + 1);
}

/* Half of the texts come often, as words do. */
static uint64_t text_hash(const struct query_mix *self, uint64_t row)
{
	const uint64_t id = self->ids[row];

	return query_mix_hash(self->seed ^ (id % 2 ? id : id % 5000));
}

static void write_texts(struct query_mix *self)
{
	uint64_t at = 0;

	for (uint64_t row = 0; row < self->rows; row++) {
		const uint64_t hash = text_hash(self, row), length = text_length(hash);

		self->offsets[row] = (uint32_t)at;
		for (uint64_t i = 0; i < length; i++)
			self->texts[at++] = (char)('a' + (hash >> i % 40) % 26);
	}
	self->offsets[self->rows] = (uint32_t)at;
}

/* Columns of a thread's rows. False: refused, what there is is released at the end. */
static bool load(struct query_mix *self)
{
	self->rows = self->options->rows / self->options->threads;
	self->ids = hq_heap_alloc(self->heap, self->rows * sizeof(*self->ids));
	self->values = hq_heap_alloc(self->heap, self->rows * sizeof(*self->values));
	self->offsets = hq_heap_alloc(self->heap, (self->rows + 1) * sizeof(*self->offsets));
	if (self->options->resident != 0)
		self->resident = hq_heap_alloc(self->heap, self->options->resident);
	if (self->ids == NULL || self->values == NULL || self->offsets == NULL ||
	    (self->options->resident != 0 && self->resident == NULL))
		return false;
	if (self->resident != NULL)
		memset(self->resident, 1, self->options->resident);
	for (uint64_t row = 0; row < self->rows; row++) {
		self->ids[row] = self->thread * self->rows + row;
		self->values[row] = (double)(query_mix_hash(self->ids[row] ^ self->seed) % 1000000);
		self->text_bytes += text_length(text_hash(self, row));
	}
	self->texts = hq_heap_alloc(self->heap, self->text_bytes);
	if (self->texts != NULL)
		write_texts(self);
	return self->texts != NULL;
}

/* ---- threads that meet ---- */

/* Until all have come. False: the run ends. */
static bool meet(struct query_mix *self)
{
	struct query_mix_shared *const shared = self->shared;
	const uint32_t turn = hq_load_acquire(&shared->turn);

	if (hq_fetch_add_acq_rel(&shared->arrived, 1) + 1 == shared->thread_count) {
		hq_store_relaxed(&shared->arrived, 0);
		/* Pairs with the acquire below: what was left by all is seen by all. */
		hq_store_release(&shared->turn, turn + 1);
		return true;
	}
	while (hq_load_acquire(&shared->turn) == turn) {
		if (hq_host_stopping())
			return false;
		hq_host_sleep_ns(WAIT_NS);
		hq_heap_alive(self->heap);
	}
	return true;
}

/* ---- queries ---- */

/* Thread 0, when all have done their part. */
static void conclude(struct query_mix *self, size_t index)
{
	struct query_mix_share result = { .sum = 0 };
	uint64_t *const known = &self->shared->answers[index];

	for (uint32_t i = 0; i < self->shared->thread_count; i++) {
		result.sum += self->shared->shares[i].sum;
		result.refused = result.refused || self->shared->shares[i].refused;
	}
	if (!result.refused && queries[index].join != NULL)
		result.refused = !queries[index].join(self, &queries[index], &result);
	for (uint32_t i = 0; i < self->shared->thread_count; i++)
		query_mix_drop(self, &self->shared->shares[i].vector);
	if (result.refused) {
		hq_heap_missed(self->heap);
		return;
	}
	result.sum += result.sum == 0;
	if (*known != 0 && *known != result.sum)
		hq_heap_wrong_data(self->heap, known, *known, result.sum);
	*known = result.sum;
}

/* False: the run ends. */
static bool answer(struct query_mix *self, size_t index)
{
	struct query_mix_share *const share = &self->shared->shares[self->thread];

	if (self->thread == 0)
		self->shared->due_ns = hq_arrivals_await(&self->shared->arrivals, self->heap);
	if (!meet(self))
		return false;
	/* Not before: thread 0 may have been busy with what was left of the last query. */
	*share = (struct query_mix_share){ .sum = 0 };
	hq_heap_part_begin(self->heap);
	hq_arrivals_begin_due(self->heap, self->shared->due_ns);
	share->refused = !queries[index].part(self, &queries[index], share);
	bool going = meet(self);

	if (going && self->thread == 0)
		conclude(self, index);
	hq_heap_op_end(self->heap);
	hq_heap_part_end(self->heap, (uint32_t)index);
	return going;
}

static void pause_between(const struct query_mix *self)
{
	for (uint64_t left = self->options->pause_ns; left > 0 && !hq_host_stopping();) {
		const uint64_t slice = left < PAUSE_NS ? left : PAUSE_NS;

		hq_host_sleep_ns(slice);
		hq_heap_alive(self->heap);
		left -= slice;
	}
}

static void query_mix_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct query_mix *const self = &((struct query_mix *)work->shared)[thread];
	const uint64_t rounds = self->options->rounds;

	self->heap = heap;
	self->shared->shares[thread].refused = !load(self);
	if (!meet(self))
		return;
	for (uint32_t i = 0; i < self->shared->thread_count; i++) {
		if (self->shared->shares[i].refused) {
			hq_heap_missed(heap);
			return;
		}
	}
	for (uint64_t i = 0; i < rounds * QUERIES; i++) {
		if (!is_chosen(self->options, &queries[i % QUERIES]))
			continue;
		if (!answer(self, i % QUERIES))
			return;
		pause_between(self);
	}
}

static void query_mix_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct query_mix *const self = &((struct query_mix *)work->shared)[thread];

	hq_heap_free(heap, self->ids, self->rows * sizeof(*self->ids));
	hq_heap_free(heap, self->values, self->rows * sizeof(*self->values));
	hq_heap_free(heap, self->offsets, (self->rows + 1) * sizeof(*self->offsets));
	hq_heap_free(heap, self->texts, self->text_bytes);
	hq_heap_free(heap, self->resident, self->options->resident);
	query_mix_drop(self, &self->shared->shares[thread].vector);
}

const struct hq_workload hq_workload_query_mix = {
	.name = "query-mix",
	.help = "analytical queries one after another, each timed: aggregation, joins, sorting, "
		"texts",
	.options = options,
	.options_size = sizeof(struct query_mix_options),
	.validate = query_mix_validate,
	.threads = query_mix_threads,
	.prepare = query_mix_prepare,
	.run = query_mix_run,
	.release = query_mix_release,
	.parts = parts,
};
