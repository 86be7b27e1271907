/* SPDX-License-Identifier: MIT */
/*
 * Rowsets of insert-scan: how they are written, where their blocks are kept (in memory, or in a
 * file that is rewritten by compactions and in which what is gone becomes a hole), and who may see
 * them. Whoever holds a rowset last frees it, whichever thread that is.
 */
#include <fcntl.h>
#include <string.h>

#include "stress/workload/insert_scan.h"

#define FILE_ALIGNMENT 4096u

/* ---- writing ---- */

bool insert_scan_writer_start(struct insert_scan *self, struct insert_scan_writer *writer,
			      uint64_t number)
{
	*writer = (struct insert_scan_writer){
		.builder = { .column_count = self->options->columns },
		.rowset = hq_heap_alloc(self->heap, sizeof(*writer->rowset)),
	};
	if (writer->rowset == NULL)
		return false;
	*writer->rowset = (struct insert_scan_rowset){
		.id = hq_fetch_add_relaxed(&self->shared->next_id, 1),
		.number = number,
		.holders = 1,
	};
	return true;
}

/* Takes the block: into the file, or as it is where there is none or it does not take it. */
static void store(struct insert_scan *self, struct insert_scan_place *place,
		  struct insert_scan_block *block)
{
	const uint64_t room = (block->bytes + FILE_ALIGNMENT - 1) / FILE_ALIGNMENT * FILE_ALIGNMENT;

	place->memory = block;
	if (self->shared->file < 0)
		return;
	place->offset = hq_fetch_add_relaxed(&self->shared->file_end, room);
	if (insert_scan_file_write(self->shared->file, block, block->bytes, place->offset)) {
		hq_heap_free(self->heap, block, place->bytes);
		place->memory = NULL;
	}
}

static void drop_place(struct insert_scan *self, const struct insert_scan_place *place)
{
	if (place->memory != NULL)
		hq_heap_free(self->heap, place->memory, place->bytes);
	else
		/* Not every file system can; then the file just grows. */
		(void)fallocate(self->shared->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)place->offset, (off_t)place->bytes);
}

static void end_block(struct insert_scan *self, struct insert_scan_writer *writer)
{
	const uint64_t rows = writer->builder.rows;
	struct insert_scan_place place = { .first = writer->builder.first,
					   .last = writer->builder.last };
	struct insert_scan_block *block;

	if (rows == 0)
		return;
	block = insert_scan_builder_finish(self, &writer->builder);
	if (block == NULL) {
		writer->lost += rows;
		hq_heap_missed(self->heap);
		return;
	}
	place.bytes = block->bytes;
	store(self, &place, block);
	if (!insert_scan_append(self, &writer->rowset->places, &place, sizeof(place))) {
		drop_place(self, &place);
		writer->lost += rows;
		hq_heap_missed(self->heap);
		return;
	}
	writer->rowset->rows += rows;
	writer->rowset->bytes += place.bytes;
	hq_heap_alive(self->heap);
}

void insert_scan_writer_add(struct insert_scan *self, struct insert_scan_writer *writer,
			    uint64_t key, uint32_t version, const struct insert_scan_value *values)
{
	insert_scan_builder_add(self, &writer->builder, key, version, values);
	/* Without a filter every reader looks into the blocks: slower, and still right. */
	if (self->options->bloom_bits > 0 &&
	    !insert_scan_append(self, &writer->keys, &key, sizeof(key))) {
		hq_heap_missed(self->heap);
		writer->keys.used = 0;
	}
	if (writer->builder.bytes >= self->options->block)
		end_block(self, writer);
}

static void make_bloom(struct insert_scan *self, struct insert_scan_writer *writer)
{
	struct insert_scan_rowset *const rowset = writer->rowset;
	const uint64_t rows = writer->keys.used / sizeof(uint64_t);
	const uint64_t words = insert_scan_bloom_words(rows, self->options->bloom_bits);

	if (rows == 0 || rows != rowset->rows)
		return;
	rowset->bloom = hq_heap_calloc(self->heap, words, sizeof(uint64_t));
	if (rowset->bloom == NULL) {
		hq_heap_missed(self->heap);
		return;
	}
	rowset->bloom_words = words;
	for (uint64_t i = 0; i < rows; i++) {
		uint64_t key;

		memcpy(&key, writer->keys.data + i * sizeof(key), sizeof(key));
		insert_scan_bloom_add(rowset->bloom, words, key);
	}
}

void insert_scan_writer_finish(struct insert_scan *self, struct insert_scan_writer *writer)
{
	end_block(self, writer);
	make_bloom(self, writer);
	insert_scan_builder_drop(self, &writer->builder);
	insert_scan_drop(self, &writer->keys);
	if (self->shared->file >= 0 && self->options->sync != INSERT_SCAN_SYNC_NONE)
		insert_scan_file_sync(self->shared->file);
}

