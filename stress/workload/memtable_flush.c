/* SPDX-License-Identifier: MIT */
/*
 * A flusher of memtable: encodes frozen memtables into blocks of 256 KiB, keeps the newest of
 * them, and frees the rows. Rows come back to the allocator in key order, from another thread than
 * the one that asked for them, long after: the pattern that makes allocators keep memory.
 *
 * When a block is refused the rows meant for it are freed unencoded, and the miss is counted.
 */
#include "stress/workload/memtable.h"

#include <string.h>

/* In front of each row in a block. */
struct encoded {
	uint64_t key;
	uint64_t bytes; /* that follow */
};

static struct memtable_flusher *flusher_of(const struct memtable *self)
{
	return &self->shared->flushers[self->index];
}

void memtable_verify_block(struct memtable *self, const struct memtable_block *block)
{
	const uint64_t checksum = memtable_checksum(0, block->memory, block->used);

	if (checksum != block->checksum)
		hq_heap_wrong_data(self->heap, block->memory, block->checksum, checksum);
}

static void drop_oldest(struct memtable *self, uint64_t count)
{
	struct memtable_flusher *const flusher = flusher_of(self);

	for (uint64_t i = 0; i < count; i++) {
		memtable_verify_block(self, &flusher->blocks[i]);
		hq_heap_free(self->heap, flusher->blocks[i].memory, MEMTABLE_BLOCK_BYTES);
	}
	flusher->count -= count;
	memmove(flusher->blocks, flusher->blocks + count,
		flusher->count * sizeof(flusher->blocks[0]));
}

static void keep(struct memtable *self, struct memtable_block *block)
{
	struct memtable_flusher *const flusher = flusher_of(self);

	if (block->memory == NULL)
		return;
	if (flusher->count >= self->options->cache)
		drop_oldest(self, (flusher->count + 1) / 2);
	block->checksum = memtable_checksum(0, block->memory, block->used);
	flusher->blocks[flusher->count++] = *block;
	*block = (struct memtable_block){ .memory = NULL };
}

/* A row that is larger than a block is cut. */
static void encode(struct memtable_block *block, const struct memtable_row *row)
{
	const uint64_t room = MEMTABLE_BLOCK_BYTES - block->used - sizeof(struct encoded);
	struct encoded encoded = { .key = row->key,
				   .bytes = row->bytes < room ? row->bytes : room };
	uint64_t rest = encoded.bytes;

	memcpy(block->memory + block->used, &encoded, sizeof(encoded));
	block->used += sizeof(encoded);
	for (uint64_t i = 0; i < row->field_count; i++) {
		const struct hq_block *const field = &row->fields[i];
		const uint64_t length = field->size < rest ? field->size : rest;

		memcpy(block->memory + block->used, field->address, length);
		block->used += length;
		rest -= length;
	}
}

static bool has_room(const struct memtable_block *block, const struct memtable_row *row)
{
	return block->memory != NULL &&
	       block->used + sizeof(struct encoded) + row->bytes <= MEMTABLE_BLOCK_BYTES;
}

/* No client waits for this, so it is progress and no operation with a latency. */
static void encode_table(struct memtable *self, struct memtable_table *table)
{
	struct memtable_block block = { .memory = NULL };
	const struct memtable_node *node = NULL;

	while ((node = memtable_next(self, table, node)) != NULL) {
		if (!memtable_row_is_whole(self, node))
			continue;
		if (!has_room(&block, node->row)) {
			keep(self, &block);
			hq_heap_alive(self->heap);
			block = (struct memtable_block){
				.memory = hq_heap_alloc(self->heap, MEMTABLE_BLOCK_BYTES)
			};
		}
		if (block.memory != NULL)
			encode(&block, node->row);
		else
			hq_heap_missed(self->heap);
	}
	keep(self, &block);
	hq_heap_alive(self->heap);
}

/* Which rows the flusher frees depends on the row alone. */
static bool is_mine(const struct memtable *self, uint64_t key)
{
	struct hq_random random = { .state = key };

	return hq_random_chance(&random, self->options->cross);
}

/* False: the run is to stop, and a scanner may still read the memtable. */
static bool await_scanner(struct memtable_table *table)
{
	/* Pairs with the release in the scanner: it reads no more. */
	while (hq_load_acquire(&table->scanned) == 0) {
		if (!memtable_wait())
			return false;
	}
	return true;
}

static bool flush(struct memtable *self, uint32_t index, uint64_t number)
{
	struct memtable_client *const client = &self->shared->clients[index];
	struct memtable_table *const table = &client->slots[number % MEMTABLE_SLOTS];

	encode_table(self, table);
	if (!await_scanner(table))
		return false;
	memtable_clear(self, table, is_mine);
	/* Pairs with the acquire in the client: the slot is its own again. */
	hq_store_release(&client->flushed, number + 1);
	return true;
}

/* The memtables of that number of this flusher's clients. False: there is nothing more to do. */
static bool flush_number(struct memtable *self, uint64_t number)
{
	const struct memtable_options *const chosen = self->options;
	bool any = false;

	for (uint32_t client = self->index; client < chosen->threads;
	     client += (uint32_t)chosen->flushers) {
		switch (memtable_await_frozen(self, client, number)) {
		case MEMTABLE_STOPPED:
			return false;
		case MEMTABLE_NEVER:
			break;
		case MEMTABLE_FROZEN:
			any = true;
			if (!flush(self, client, number))
				return false;
		}
	}
	return any;
}

void memtable_flusher_run(struct memtable *self)
{
	for (uint64_t number = 0; flush_number(self, number); number++)
		;
	/* Pairs with the acquire in the scanner: the blocks that are kept stay as they are. */
	hq_store_release(&flusher_of(self)->done, 1);
}

void memtable_flusher_release(struct memtable *self)
{
	drop_oldest(self, flusher_of(self)->count);
}
