/* SPDX-License-Identifier: MIT */
/*
 * What insert-scan counts about the rows that it acknowledges, as engines do: rows and bytes, how
 * large rows and values are, and a trace of the last rows. All clients share one set. Three forms:
 *
 *   off    nothing is counted
 *   row    each row is added to the shared counters, and its trace entry is allocated, by itself
 *   batch  rows are gathered in the arena of their batch, and submitted once, with one chunk of
 *          trace entries
 *
 * They differ in what they cost, never in the totals. A trace entry that the allocator refused is
 * counted as lost.
 */
#ifndef HQ_STRESS_WORKLOAD_INSERT_SCAN_STATISTICS_H
#define HQ_STRESS_WORKLOAD_INSERT_SCAN_STATISTICS_H

#include <pthread.h>
#include <stdint.h>

#define INSERT_SCAN_TRACED     4096u /* entries that the trace holds at most */
#define INSERT_SCAN_MAGNITUDES 33u   /* 0, 1, 2..3, 4..7, ... 2^31..2^32-1 */

struct insert_scan;
struct insert_scan_arena;
struct insert_scan_row;

enum insert_scan_statistics_form {
	INSERT_SCAN_STATISTICS_OFF,
	INSERT_SCAN_STATISTICS_ROW,
	INSERT_SCAN_STATISTICS_BATCH,
};

struct insert_scan_trace_entry {
	uint64_t key;
	uint32_t bytes, client;
};

struct insert_scan_trace_chunk {
	struct insert_scan_trace_chunk *newer;
	uint64_t count;
	struct insert_scan_trace_entry entries[];
};

/*
 * Once all clients are done: rows == traced + forgotten + lost == all of row_sizes, and
 * traced <= INSERT_SCAN_TRACED at any time.
 */
struct insert_scan_statistics {
	_Atomic uint64_t rows, bytes;
	_Atomic uint64_t row_sizes[INSERT_SCAN_MAGNITUDES];
	_Atomic uint64_t value_sizes[INSERT_SCAN_MAGNITUDES];
	_Atomic uint64_t lost;
	pthread_mutex_t lock; /* of what follows */
	struct insert_scan_trace_chunk *oldest, *newest;
	uint64_t traced, forgotten;
};

/* The rows of one batch that were not submitted yet; in its arena. */
struct insert_scan_gathered {
	uint64_t rows, bytes;
	uint64_t row_sizes[INSERT_SCAN_MAGNITUDES];
	uint64_t value_sizes[INSERT_SCAN_MAGNITUDES];
	uint64_t room;
	struct insert_scan_trace_entry entries[];
};

/* NULL: rows are not gathered, for want of memory or because the form is another one. */
struct insert_scan_gathered *insert_scan_statistics_begin(struct insert_scan *self,
							  struct insert_scan_arena *arena,
							  uint64_t rows);
/* Without a place to gather it in, a row is added at once. */
void insert_scan_statistics_add(struct insert_scan *self, struct insert_scan_gathered *gathered,
				const struct insert_scan_row *row);
void insert_scan_statistics_end(struct insert_scan *self, struct insert_scan_gathered *gathered);
/* After all clients: reports totals that are not those of the rows, and frees the trace. */
void insert_scan_statistics_finish(struct insert_scan *self);

#endif
