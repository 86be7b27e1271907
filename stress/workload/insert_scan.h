/* SPDX-License-Identifier: MIT */
/*
 * The workload insert-scan from the inside: a small storage engine. Nouns:
 *
 *   row       key, version and values; what is in a value follows from key, column and version
 *   arena     chunks of growing size that are filled from the front and freed together
 *   memtable  rows of all clients in key order (a skip list without locks); each client fills it
 *             from an arena and writes a log of its own
 *   block     some KiB of rows, column by column, with a checksum
 *   rowset    the blocks that came from one memtable or one compaction, with a bloom filter
 *   delta     the newest value of an updated row, until a compaction writes it into its row
 *   view      what a reader sees: memtables and rowsets that stay as long as it holds them
 *
 * Clients fill memtables 0, 1, 2 ...; each leaves one when its own share of the budget is used up,
 * so what lies in a memtable does not depend on who was faster. When all have left it flusher
 * number % flushers writes it to a rowset; every `fan` rowsets are merged into one. A key is in one
 * rowset or memtable at any time: a view is taken, and changed, under one lock.
 *
 * What clients and flushers ask the allocator for depends on the seed, as long as no block is read
 * through the cache; who fills the cache, and frees what falls out of it, is a matter of time.
 *
 * Refusals: what cannot be had is given up and counted as missed. A row that was acknowledged and
 * could not be flushed is counted in `given_up`; all others must be found by the scans at the end.
 */
#ifndef HQ_STRESS_WORKLOAD_INSERT_SCAN_H
#define HQ_STRESS_WORKLOAD_INSERT_SCAN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "injectors/option.h"
#include "stress/workload/heap.h"
#include "stress/workload/insert_scan_statistics.h"
#include "stress/workload/workload.h"

#define INSERT_SCAN_SLOTS   4u
#define INSERT_SCAN_HEIGHT  12u
#define INSERT_SCAN_COLUMNS 16u /* of values */
#define INSERT_SCAN_CLIENTS 62u
#define INSERT_SCAN_FAN     16u
#define INSERT_SCAN_ROWSETS 4096u
#define INSERT_SCAN_SHARDS  16u
#define INSERT_SCAN_BUCKETS 256u
#define INSERT_SCAN_NO_ROW  UINT32_MAX

enum insert_scan_end { INSERT_SCAN_END_SCANS, INSERT_SCAN_END_INSERTS };
enum insert_scan_storage { INSERT_SCAN_IN_MEMORY, INSERT_SCAN_IN_FILE };
enum insert_scan_sync { INSERT_SCAN_SYNC_NONE, INSERT_SCAN_SYNC_FLUSH, INSERT_SCAN_SYNC_LOG };

struct insert_scan_options {
	uint64_t threads, flushers, scanners;
	uint64_t rows, batch, columns;
	struct hq_sizes value;
	uint64_t budget, block, cache;
	uint64_t fan, bloom_bits;
	double updates, lookups, scan_share;
	uint64_t passes, lose;
	uint32_t end, storage, sync, statistics;
};

/* Values follow each other behind the lengths. */
struct insert_scan_row {
	uint64_t key;
	uint32_t version;
	uint32_t bytes; /* of lengths and values */
	uint32_t lengths[];
};

struct insert_scan_value {
	const uint8_t *memory;
	uint64_t length;
};

struct insert_scan_vector {
	uint8_t *data;
	uint64_t used, room;
};

struct insert_scan_chunk;

struct insert_scan_arena {
	struct insert_scan_chunk *first;
	uint64_t bytes; /* taken from it */
};

struct insert_scan_node {
	uint64_t key, height, seal;
	struct insert_scan_row *row;
	_Atomic(struct insert_scan_node *) next[];
};

struct insert_scan_log {
	struct insert_scan_vector entries;
	uint64_t checksum, rows;
};

/* What one client has in a memtable. */
struct insert_scan_part {
	struct insert_scan_arena arena;
	struct insert_scan_log log;
	uint64_t rows, refused, bytes; /* bytes: drawn, whether they could be had or not */
};

struct insert_scan_memtable {
	_Atomic(struct insert_scan_node *) head[INSERT_SCAN_HEIGHT];
	_Atomic uint64_t number;
	_Atomic uint64_t readers;
	bool hidden; /* under the lock: it is a rowset by now */
	struct insert_scan_part parts[INSERT_SCAN_CLIENTS];
};

