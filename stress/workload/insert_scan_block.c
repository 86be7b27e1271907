/* SPDX-License-Identifier: MIT */
/*
 * The block format of insert-scan. A builder gathers rows in one vector a column; finishing puts
 * them into a block of exactly the size they need:
 *
 *   column 0      for each row: what the key is above the one before, the version (both varints)
 *   column 1 ...  for each row: the length (varint) and the bytes of a value
 *
 * A cursor goes through a block that was found whole; it trusts the checksum and nothing else.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

#define VARINT_BYTES 10u

static bool put_varint(struct insert_scan *self, struct insert_scan_vector *vector, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES];
	uint64_t count = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)(value | 0x80);
	bytes[count++] = (uint8_t)value;
	return insert_scan_append(self, vector, bytes, count);
}

static uint64_t get_varint(const uint8_t **at)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return value;
}

static bool add_columns(struct insert_scan *self, struct insert_scan_builder *builder, uint64_t key,
			uint32_t version, const struct insert_scan_value *values)
{
	const uint64_t before = builder->rows == 0 ? 0 : builder->last;

	if (!put_varint(self, &builder->columns[0], key - before) ||
	    !put_varint(self, &builder->columns[0], version))
		return false;
	for (uint64_t i = 0; i < builder->column_count; i++) {
		struct insert_scan_vector *const column = &builder->columns[i + 1];

		if (!put_varint(self, column, values[i].length) ||
		    !insert_scan_append(self, column, values[i].memory, values[i].length))
			return false;
		builder->bytes += values[i].length + 1;
	}
	return true;
}

void insert_scan_builder_add(struct insert_scan *self, struct insert_scan_builder *builder,
			     uint64_t key, uint32_t version, const struct insert_scan_value *values)
{
	if (builder->rows == 0)
		builder->first = key;
	if (!builder->refused && !add_columns(self, builder, key, version, values))
		builder->refused = true;
	builder->last = key;
	builder->bytes += 2;
	builder->rows++;
}

static uint64_t block_bytes(const struct insert_scan_builder *builder)
{
	uint64_t bytes = sizeof(struct insert_scan_block);

	for (uint64_t i = 0; i <= builder->column_count; i++)
		bytes += builder->columns[i].used;
	return bytes;
}

static uint64_t checksum_of(const struct insert_scan_block *block)
{
	return insert_scan_checksum(&block->bytes, block->bytes - sizeof(block->checksum));
}

static void pour(const struct insert_scan_builder *builder, struct insert_scan_block *block)
{
	uint32_t at = 0;

	for (uint64_t i = 0; i <= builder->column_count; i++) {
		const struct insert_scan_vector *const column = &builder->columns[i];

		block->offsets[i] = at;
		if (column->used > 0)
			memcpy(block->data + at, column->data, column->used);
		at += (uint32_t)column->used;
	}
	block->offsets[builder->column_count + 1] = at;
	block->checksum = checksum_of(block);
}

struct insert_scan_block *insert_scan_builder_finish(struct insert_scan *self,
						     struct insert_scan_builder *builder)
{
	const uint64_t bytes = block_bytes(builder);
	struct insert_scan_block *const block =
		builder->refused ? NULL : hq_heap_alloc(self->heap, bytes);

	if (block != NULL) {
		*block = (struct insert_scan_block){ .bytes = bytes,
						     .rows = builder->rows,
						     .columns = (uint32_t)builder->column_count };
		pour(builder, block);
	}
	for (uint64_t i = 0; i <= builder->column_count; i++)
		builder->columns[i].used = 0;
	builder->rows = 0;
	builder->bytes = 0;
	builder->refused = false;
	return block;
}

void insert_scan_builder_drop(struct insert_scan *self, struct insert_scan_builder *builder)
{
	for (uint64_t i = 0; i <= builder->column_count; i++)
		insert_scan_drop(self, &builder->columns[i]);
}

bool insert_scan_block_is_whole(const struct insert_scan_block *block, uint64_t bytes)
{
	return block->bytes == bytes && block->columns <= INSERT_SCAN_COLUMNS &&
	       block->checksum == checksum_of(block);
}

void insert_scan_cursor_start(struct insert_scan_cursor *cursor,
			      const struct insert_scan_block *block)
{
	cursor->block = block;
	cursor->row = 0;
	cursor->key = 0;
	for (uint32_t i = 0; i <= block->columns; i++)
		cursor->at[i] = block->data + block->offsets[i];
}

bool insert_scan_cursor_next(struct insert_scan_cursor *cursor)
{
	if (cursor->row == cursor->block->rows)
		return false;
	cursor->row++;
	cursor->key += get_varint(&cursor->at[0]);
	cursor->version = (uint32_t)get_varint(&cursor->at[0]);
	for (uint32_t i = 0; i < cursor->block->columns; i++) {
		cursor->values[i].length = get_varint(&cursor->at[i + 1]);
		cursor->values[i].memory = cursor->at[i + 1];
		cursor->at[i + 1] += cursor->values[i].length;
	}
	return true;
}
