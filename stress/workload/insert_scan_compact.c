/* SPDX-License-Identifier: MIT */
/*
 * Compaction of insert-scan: rowsets are read through the cache, merged in key order, updates are
 * written into their rows, and one rowset takes their place. If anything is refused on the way,
 * everything stays as it was.
 */
#include "stress/workload/insert_scan.h"

struct source {
	struct insert_scan_rowset *rowset;
	struct insert_scan_cached *cached; /* NULL: at its end */
	struct insert_scan_cursor cursor;
	uint64_t index; /* of the block */
};

struct applied {
	uint64_t key, version;
};

struct merge {
	struct source sources[INSERT_SCAN_FAN];
	uint64_t count;
	struct insert_scan_writer writer;
	struct insert_scan_vector value, applied;
	bool failed;
};

/* Its next row, if there is one. */
static void advance(struct insert_scan *self, struct merge *merge, struct source *source)
{
	while (source->cached != NULL && !insert_scan_cursor_next(&source->cursor)) {
		insert_scan_cache_put(self, source->cached);
		source->cached = NULL;
		if (++source->index == insert_scan_place_count(source->rowset))
			return;
		source->cached = insert_scan_cache_get(self, source->rowset, source->index);
		if (source->cached == NULL)
			merge->failed = true;
		else
			insert_scan_cursor_start(&source->cursor, &source->cached->block);
	}
}

static void start_source(struct insert_scan *self, struct merge *merge, struct source *source)
{
	if (insert_scan_place_count(source->rowset) == 0)
		return;
	source->cached = insert_scan_cache_get(self, source->rowset, 0);
	if (source->cached == NULL) {
		merge->failed = true;
		return;
	}
	insert_scan_cursor_start(&source->cursor, &source->cached->block);
	advance(self, merge, source);
}

static struct source *smallest(struct merge *merge)
{
	struct source *found = NULL;

	for (uint64_t i = 0; i < merge->count; i++) {
		struct source *const source = &merge->sources[i];

		if (source->cached != NULL &&
		    (found == NULL || source->cursor.key < found->cursor.key))
			found = source;
	}
	return found;
}

/* A delta that is not noted as applied stays, and is no newer than its row: no harm. */
static void merge_row(struct insert_scan *self, struct merge *merge, struct source *source)
{
	struct insert_scan_cursor *const cursor = &source->cursor;
	uint32_t version = cursor->version;
	struct applied applied = { .key = cursor->key };

	switch (insert_scan_delta_get(self, cursor->key, &version, &merge->value)) {
	case INSERT_SCAN_REFUSED:
		merge->failed = true;
		return;
	case INSERT_SCAN_NEWER:
		cursor->values[0] = (struct insert_scan_value){ .memory = merge->value.data,
								.length = merge->value.used };
		applied.version = version;
		if (!insert_scan_append(self, &merge->applied, &applied, sizeof(applied)))
			hq_heap_missed(self->heap);
		break;
	case INSERT_SCAN_NONE_NEWER:
		break;
	}
	insert_scan_writer_add(self, &merge->writer, cursor->key, version, cursor->values);
}

static void merge_all(struct insert_scan *self, struct merge *merge)
{
	struct source *source;

	for (uint64_t i = 0; i < merge->count; i++)
		start_source(self, merge, &merge->sources[i]);
	while (!merge->failed && (source = smallest(merge)) != NULL) {
		merge_row(self, merge, source);
		advance(self, merge, source);
	}
	for (uint64_t i = 0; i < merge->count; i++) {
		if (merge->sources[i].cached != NULL)
			insert_scan_cache_put(self, merge->sources[i].cached);
	}
	insert_scan_writer_finish(self, &merge->writer);
}

/* Holds the rowsets of those memtables. */
static void choose(struct insert_scan *self, struct merge *merge, uint64_t first)
{
	struct insert_scan_shared *const shared = self->shared;

	pthread_mutex_lock(&shared->lock);
	for (uint64_t i = 0; i < hq_load_relaxed(&shared->rowset_count); i++) {
		struct insert_scan_rowset *const rowset = shared->rowsets[i];

		if (rowset->number >= first && rowset->number - first < self->options->fan &&
		    merge->count < INSERT_SCAN_FAN) {
			hq_fetch_add_relaxed(&rowset->holders, 1);
			merge->sources[merge->count++].rowset = rowset;
		}
	}
	pthread_mutex_unlock(&shared->lock);
}

static void replace(struct insert_scan *self, struct merge *merge)
{
	struct insert_scan_rowset *gone[INSERT_SCAN_FAN];
	const struct applied *const applied =
		(const struct applied *)(const void *)merge->applied.data;

	for (uint64_t i = 0; i < merge->count; i++)
		gone[i] = merge->sources[i].rowset;
	insert_scan_publish(self, merge->writer.rowset, gone, merge->count, NULL);
	for (uint64_t i = 0; i < merge->applied.used / sizeof(*applied); i++)
		insert_scan_delta_applied(self, applied[i].key, (uint32_t)applied[i].version);
	for (uint64_t i = 0; i < merge->count; i++)
		insert_scan_rowset_release(self, gone[i]); /* the list's hold */
	hq_fetch_add_relaxed(&self->shared->tally.compactions, 1);
	hq_fetch_add_relaxed(&self->shared->tally.bytes_compacted, merge->writer.rowset->bytes);
}

void insert_scan_compact(struct insert_scan *self, uint64_t first_number)
{
	struct merge merge = { .count = 0 };

	choose(self, &merge, first_number);
	if (merge.count >= 2 && insert_scan_writer_start(self, &merge.writer, UINT64_MAX)) {
		merge_all(self, &merge);
		if (merge.failed || merge.writer.lost > 0) {
			hq_heap_missed(self->heap);
			insert_scan_rowset_release(self, merge.writer.rowset);
		} else {
			replace(self, &merge);
		}
	} else if (merge.count >= 2) {
		hq_heap_missed(self->heap);
	}
	insert_scan_drop(self, &merge.value);
	insert_scan_drop(self, &merge.applied);
	for (uint64_t i = 0; i < merge.count; i++)
		insert_scan_rowset_release(self, merge.sources[i].rowset);
}
