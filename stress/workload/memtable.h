/* SPDX-License-Identifier: MIT */
/*
 * The workload memtable from the inside. Nouns:
 *
 *   field     one stamped allocation of random size
 *   row       key and fields; one allocation, sealed
 *   node      a row's place in the index (a skip list); one allocation, sealed
 *   memtable  the index of up to `budget` bytes of one client's rows; its head is the host's memory
 *   block     256 KiB of encoded rows, made by a flusher and kept for a while
 *
 * A client fills memtables 0, 1, 2 ... and freezes each when it is full; memtable n lives in slot
 * n % MEMTABLE_SLOTS of its client until a flusher has encoded it and freed its rows. A scanner
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
#ifndef HQ_STRESS_WORKLOAD_MEMTABLE_H
#define HQ_STRESS_WORKLOAD_MEMTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "injectors/option.h"
#include "stress/workload/heap.h"
#include "stress/workload/workload.h"

#define MEMTABLE_SLOTS       3u
#define MEMTABLE_HEIGHT      12u
#define MEMTABLE_FIELDS      64u
#define MEMTABLE_BLOCK_BYTES (256u * 1024u)
#define MEMTABLE_BLOCKS      4096u /* that a flusher can keep */

struct memtable_options {
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

struct memtable_row {
	uint64_t key;
	uint64_t bytes; /* of all fields */
	uint64_t seal;
	uint64_t field_count;
	struct hq_block fields[];
};

struct memtable_node {
	uint64_t key;
	struct memtable_row *row;
	uint64_t seal;
	uint64_t height;
	struct memtable_node *next[];
};

struct memtable_table {
	struct memtable_node *head[MEMTABLE_HEIGHT];
	uint64_t number;
	uint64_t rows;                  /* inserted */
	uint64_t bytes;                 /* drawn, whether they could be allocated or not */
	struct memtable_node *leftover; /* rows that the client frees itself */
	_Atomic uint32_t scanned;       /* 1: no scanner reads it, or will */
	_Atomic uint32_t broken; /* 1: damage was reported; what lies behind it is given up */
};

struct memtable_client {
	struct memtable_table slots[MEMTABLE_SLOTS];
	_Atomic uint64_t frozen;  /* memtables 0 .. frozen - 1 are; the client writes it */
	_Atomic uint64_t flushed; /* 0 .. flushed - 1 are; the flusher writes it */
	_Atomic uint32_t done;    /* the client freezes no more; number `frozen` stays as it is */
	uint32_t reserved;
};

/* A block's memory and what must be in it. */
struct memtable_block {
	uint8_t *memory;
	uint64_t used;
	uint64_t checksum;
};

struct memtable_flusher {
	struct memtable_block blocks[MEMTABLE_BLOCKS]; /* oldest first */
	uint64_t count;
	_Atomic uint32_t done;
	uint32_t reserved;
};

struct memtable_shared {
	struct memtable_client *clients;
	struct memtable_flusher *flushers;
};

/* One thread's view. */
struct memtable {
	const struct memtable_options *options;
	struct memtable_shared *shared;
	struct hq_heap *heap;
	uint64_t seed;
	uint32_t index; /* within its role */
	uint32_t reserved;
};

/* Streams of random numbers. */
enum memtable_purpose {
	MEMTABLE_ROWS,
	MEMTABLE_CHOICE,
};

/* ---- memtable_table.c: rows and the index ---- */

/* What a row will be, drawn whole before anything is allocated. */
struct memtable_shape {
	uint64_t key;
	uint64_t bytes;
	uint64_t field_count;
	uint64_t height;
	uint64_t sizes[MEMTABLE_FIELDS];
};

/* Makes the row and enters it. False: refused, nothing is left. */
bool memtable_insert(struct memtable *self, struct memtable_table *table,
		     const struct memtable_shape *shape);

/*
 * The row after `node` (NULL: the first) in key order. NULL at the end, or where damage makes going
 * on unsafe; that is reported once and the table counts as broken.
 */
struct memtable_node *memtable_next(struct memtable *self, struct memtable_table *table,
				    const struct memtable_node *node);

/* True if the row is what was inserted; reports it otherwise. Its fields are not looked at. */
bool memtable_row_is_whole(struct memtable *self, const struct memtable_node *node);

/* Reports a table in which `seen` rows were met instead of all of them. */
void memtable_expect_rows(struct memtable *self, const struct memtable_table *table, uint64_t seen);

/* Frees a row with its fields and its node, verifying all of it. */
void memtable_free_node(struct memtable *self, struct memtable_node *node);

/*
 * Frees the rows for which `mine` is true, all if it is NULL, and keeps the others as leftovers, in
 * key order. The index is gone afterwards.
 */
void memtable_clear(struct memtable *self, struct memtable_table *table,
		    bool (*mine)(const struct memtable *self, uint64_t key));
void memtable_free_leftover(struct memtable *self, struct memtable_table *table);

/* A checksum that depends on every byte and its place. */
uint64_t memtable_checksum(uint64_t sum, const void *memory, uint64_t size);

/* ---- the roles ---- */

void memtable_client_run(struct memtable *self);
void memtable_client_release(struct memtable *self);
void memtable_flusher_run(struct memtable *self);
void memtable_flusher_release(struct memtable *self);
void memtable_scanner_run(struct memtable *self);

/* Verifies a block's content. */
void memtable_verify_block(struct memtable *self, const struct memtable_block *block);

/* Is the memtable scanned while others insert? Depends on the seed alone. */
bool memtable_is_chosen(const struct memtable *self, uint32_t client, uint64_t number);

/* Which scanner would read it. */
uint32_t memtable_scanner_of(const struct memtable *self, uint32_t client, uint64_t number);

enum memtable_await { MEMTABLE_FROZEN, MEMTABLE_NEVER, MEMTABLE_STOPPED };

/* Waits until the client's memtable is frozen, will never be, or the run is to stop. */
enum memtable_await memtable_await_frozen(struct memtable *self, uint32_t client, uint64_t number);

/* A short wait for other threads. False: the run is to stop. */
bool memtable_wait(void);

#endif