struct insert_scan_block {
	uint64_t checksum; /* of all that follows */
	uint64_t bytes;    /* of all of it */
	uint32_t rows, columns;
	uint32_t offsets[INSERT_SCAN_COLUMNS + 2]; /* keys, then values; the last is the end */
	uint8_t data[];
};

/* Where a block is. */
struct insert_scan_place {
	uint64_t first, last; /* keys */
	uint64_t bytes, offset;
	struct insert_scan_block *memory; /* NULL: at the offset of the file */
};

struct insert_scan_rowset {
	uint64_t id, number; /* number: of its memtable, UINT64_MAX after a compaction */
	uint64_t rows, bytes;
	struct insert_scan_vector places; /* struct insert_scan_place */
	uint64_t *bloom;                  /* NULL: none */
	uint64_t bloom_words;
	_Atomic uint64_t holders;
};

struct insert_scan_cursor {
	const struct insert_scan_block *block;
	const uint8_t *at[INSERT_SCAN_COLUMNS + 1];
	uint32_t row; /* the next one */
	uint32_t version;
	uint64_t key;
	struct insert_scan_value values[INSERT_SCAN_COLUMNS];
};

struct insert_scan_delta {
	struct insert_scan_delta *next;
	uint64_t key;
	uint32_t version;
	uint32_t length;
	uint8_t value[];
};

struct insert_scan_delta_shard {
	pthread_mutex_t lock;
	_Atomic uint64_t count;
	struct insert_scan_delta *buckets[INSERT_SCAN_BUCKETS];
};

struct insert_scan_cached {
	struct insert_scan_cached *chain, *newer, *older;
	uint64_t rowset, index, size;
	uint64_t pins; /* the table's own as well; 0: whoever sees it frees it */
	struct insert_scan_block block;
};

struct insert_scan_cache_shard {
	pthread_mutex_t lock;
	uint64_t bytes;
	struct insert_scan_cached *newest, *oldest;
	struct insert_scan_cached *buckets[INSERT_SCAN_BUCKETS];
};

struct insert_scan_client {
	_Atomic uint64_t opened, left; /* memtables; left is UINT64_MAX at the end */
	uint64_t rows, sum;            /* acknowledged; read by others after the end */
	uint32_t *versions;            /* of its rows, INSERT_SCAN_NO_ROW where it was refused */
	int log_file;                  /* -1: none */
	uint32_t reserved;
};

struct insert_scan_tally {
	_Atomic uint64_t rows, scanned, updated, looked_up, given_up;
	_Atomic uint64_t bytes_flushed, bytes_compacted, compactions;
	_Atomic uint64_t cache_hits, cache_misses, bloom_denials;
};

struct insert_scan_shared {
	struct insert_scan_memtable *slots;
	struct insert_scan_client clients[INSERT_SCAN_CLIENTS];
	pthread_mutex_t lock; /* of the list of rowsets and of `hidden` */
	struct insert_scan_rowset *rowsets[INSERT_SCAN_ROWSETS];
	_Atomic uint64_t rowset_count, next_id, file_end;
	struct insert_scan_delta_shard deltas[INSERT_SCAN_SHARDS];
	struct insert_scan_cache_shard cache[INSERT_SCAN_SHARDS];
	_Atomic uint32_t flushers_done;
	int file; /* -1: blocks stay in memory */
	struct insert_scan_tally tally;
	struct insert_scan_statistics statistics;
};

/* One thread's view. */
struct insert_scan {
	const struct insert_scan_options *options;
	struct insert_scan_shared *shared;
	struct hq_heap *heap;
	uint64_t seed;
	uint32_t index; /* within its role */
	uint32_t thread;
};

struct insert_scan_view {
	struct insert_scan_memtable *tables[INSERT_SCAN_SLOTS];
	uint64_t table_count;
	struct insert_scan_rowset **rowsets;
	uint64_t rowset_count, room;
};

enum insert_scan_purpose { INSERT_SCAN_ROWS, INSERT_SCAN_CHOICE, INSERT_SCAN_QUESTIONS };

/* ---- insert_scan_memory.c: vectors, arenas, and what is in a value ---- */