/* ---- reading ---- */

bool insert_scan_place_read(struct insert_scan *self, const struct insert_scan_place *place,
			    struct insert_scan_block *to)
{
	bool read = true;

	if (place->memory != NULL)
		memcpy(to, place->memory, place->bytes);
	else
		read = insert_scan_file_read(self->shared->file, to, place->bytes, place->offset);
	if (read && insert_scan_block_is_whole(to, place->bytes))
		return true;
	hq_heap_wrong_data(self->heap, to, place->bytes, read ? to->bytes : 0);
	return false;
}

/* ---- holding and seeing ---- */

void insert_scan_rowset_release(struct insert_scan *self, struct insert_scan_rowset *rowset)
{
	/* Pairs with itself in other threads: the last one sees what all have read as read. */
	if (hq_fetch_add_acq_rel(&rowset->holders, UINT64_MAX) != 1)
		return;
	for (uint64_t i = 0; i < insert_scan_place_count(rowset); i++)
		drop_place(self, &insert_scan_places(rowset)[i]);
	insert_scan_drop(self, &rowset->places);
	if (rowset->bloom != NULL)
		hq_heap_free(self->heap, rowset->bloom, rowset->bloom_words * sizeof(uint64_t));
	hq_heap_free(self->heap, rowset, sizeof(*rowset));
}

static void take_out(struct insert_scan_shared *shared, const struct insert_scan_rowset *rowset)
{
	uint64_t kept = 0;
	const uint64_t count = hq_load_relaxed(&shared->rowset_count);

	for (uint64_t i = 0; i < count; i++) {
		if (shared->rowsets[i] != rowset)
			shared->rowsets[kept++] = shared->rowsets[i];
	}
	hq_store_relaxed(&shared->rowset_count, kept);
}

void insert_scan_publish(struct insert_scan *self, struct insert_scan_rowset *added,
			 struct insert_scan_rowset *const *gone, uint64_t count,
			 struct insert_scan_memtable *table)
{
	struct insert_scan_shared *const shared = self->shared;

	pthread_mutex_lock(&shared->lock);
	for (uint64_t i = 0; i < count; i++)
		take_out(shared, gone[i]);
	if (added != NULL) {
		const uint64_t at = hq_load_relaxed(&shared->rowset_count);

		shared->rowsets[at] = added;
		hq_store_relaxed(&shared->rowset_count, at + 1);
	}
	if (table != NULL)
		table->hidden = true;
	pthread_mutex_unlock(&shared->lock);
}

/* Under the lock. False: there are more than there is room for. */
static bool fill_view(struct insert_scan_shared *shared, struct insert_scan_view *view)
{
	view->rowset_count = hq_load_relaxed(&shared->rowset_count);
	view->table_count = 0;
	if (view->rowset_count > view->room)
		return false;
	for (uint64_t i = 0; i < view->rowset_count; i++) {
		view->rowsets[i] = shared->rowsets[i];
		hq_fetch_add_relaxed(&view->rowsets[i]->holders, 1);
	}
	for (uint32_t i = 0; i < INSERT_SCAN_SLOTS; i++) {
		struct insert_scan_memtable *const table = &shared->slots[i];

		if (table->hidden)
			continue;
		hq_fetch_add_relaxed(&table->readers, 1);
		view->tables[view->table_count++] = table;
	}
	return true;
}

bool insert_scan_view_open(struct insert_scan *self, struct insert_scan_view *view)
{
	struct insert_scan_shared *const shared = self->shared;

	for (;;) {
		bool filled;

		view->room = hq_load_relaxed(&shared->rowset_count) + 4;
		view->rowsets = hq_heap_alloc(self->heap, view->room * sizeof(*view->rowsets));
		if (view->rowsets == NULL)
			return false;
		pthread_mutex_lock(&shared->lock);
		filled = fill_view(shared, view);
		pthread_mutex_unlock(&shared->lock);
		if (filled)
			return true;
		hq_heap_free(self->heap, view->rowsets, view->room * sizeof(*view->rowsets));
	}
}

void insert_scan_view_close(struct insert_scan *self, struct insert_scan_view *view)
{
	for (uint64_t i = 0; i < view->table_count; i++)
		/* Pairs with the acquire in the flusher, which frees the rows next. */
		hq_fetch_add_acq_rel(&view->tables[i]->readers, UINT64_MAX);
	for (uint64_t i = 0; i < view->rowset_count; i++)
		insert_scan_rowset_release(self, view->rowsets[i]);
	hq_heap_free(self->heap, view->rowsets, view->room * sizeof(*view->rowsets));
}
