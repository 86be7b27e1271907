/* SPDX-License-Identifier: MIT */
/*
 * Memory of the engine of insert-scan: vectors that grow by doubling through realloc, arenas whose
 * chunks grow from 4 KiB to 1 MiB, and the content of values, which whoever reads one can derive
 * again. Knows nothing of tables and blocks.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

#define VECTOR_BYTES    256u
#define CHUNK_MIN_BYTES 4096u
#define CHUNK_MAX_BYTES (1024u * 1024u)

struct insert_scan_chunk {
	struct insert_scan_chunk *next;
	uint64_t size, used, seal;
};

bool insert_scan_append(struct insert_scan *self, struct insert_scan_vector *vector,
			const void *data, uint64_t bytes)
{
	if (vector->room - vector->used < bytes) {
		uint64_t room = vector->room ? vector->room : VECTOR_BYTES;
		uint8_t *grown;

		while (room - vector->used < bytes)
			room *= 2;
		grown = vector->data ? hq_heap_resize(self->heap, vector->data, vector->room, room)
				     : hq_heap_alloc(self->heap, room);
		if (grown == NULL)
			return false;
		vector->data = grown;
		vector->room = room;
	}
	if (bytes > 0)
		memcpy(vector->data + vector->used, data, bytes);
	vector->used += bytes;
	return true;
}

void insert_scan_drop(struct insert_scan *self, struct insert_scan_vector *vector)
{
	if (vector->data != NULL)
		hq_heap_free(self->heap, vector->data, vector->room);
	*vector = (struct insert_scan_vector){ .data = NULL };
}

/* ---- arenas ---- */

static uint64_t chunk_seal(const struct insert_scan_chunk *chunk)
{
	return insert_scan_mix((uint64_t)(uintptr_t)chunk ^ insert_scan_mix(chunk->size) ^
			       insert_scan_mix((uint64_t)(uintptr_t)chunk->next + 1));
}

static bool add_chunk(struct insert_scan *self, struct insert_scan_arena *arena, uint64_t bytes)
{
	const uint64_t last = arena->first ? arena->first->size : CHUNK_MIN_BYTES / 2;
	const uint64_t next = 2 * last < CHUNK_MAX_BYTES ? 2 * last : CHUNK_MAX_BYTES;
	const uint64_t size = next < bytes + sizeof(struct insert_scan_chunk)
				      ? bytes + sizeof(struct insert_scan_chunk)
				      : next;
	struct insert_scan_chunk *const chunk = hq_heap_alloc(self->heap, size);

	if (chunk == NULL)
		return false;
	*chunk = (struct insert_scan_chunk){ .next = arena->first,
					     .size = size,
					     .used = sizeof(*chunk) };
	chunk->seal = chunk_seal(chunk);
	arena->first = chunk;
	return true;
}

void *insert_scan_take(struct insert_scan *self, struct insert_scan_arena *arena, uint64_t bytes)
{
	struct insert_scan_chunk *chunk = arena->first;
	void *taken;

	bytes = (bytes + 7) & ~7ull;
	if (chunk == NULL || chunk->size - chunk->used < bytes) {
		if (!add_chunk(self, arena, bytes))
			return NULL;
		chunk = arena->first;
	}
	taken = (uint8_t *)chunk + chunk->used;
	chunk->used += bytes;
	arena->bytes += bytes;
	return taken;
}

/* What lies behind a damaged chunk is given up, not followed. */
void insert_scan_arena_drop(struct insert_scan *self, struct insert_scan_arena *arena)
{
	struct insert_scan_chunk *chunk = arena->first;

	while (chunk != NULL) {
		struct insert_scan_chunk *next;

		if (chunk->seal != chunk_seal(chunk)) {
			hq_heap_wrong_data(self->heap, chunk, chunk->seal, chunk_seal(chunk));
			break;
		}
		next = chunk->next;
		hq_heap_free(self->heap, chunk, chunk->size);
		chunk = next;
	}
	*arena = (struct insert_scan_arena){ .first = NULL };
}

/* ---- content ---- */

/* A bijection: keys that differ before differ afterwards. */
uint64_t insert_scan_mix(uint64_t value)
{
	value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
	value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
	return value ^ (value >> 32);
}

uint64_t insert_scan_key(uint32_t client, uint64_t row)
{
	return insert_scan_mix((uint64_t)client << 48 | row);
}

uint64_t insert_scan_checksum(const void *memory, uint64_t bytes)
{
	const uint8_t *const from = memory;
	uint64_t sum = bytes, at = 0, word;

	for (; bytes - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, from + at, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	for (; at < bytes; at++)
		sum = (sum ^ from[at]) * 0x9e3779b97f4a7c15ull;
	return sum;
}

uint64_t insert_scan_row_sum(uint64_t key, uint32_t version)
{
	return insert_scan_mix(key + insert_scan_mix(version + 1ull));
}

static uint64_t first_word(uint64_t key, uint64_t column, uint32_t version)
{
	return insert_scan_mix(key ^ column << 40 ^ (column == 0 ? version : 0)) | 1;
}

void insert_scan_fill(uint8_t *memory, uint64_t length, uint64_t key, uint64_t column,
		      uint32_t version)
{
	uint64_t word = first_word(key, column, version);

	for (uint64_t at = 0; at < length; at += sizeof(word)) {
		memcpy(memory + at, &word, length - at < sizeof(word) ? length - at : sizeof(word));
		word = word * 6364136223846793005ull + 1442695040888963407ull;
	}
}

void insert_scan_expect_value(struct insert_scan *self, const struct insert_scan_value *value,
			      uint64_t key, uint64_t column, uint32_t version)
{
	uint64_t word = first_word(key, column, version), got = 0;

	for (uint64_t at = 0; at < value->length; at += sizeof(word)) {
		const uint64_t rest = value->length - at;
		const uint64_t bytes = rest < sizeof(word) ? rest : sizeof(word);

		if (memcmp(value->memory + at, &word, bytes) != 0) {
			memcpy(&got, value->memory + at, bytes);
			hq_heap_wrong_data(self->heap, value->memory + at, word, got);
			return;
		}
		word = word * 6364136223846793005ull + 1442695040888963407ull;
	}
}

void insert_scan_row_values(const struct insert_scan_row *row, uint64_t columns,
			    struct insert_scan_value *values)
{
	const uint8_t *at = (const uint8_t *)(row->lengths + columns);

	for (uint64_t i = 0; i < columns; i++) {
		values[i] = (struct insert_scan_value){ .memory = at, .length = row->lengths[i] };
		at += row->lengths[i];
	}
}
