/* SPDX-License-Identifier: MIT */
/*
 * A scanner of memtable: reads rows in key order. Each row is decoded into a temporary buffer of
 * its own; buffers are freed in groups of 64, as a result set is handed to a client page by page.
 * It reads chosen memtables while others insert, and after the last insert, several times, what is
 * left: the last memtable of each client and the blocks that the flushers keep.
 */
#include "stress/workload/memtable.h"

#include <string.h>

#define GROUP        64u /* rows in one operation */
#define RESULT_BYTES (256u * 1024u)

/* A decoded row and what must be in it. */
struct decoded {
	uint8_t *memory;
	uint64_t size;
	uint64_t checksum;
};

struct scan {
	struct decoded group[GROUP];
	uint32_t count;
};

static void verify_fields(struct memtable *self, const struct memtable_row *row)
{
	for (uint64_t i = 0; i < row->field_count; i++)
		hq_block_verify(self->heap, &row->fields[i]);
}

/* False: refused. */
static bool decode(struct memtable *self, const struct memtable_row *row, struct decoded *decoded)
{
	uint64_t used = 0;

	*decoded = (struct decoded){ .memory = hq_heap_alloc(self->heap, row->bytes),
				     .size = row->bytes };
	if (decoded->memory == NULL)
		return false;
	for (uint64_t i = 0; i < row->field_count; i++) {
		memcpy(decoded->memory + used, row->fields[i].address, row->fields[i].size);
		used += row->fields[i].size;
	}
	decoded->checksum = memtable_checksum(0, decoded->memory, decoded->size);
	return true;
}

static void end_group(struct memtable *self, struct scan *scan)
{
	for (uint32_t i = 0; i < scan->count; i++) {
		const struct decoded *const decoded = &scan->group[i];
		const uint64_t checksum = memtable_checksum(0, decoded->memory, decoded->size);

		if (checksum != decoded->checksum)
			hq_heap_wrong_data(self->heap, decoded->memory, decoded->checksum,
					   checksum);
		hq_heap_free(self->heap, decoded->memory, decoded->size);
	}
	scan->count = 0;
	hq_heap_op_end(self->heap);
}

static void scan_row(struct memtable *self, struct scan *scan, const struct memtable_row *row)
{
	if (scan->count == 0)
		hq_heap_op_begin(self->heap);
	verify_fields(self, row);
	if (!decode(self, row, &scan->group[scan->count])) {
		hq_heap_missed(self->heap);
		return;
	}
	if (++scan->count == GROUP)
		end_group(self, scan);
}

/* Reads a memtable that nobody changes. A scan whose result buffer is refused is given up. */
static void scan_table(struct memtable *self, struct memtable_table *table)
{
	const struct memtable_node *node = NULL;
	struct scan scan = { .count = 0 };
	struct hq_block result;
	uint64_t seen = 0;

	if (!hq_block_alloc(self->heap, &result, RESULT_BYTES)) {
		hq_heap_missed(self->heap);
		return;
	}
	while ((node = memtable_next(self, table, node)) != NULL && !hq_host_stopping()) {
		seen++;
		if (memtable_row_is_whole(self, node))
			scan_row(self, &scan, node->row);
	}
	if (scan.count > 0)
		end_group(self, &scan);
	if (node == NULL)
		memtable_expect_rows(self, table, seen);
	hq_block_free(self->heap, &result);
}

static void scan_frozen(struct memtable *self, uint32_t index, uint64_t number)
{
	struct memtable_client *const client = &self->shared->clients[index];
	struct memtable_table *const table = &client->slots[number % MEMTABLE_SLOTS];

	if (!memtable_is_chosen(self, index, number) ||
	    memtable_scanner_of(self, index, number) != self->index)
		return;
	scan_table(self, table);
	/* Pairs with the acquire in the flusher, which frees the rows next. */
	hq_store_release(&table->scanned, 1);
}

/* The memtables of that number of all clients. False: there are no more, or the run is to stop. */
static bool scan_number(struct memtable *self, uint64_t number)
{
	bool any = false;

	for (uint32_t client = 0; client < self->options->threads; client++) {
		switch (memtable_await_frozen(self, client, number)) {
		case MEMTABLE_STOPPED:
			return false;
		case MEMTABLE_NEVER:
			break;
		case MEMTABLE_FROZEN:
			any = true;
			scan_frozen(self, client, number);
		}
	}
	return any;
}

static bool await_flushers(struct memtable *self)
{
	for (uint32_t i = 0; i < self->options->flushers; i++) {
		/* Pairs with the release at the end of the flusher. */
		while (hq_load_acquire(&self->shared->flushers[i].done) == 0) {
			if (!memtable_wait())
				return false;
		}
	}
	return true;
}

static void scan_blocks(struct memtable *self)
{
	for (uint32_t i = 0; i < self->options->flushers; i++) {
		const struct memtable_flusher *const flusher = &self->shared->flushers[i];

		for (uint64_t j = 0; j < flusher->count; j++) {
			hq_heap_op_begin(self->heap);
			memtable_verify_block(self, &flusher->blocks[j]);
			hq_heap_op_end(self->heap);
		}
	}
}

static void scan_rest(struct memtable *self)
{
	for (uint32_t i = 0; i < self->options->threads; i++) {
		struct memtable_client *const client = &self->shared->clients[i];
		const uint64_t last = hq_load_acquire(&client->frozen);

		scan_table(self, &client->slots[last % MEMTABLE_SLOTS]);
	}
	scan_blocks(self);
}

void memtable_scanner_run(struct memtable *self)
{
	for (uint64_t number = 0; scan_number(self, number); number++)
		;
	if (!await_flushers(self))
		return;
	for (uint64_t pass = 0; pass < self->options->passes && !hq_host_stopping(); pass++)
		scan_rest(self);
}
