/* SPDX-License-Identifier: MIT */
/*
 * Statistics of insert-scan, row by row or once a batch; insert_scan_statistics.h says what they
 * are. The trace is a list of chunks, of a single entry each where rows come one by one: whoever
 * appends to it unlinks the oldest ones beyond the bound, and frees them when the lock is free.
 */
#include "stress/workload/insert_scan_statistics.h"

#include <string.h>

#include "stress/workload/insert_scan.h"

static uint64_t magnitude(uint32_t value)
{
	return value == 0 ? 0 : 32 - (uint64_t)__builtin_clz(value);
}

static struct insert_scan_trace_entry entry_of(const struct insert_scan *self,
					       const struct insert_scan_row *row)
{
	return (struct insert_scan_trace_entry){ .key = row->key,
						 .bytes = row->bytes,
						 .client = self->index };
}

/* ---- the trace ---- */

static uint64_t chunk_size(uint64_t count)
{
	return sizeof(struct insert_scan_trace_chunk) +
	       count * sizeof(struct insert_scan_trace_entry);
}

static void free_chunks(struct insert_scan *self, struct insert_scan_trace_chunk *first)
{
	while (first != NULL) {
		struct insert_scan_trace_chunk *const newer = first->newer;

		hq_heap_free(self->heap, first, chunk_size(first->count));
		first = newer;
	}
}

/* Under the lock. The chunks beyond the bound, oldest first; the newest one is never among them. */
static struct insert_scan_trace_chunk *unlink_oldest(struct insert_scan_statistics *statistics)
{
	struct insert_scan_trace_chunk *const first = statistics->oldest;
	struct insert_scan_trace_chunk *last = NULL;

	while (statistics->traced > INSERT_SCAN_TRACED) {
		last = statistics->oldest;
		statistics->oldest = last->newer;
		statistics->traced -= last->count;
		statistics->forgotten += last->count;
	}
	if (last == NULL)
		return NULL;
	last->newer = NULL;
	return first;
}

static void append_chunk(struct insert_scan *self, struct insert_scan_trace_chunk *chunk)
{
	struct insert_scan_statistics *const statistics = &self->shared->statistics;
	struct insert_scan_trace_chunk *forgotten;

	pthread_mutex_lock(&statistics->lock);
	if (statistics->oldest == NULL)
		statistics->oldest = chunk;
	else
		statistics->newest->newer = chunk;
	statistics->newest = chunk;
	statistics->traced += chunk->count;
	forgotten = unlink_oldest(statistics);
	pthread_mutex_unlock(&statistics->lock);
	free_chunks(self, forgotten);
}

static void trace(struct insert_scan *self, const struct insert_scan_trace_entry *entries,
		  uint64_t count)
{
	struct insert_scan_trace_chunk *const chunk = hq_heap_alloc(self->heap, chunk_size(count));

	if (chunk == NULL) {
		hq_fetch_add_relaxed(&self->shared->statistics.lost, count);
		hq_heap_missed(self->heap);
		return;
	}
	chunk->newer = NULL;
	chunk->count = count;
	memcpy(chunk->entries, entries, count * sizeof(entries[0]));
	append_chunk(self, chunk);
}

/* ---- row by row ---- */

static void add_shared(struct insert_scan *self, const struct insert_scan_row *row)
{
	struct insert_scan_statistics *const statistics = &self->shared->statistics;
	const struct insert_scan_trace_entry entry = entry_of(self, row);

	hq_fetch_add_relaxed(&statistics->rows, 1);
	hq_fetch_add_relaxed(&statistics->bytes, row->bytes);
	hq_fetch_add_relaxed(&statistics->row_sizes[magnitude(row->bytes)], 1);
	for (uint64_t i = 0; i < self->options->columns; i++)
		hq_fetch_add_relaxed(&statistics->value_sizes[magnitude(row->lengths[i])], 1);
	trace(self, &entry, 1);
}

/* ---- once a batch ---- */

