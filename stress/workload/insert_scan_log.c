/* SPDX-License-Identifier: MIT */
/*
 * The write-ahead log of insert-scan: what a client wants to insert goes here first, request by
 * request, into a buffer that grows until its memtable is flushed, and to a file where the storage
 * is one. Then it is read again: an engine that crashed would have nothing else.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

struct entry {
	uint64_t bytes, rows, checksum; /* of the bytes that follow */
};

static void write_through(struct insert_scan *self, const struct insert_scan_log *log,
			  uint64_t from)
{
	const int file = self->shared->clients[self->index].log_file;

	if (file < 0)
		return;
	/* Where it fails that is told, and the buffer has it all. */
	insert_scan_file_write(file, log->entries.data + from, log->entries.used - from, from);
	if (self->options->sync == INSERT_SCAN_SYNC_LOG)
		insert_scan_file_sync(file);
}

bool insert_scan_log_append(struct insert_scan *self, struct insert_scan_log *log,
			    const struct insert_scan_vector *request, uint64_t rows)
{
	const struct entry entry = { .bytes = request->used,
				     .rows = rows,
				     .checksum =
					     insert_scan_checksum(request->data, request->used) };
	const uint64_t before = log->entries.used;

	if (!insert_scan_append(self, &log->entries, &entry, sizeof(entry)) ||
	    !insert_scan_append(self, &log->entries, request->data, request->used)) {
		log->entries.used = before;
		return false;
	}
	log->rows += rows;
	write_through(self, log, before);
	return true;
}

void insert_scan_log_retire(struct insert_scan *self, struct insert_scan_log *log, uint64_t rows)
{
	uint64_t seen = 0;

	for (uint64_t at = 0; at < log->entries.used;) {
		struct entry entry;
		uint64_t checksum;

		memcpy(&entry, log->entries.data + at, sizeof(entry));
		at += sizeof(entry);
		if (entry.bytes > log->entries.used - at) {
			hq_heap_wrong_data(self->heap, log->entries.data + at, 0, entry.bytes);
			break;
		}
		checksum = insert_scan_checksum(log->entries.data + at, entry.bytes);
		if (checksum != entry.checksum)
			hq_heap_wrong_data(self->heap, log->entries.data + at, entry.checksum,
					   checksum);
		at += entry.bytes;
		seen += entry.rows;
	}
	if (seen != rows)
		hq_heap_wrong_data(self->heap, log, rows, seen);
	insert_scan_drop(self, &log->entries);
	log->rows = 0;
}
