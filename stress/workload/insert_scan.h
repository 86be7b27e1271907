/* SPDX-License-Identifier: MIT */
/*
 * The workload insert-scan from the inside. Nouns:
 *
 *   field     one stamped allocation of random size
 *   row       key and fields; one allocation, sealed
 *   node      a row's place in the index (a skip list); one allocation, sealed
 *   memtable  the index of up to `budget` bytes of one client's rows; its head is the host's memory
 *   block     256 KiB of encoded rows, made by a flusher and kept for a while
 *
 * A client fills memtables 0, 1, 2 ... and freezes each when it is full; memtable n lives in slot
 * n % INSERT_SCAN_SLOTS of its client until a flusher has encoded it and freed its rows. A scanner
 * may read a frozen memtable meanwhile; the flusher waits for it before it frees.
 *
 * Flushers and scanners take memtables in the order of (number, client), never in the order of
 * arrival: what they ask the allocator for then does not depend on who was faster. It also rules
 * out circular waits: of all memtables not yet frozen take the first in that order; its client can
 * only wait for an older memtable of its own, which comes earlier in the order, and of which nobody
 * waits for a memtable that is not yet frozen.
 *
 * Who writes what: a client its table until it freezes it (`frozen`, release), a scanner only
 * `scanned`, the flusher everything else from then until `flushed` (release), then the client
 * again. Whoever finds damage sets `broken`.
 */
#ifndef HQ_STRESS_WORKLOAD_INSERT_SCAN_H
#define HQ_STRESS_WORKLOAD_INSERT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "injectors/option.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

#define INSERT_SCAN_SLOTS       3u
#define INSERT_SCAN_HEIGHT      12u
#define INSERT_SCAN_FIELDS      64u
#define INSERT_SCAN_BLOCK_BYTES (256u * 1024u)
#define INSERT_SCAN_BLOCKS      4096u /* that a flusher can keep */

struct insert_scan_options {
	uint64_t threads;
	uint64_t flushers;
	uint64_t scanners;
	uint64_t rows;
	uint64_t batch;
	uint64_t fields_min;
	uint64_t fields_max;
	struct hq_sizes value;
	uint64_t budget;
	double scan_share;
	uint64_t passes;
	double cross;
	uint64_t cache;
};

struct insert_scan_row {
	uint64_t key;
	uint64_t bytes; /* of all fields */
	uint64_t seal;
	uint64_t field_count;
	struct hq_block fields[];
};

struct insert_scan_node {
	uint64_t key;
	struct insert_scan_row *row;
	uint64_t seal;
	uint64_t height;
	struct insert_scan_node *next[];
};

struct insert_scan_table {
	struct insert_scan_node *head[INSERT_SCAN_HEIGHT];
	uint64_t number;
	uint64_t rows;                     /* inserted */
	uint64_t bytes;                    /* drawn, whether they could be allocated or not */
	struct insert_scan_node *leftover; /* rows that the client frees itself */
	_Atomic uint32_t scanned;          /* 1: no scanner reads it, or will */
	_Atomic uint32_t broken; /* 1: damage was reported; what lies behind it is given up */
};

struct insert_scan_client {
	struct insert_scan_table slots[INSERT_SCAN_SLOTS];
	_Atomic uint64_t frozen;  /* memtables 0 .. frozen - 1 are; the client writes it */
	_Atomic uint64_t flushed; /* 0 .. flushed - 1 are; the flusher writes it */
	_Atomic uint32_t done;    /* the client freezes no more; number `frozen` stays as it is */
	uint32_t reserved;
};

/* A block's memory and what must be in it. */
struct insert_scan_block {
	uint8_t *memory;
	uint64_t used;
	uint64_t checksum;
};

struct insert_scan_flusher {
	struct insert_scan_block blocks[INSERT_SCAN_BLOCKS]; /* oldest first */
	uint64_t count;
	_Atomic uint32_t done;
	uint32_t reserved;
};

struct insert_scan_shared {
	struct insert_scan_client *clients;
	struct insert_scan_flusher *flushers;
};

/* One thread's view. */
struct insert_scan {
	const struct insert_scan_options *options;
	struct insert_scan_shared *shared;
	struct hq_heap *heap;
	uint64_t seed;
	uint32_t index; /* within its role */
	uint32_t reserved;
};

/* Streams of random numbers. */
enum insert_scan_purpose {
	INSERT_SCAN_ROWS,
	INSERT_SCAN_CHOICE,
};

/* ---- insert_scan_table.c: rows and the index ---- */

/* What a row will be, drawn whole before anything is allocated. */
struct insert_scan_shape {
	uint64_t key;
	uint64_t bytes;
	uint64_t field_count;
	uint64_t height;
	uint64_t sizes[INSERT_SCAN_FIELDS];
};

/* Makes the row and enters it. False: refused, nothing is left. */
bool insert_scan_insert(struct insert_scan *self, struct insert_scan_table *table,
			const struct insert_scan_shape *shape);

/*
 * The row after `node` (NULL: the first) in key order. NULL at the end, or where damage makes going
 * on unsafe; that is reported once and the table counts as broken.
 */
struct insert_scan_node *insert_scan_next(struct insert_scan *self, struct insert_scan_table *table,
					  const struct insert_scan_node *node);

/* True if the row is what was inserted; reports it otherwise. Its fields are not looked at. */
bool insert_scan_row_is_whole(struct insert_scan *self, const struct insert_scan_node *node);

/* Reports a table in which `seen` rows were met instead of all of them. */
void insert_scan_expect_rows(struct insert_scan *self, const struct insert_scan_table *table,
			     uint64_t seen);

/* Frees a row with its fields and its node, verifying all of it. */
void insert_scan_free_node(struct insert_scan *self, struct insert_scan_node *node);

/*
 * Frees the rows for which `mine` is true, all if it is NULL, and keeps the others as leftovers, in
 * key order. The index is gone afterwards.
 */
void insert_scan_clear(struct insert_scan *self, struct insert_scan_table *table,
		       bool (*mine)(const struct insert_scan *self, uint64_t key));
void insert_scan_free_leftover(struct insert_scan *self, struct insert_scan_table *table);

/* A checksum that depends on every byte and its place. */
uint64_t insert_scan_checksum(uint64_t sum, const void *memory, uint64_t size);

/* ---- the roles ---- */

void insert_scan_client_run(struct insert_scan *self);
void insert_scan_client_release(struct insert_scan *self);
void insert_scan_flusher_run(struct insert_scan *self);
void insert_scan_flusher_release(struct insert_scan *self);
void insert_scan_scanner_run(struct insert_scan *self);

/* Verifies a block's content. */
void insert_scan_verify_block(struct insert_scan *self, const struct insert_scan_block *block);

/* Is the memtable scanned while others insert? Depends on the seed alone. */
bool insert_scan_is_chosen(const struct insert_scan *self, uint32_t client, uint64_t number);

/* Which scanner would read it. */
uint32_t insert_scan_scanner_of(const struct insert_scan *self, uint32_t client, uint64_t number);

enum insert_scan_await { INSERT_SCAN_FROZEN, INSERT_SCAN_NEVER, INSERT_SCAN_STOPPED };

/* Waits until the client's memtable is frozen, will never be, or the run is to stop. */
enum insert_scan_await insert_scan_await_frozen(struct insert_scan *self, uint32_t client,
						uint64_t number);

/* A short wait for other threads. False: the run is to stop. */
bool insert_scan_wait(void);

#endif