static void start_over(struct insert_scan_gathered *gathered, uint64_t room)
{
	memset(gathered, 0, sizeof(*gathered));
	gathered->room = room;
}

static void submit_sizes(_Atomic uint64_t *shared, const uint64_t *gathered)
{
	for (uint32_t i = 0; i < INSERT_SCAN_MAGNITUDES; i++) {
		if (gathered[i] != 0)
			hq_fetch_add_relaxed(&shared[i], gathered[i]);
	}
}

static void submit(struct insert_scan *self, struct insert_scan_gathered *gathered)
{
	struct insert_scan_statistics *const statistics = &self->shared->statistics;

	if (gathered->rows == 0)
		return;
	hq_fetch_add_relaxed(&statistics->rows, gathered->rows);
	hq_fetch_add_relaxed(&statistics->bytes, gathered->bytes);
	submit_sizes(statistics->row_sizes, gathered->row_sizes);
	submit_sizes(statistics->value_sizes, gathered->value_sizes);
	trace(self, gathered->entries, gathered->rows);
}

static void gather(const struct insert_scan *self, struct insert_scan_gathered *gathered,
		   const struct insert_scan_row *row)
{
	gathered->entries[gathered->rows++] = entry_of(self, row);
	gathered->bytes += row->bytes;
	gathered->row_sizes[magnitude(row->bytes)]++;
	for (uint64_t i = 0; i < self->options->columns; i++)
		gathered->value_sizes[magnitude(row->lengths[i])]++;
}

struct insert_scan_gathered *insert_scan_statistics_begin(struct insert_scan *self,
							  struct insert_scan_arena *arena,
							  uint64_t rows)
{
	const uint64_t room = rows < INSERT_SCAN_TRACED ? rows : INSERT_SCAN_TRACED;
	struct insert_scan_gathered *gathered;

	if (self->options->statistics != INSERT_SCAN_STATISTICS_BATCH)
		return NULL;
	gathered = insert_scan_take(
		self, arena, sizeof(*gathered) + room * sizeof(struct insert_scan_trace_entry));
	if (gathered != NULL)
		start_over(gathered, room);
	return gathered;
}

void insert_scan_statistics_add(struct insert_scan *self, struct insert_scan_gathered *gathered,
				const struct insert_scan_row *row)
{
	if (self->options->statistics == INSERT_SCAN_STATISTICS_OFF)
		return;
	if (gathered == NULL) {
		add_shared(self, row);
		return;
	}
	/* A batch larger than the trace is submitted in pieces. */
	if (gathered->rows == gathered->room) {
		submit(self, gathered);
		start_over(gathered, gathered->room);
	}
	gather(self, gathered, row);
}

void insert_scan_statistics_end(struct insert_scan *self, struct insert_scan_gathered *gathered)
{
	if (gathered != NULL)
		submit(self, gathered);
}

static void expect_total(struct insert_scan *self, uint64_t total)
{
	const uint64_t rows = hq_load_relaxed(&self->shared->tally.rows);

	if (total != rows)
		hq_heap_wrong_data(self->heap, &self->shared->statistics, rows, total);
}

static void expect_totals(struct insert_scan *self)
{
	struct insert_scan_statistics *const statistics = &self->shared->statistics;
	uint64_t sized = 0;

	for (uint32_t i = 0; i < INSERT_SCAN_MAGNITUDES; i++)
		sized += hq_load_relaxed(&statistics->row_sizes[i]);
	expect_total(self, hq_load_relaxed(&statistics->rows));
	expect_total(self, sized);
	expect_total(self, statistics->traced + statistics->forgotten +
				   hq_load_relaxed(&statistics->lost));
}

void insert_scan_statistics_finish(struct insert_scan *self)
{
	struct insert_scan_statistics *const statistics = &self->shared->statistics;

	if (self->options->statistics != INSERT_SCAN_STATISTICS_OFF)
		expect_totals(self);
	free_chunks(self, statistics->oldest);
	statistics->oldest = NULL;
	statistics->newest = NULL;
}