bool insert_scan_append(struct insert_scan *self, struct insert_scan_vector *vector,
			const void *data, uint64_t bytes);
void insert_scan_drop(struct insert_scan *self, struct insert_scan_vector *vector);
/* NULL: refused. Aligned to 8. */
void *insert_scan_take(struct insert_scan *self, struct insert_scan_arena *arena, uint64_t bytes);
void insert_scan_arena_drop(struct insert_scan *self, struct insert_scan_arena *arena);

uint64_t insert_scan_mix(uint64_t value);
uint64_t insert_scan_checksum(const void *memory, uint64_t bytes);
/* What a row adds to the sum over all rows. */
uint64_t insert_scan_row_sum(uint64_t key, uint32_t version);
uint64_t insert_scan_key(uint32_t client, uint64_t row);
/* Only column 0 is ever updated. */
void insert_scan_fill(uint8_t *memory, uint64_t length, uint64_t key, uint64_t column,
		      uint32_t version);
/* Reports a value that is not what was filled in. */
void insert_scan_expect_value(struct insert_scan *self, const struct insert_scan_value *value,
			      uint64_t key, uint64_t column, uint32_t version);

static inline uint64_t insert_scan_row_size(const struct insert_scan_row *row)
{
	return (sizeof(*row) + row->bytes + 7) & ~7ull;
}

/* Where its values are. */
void insert_scan_row_values(const struct insert_scan_row *row, uint64_t columns,
			    struct insert_scan_value *values);

/* ---- insert_scan_memtable.c ---- */

bool insert_scan_memtable_insert(struct insert_scan *self, struct insert_scan_memtable *table,
				 const struct insert_scan_row *row);
/* The node after `node` (NULL: the first). NULL at the end, or where damage was reported. */
struct insert_scan_node *insert_scan_memtable_next(struct insert_scan *self,
						   struct insert_scan_memtable *table,
						   struct insert_scan_node *node);
/* The last node before the key, NULL if there is none: next of it is where the key may be. */
struct insert_scan_node *insert_scan_memtable_before(struct insert_scan *self,
						     struct insert_scan_memtable *table,
						     uint64_t key);
void insert_scan_memtable_drop_part(struct insert_scan *self, struct insert_scan_memtable *table,
				    uint32_t client);

/* ---- insert_scan_file.c ---- */

/* 0 or -errno. */
int insert_scan_file_open(int *file);
/* False: not all of it; that was told. */
bool insert_scan_file_write(int file, const void *from, uint64_t bytes, uint64_t offset);
bool insert_scan_file_read(int file, void *to, uint64_t bytes, uint64_t offset);
void insert_scan_file_sync(int file);

/* ---- insert_scan_log.c ---- */

/* False: refused, and nothing was logged. */
bool insert_scan_log_append(struct insert_scan *self, struct insert_scan_log *log,
			    const struct insert_scan_vector *request, uint64_t rows);
/* Reads the log again and reports one that is damaged or short of rows; then frees it. */
void insert_scan_log_retire(struct insert_scan *self, struct insert_scan_log *log, uint64_t rows);

/* ---- insert_scan_block.c ---- */

struct insert_scan_builder {
	struct insert_scan_vector columns[INSERT_SCAN_COLUMNS + 1];
	uint64_t column_count, first, last, sum, bytes;
	uint32_t rows;
	bool refused;
};

/* Rows come in key order. One that is refused spoils the block; it still counts. */
void insert_scan_builder_add(struct insert_scan *self, struct insert_scan_builder *builder,
			     uint64_t key, uint32_t version,
			     const struct insert_scan_value *values);
/* NULL: refused. The builder is empty afterwards, and keeps its memory. */
struct insert_scan_block *insert_scan_builder_finish(struct insert_scan *self,
						     struct insert_scan_builder *builder);
void insert_scan_builder_drop(struct insert_scan *self, struct insert_scan_builder *builder);
bool insert_scan_block_is_whole(const struct insert_scan_block *block, uint64_t bytes);
void insert_scan_cursor_start(struct insert_scan_cursor *cursor,
			      const struct insert_scan_block *block);
/* False at the end. */
bool insert_scan_cursor_next(struct insert_scan_cursor *cursor);

/* ---- insert_scan_bloom.c ---- */

uint64_t insert_scan_bloom_words(uint64_t rows, uint64_t bits);
void insert_scan_bloom_add(uint64_t *bloom, uint64_t words, uint64_t key);
bool insert_scan_bloom_may_have(const uint64_t *bloom, uint64_t words, uint64_t key);

/* ---- insert_scan_rowset.c: rowsets, where they are kept, and who may see them ---- */

struct insert_scan_writer {
	struct insert_scan_builder builder;
	struct insert_scan_vector keys; /* for the bloom filter */
	struct insert_scan_rowset *rowset;
	uint64_t lost; /* rows of blocks that were refused */
};

/* False: refused. */
bool insert_scan_writer_start(struct insert_scan *self, struct insert_scan_writer *writer,
			      uint64_t number);
void insert_scan_writer_add(struct insert_scan *self, struct insert_scan_writer *writer,
			    uint64_t key, uint32_t version, const struct insert_scan_value *values);
void insert_scan_writer_finish(struct insert_scan *self, struct insert_scan_writer *writer);
/* Copies the block to `to`. Damage is reported: false. */
bool insert_scan_place_read(struct insert_scan *self, const struct insert_scan_place *place,
			    struct insert_scan_block *to);
static inline const struct insert_scan_place *
insert_scan_places(const struct insert_scan_rowset *rowset)
{
	return (const struct insert_scan_place *)(const void *)rowset->places.data;
}
static inline uint64_t insert_scan_place_count(const struct insert_scan_rowset *rowset)
{
	return rowset->places.used / sizeof(struct insert_scan_place);
}
void insert_scan_rowset_release(struct insert_scan *self, struct insert_scan_rowset *rowset);
/* Puts `added` (NULL: none) where `count` others were, or where a memtable was. */
void insert_scan_publish(struct insert_scan *self, struct insert_scan_rowset *added,
			 struct insert_scan_rowset *const *gone, uint64_t count,
			 struct insert_scan_memtable *table);
/* False: refused. */
bool insert_scan_view_open(struct insert_scan *self, struct insert_scan_view *view);
void insert_scan_view_close(struct insert_scan *self, struct insert_scan_view *view);

/* ---- insert_scan_cache.c ---- */

/* NULL: refused, or damage, which is reported. */
struct insert_scan_cached *insert_scan_cache_get(struct insert_scan *self,
						 const struct insert_scan_rowset *rowset,
						 uint64_t index);
void insert_scan_cache_put(struct insert_scan *self, struct insert_scan_cached *cached);
void insert_scan_cache_clear(struct insert_scan *self);

/* ---- insert_scan_delta.c ---- */

/* False: refused, the older value stays. */
bool insert_scan_delta_set(struct insert_scan *self, uint64_t key, uint32_t version,
			   uint64_t length);
enum insert_scan_newer { INSERT_SCAN_NONE_NEWER, INSERT_SCAN_NEWER, INSERT_SCAN_REFUSED };
/* The value that is newer than that of the version, into `to`. */
enum insert_scan_newer insert_scan_delta_get(struct insert_scan *self, uint64_t key,
					     uint32_t *version, struct insert_scan_vector *to);
/* Drops it unless it is newer. */
void insert_scan_delta_applied(struct insert_scan *self, uint64_t key, uint32_t version);
void insert_scan_delta_clear(struct insert_scan *self);

/* ---- the roles ---- */

void insert_scan_client_run(struct insert_scan *self);
void insert_scan_flusher_run(struct insert_scan *self);
void insert_scan_compact(struct insert_scan *self, uint64_t first_number);
void insert_scan_scanner_run(struct insert_scan *self);
/* A row that was acknowledged must be there. False: it could not be looked for. */
bool insert_scan_look_up(struct insert_scan *self, uint64_t key);

enum insert_scan_await { INSERT_SCAN_DONE, INSERT_SCAN_NEVER, INSERT_SCAN_STOPPED };
/* Waits until the memtable is a rowset, will never be, or the run is to stop. */
enum insert_scan_await insert_scan_await_flushed(struct insert_scan *self, uint64_t number);
/* A short wait for other threads. False: the run is to stop. */
bool insert_scan_wait(void);
/* No client will open that memtable any more. */
bool insert_scan_is_beyond(struct insert_scan *self, uint64_t number);

#endif
