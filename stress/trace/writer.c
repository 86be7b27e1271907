/* SPDX-License-Identifier: MIT */
/*
 * Writing a trace: operations go into the columns of a part; a full part is compressed and written.
 */
#include "stress/trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static int write_at(int fd, const uint8_t *bytes, size_t size, uint64_t at)
{
	while (size > 0) {
		const ssize_t written = pwrite(fd, bytes, size, (off_t)at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		bytes += written;
		size -= (size_t)written;
		at += (uint64_t)written;
	}
	return 0;
}

int hq_trace_writer_open(struct hq_trace_writer *writer, int fd, uint64_t bytes_max,
			 uint32_t tick_ns)
{
	*writer = (struct hq_trace_writer){ .info = { .tick_ns = tick_ns },
					    .fd = fd,
					    .bytes = HQ_TRACE_HEADER_BYTES,
					    .bytes_max = bytes_max };
	writer->kept = writer->info;
	writer->raw = malloc(HQ_TRACE_RAW_BYTES);
	writer->packed = malloc(HQ_TRACE_HEAD_BYTES + compressBound(HQ_TRACE_RAW_BYTES));
	for (uint32_t i = 0; i < HQ_TRACE_COLUMNS; i++) {
		writer->columns[i] = malloc(HQ_TRACE_COLUMN_BYTES);
		if (!writer->columns[i])
			return -ENOMEM;
	}
	return writer->raw && writer->packed ? 0 : -ENOMEM;
}

void hq_trace_writer_close(struct hq_trace_writer *writer)
{
	for (uint32_t i = 0; i < HQ_TRACE_COLUMNS; i++)
		free(writer->columns[i]);
	free(writer->raw);
	free(writer->packed);
	*writer = (struct hq_trace_writer){ .fd = -1 };
}

/* The columns, one behind the other, behind their lengths. */
static uint32_t join_columns(struct hq_trace_writer *writer)
{
	uint8_t *at = writer->raw + 4 * HQ_TRACE_COLUMNS;

	for (uint32_t i = 0; i < HQ_TRACE_COLUMNS; i++) {
		hq_trace_put32(writer->raw + 4 * i, writer->lengths[i]);
		memcpy(at, writer->columns[i], writer->lengths[i]);
		at += writer->lengths[i];
		writer->lengths[i] = 0;
	}
	return (uint32_t)(at - writer->raw);
}

static int write_part(struct hq_trace_writer *writer, uint32_t packed_bytes, uint32_t raw_bytes)
{
	uint8_t *const head = writer->packed;
	int status;

	hq_trace_put32(head, packed_bytes);
	hq_trace_put32(head + 4, raw_bytes);
	hq_trace_put32(head + 8, writer->part_ops);
	hq_trace_put32(head + 12, (uint32_t)crc32(crc32(0, head, 12), head + HQ_TRACE_HEAD_BYTES,
						  packed_bytes));
	status = write_at(writer->fd, head, HQ_TRACE_HEAD_BYTES + packed_bytes, writer->bytes);
	writer->bytes += HQ_TRACE_HEAD_BYTES + packed_bytes;
	writer->part_ops = 0;
	writer->kept = writer->info;
	return status;
}

/* As if the operations of this part had never come. */
static void take_part_back(struct hq_trace_writer *writer)
{
	const uint64_t cut = writer->info.cut + writer->part_ops;

	writer->info = writer->kept;
	writer->info.cut = cut;
	writer->part_ops = 0;
	writer->is_full = true;
}

static int end_part(struct hq_trace_writer *writer)
{
	const uint32_t raw_bytes = join_columns(writer);
	uLongf packed_bytes = compressBound(raw_bytes);

	if (writer->part_ops == 0)
		return 0;
	if (compress2(writer->packed + HQ_TRACE_HEAD_BYTES, &packed_bytes, writer->raw, raw_bytes,
		      Z_BEST_COMPRESSION) != Z_OK)
		return -ENOMEM;
	/* Behind it, there must be room for the last, empty one. */
	if (writer->bytes + packed_bytes + 2 * HQ_TRACE_HEAD_BYTES > writer->bytes_max) {
		take_part_back(writer);
		return 0;
	}
	return write_part(writer, (uint32_t)packed_bytes, raw_bytes);
}

static void put(struct hq_trace_writer *writer, enum hq_trace_column column, uint64_t value)
{
	uint32_t *const length = &writer->lengths[column];

	*length += hq_trace_put_varint(writer->columns[column] + *length, value);
}

static void count(struct hq_trace_info *info, const struct hq_trace_op *op)
{
	info->ops++;
	info->ticks = op->tick;
	if (op->thread >= info->threads)
		info->threads = op->thread + 1;
	if (hq_trace_makes_block(op->kind)) {
		info->blocks++;
		info->left++;
	} else if (op->kind == HQ_TRACE_FREE) {
		info->left--;
	}
}

int hq_trace_write(struct hq_trace_writer *writer, const struct hq_trace_op *op)
{
	uint32_t byte = op->kind;

	if (writer->is_full) {
		writer->info.cut++;
		return 0;
	}
	if (op->tick != writer->tick) {
		byte |= HQ_TRACE_LATER;
		put(writer, HQ_TRACE_TICKS, op->tick - writer->tick);
		writer->tick = op->tick;
	}
	if (op->thread != writer->thread) {
		byte |= HQ_TRACE_SWITCHED;
		put(writer, HQ_TRACE_NUMBERS, op->thread);
		writer->thread = op->thread;
	}
	if (!hq_trace_makes_block(op->kind))
		put(writer, HQ_TRACE_BACKS, writer->info.blocks - 1 - op->block);
	if (op->kind == HQ_TRACE_ALIGNED)
		put(writer, HQ_TRACE_SIZES, op->alignment_shift);
	if (op->kind != HQ_TRACE_FREE)
		put(writer, HQ_TRACE_SIZES, op->size);
	put(writer, HQ_TRACE_OPS, byte);
	count(&writer->info, op);
	return ++writer->part_ops == HQ_TRACE_PART_OPS ? end_part(writer) : 0;
}

static int write_header(struct hq_trace_writer *writer)
{
	const struct hq_trace_info *const info = &writer->info;
	uint8_t header[HQ_TRACE_HEADER_BYTES] = { 0 };

	memcpy(header, HQ_TRACE_MAGIC, 8);
	hq_trace_put32(header + 8, HQ_TRACE_VERSION);
	hq_trace_put32(header + 12, info->tick_ns);
	hq_trace_put32(header + 16, info->threads);
	hq_trace_put64(header + 24, info->ops);
	hq_trace_put64(header + 32, info->blocks);
	hq_trace_put64(header + 40, info->left);
	hq_trace_put64(header + 48, info->ticks);
	hq_trace_put64(header + 56, info->peak_bytes);
	hq_trace_put64(header + 64, info->peak_blocks);
	hq_trace_put64(header + 72, info->lost);
	hq_trace_put64(header + 80, info->repaired);
	hq_trace_put64(header + 88, info->cut);
	hq_trace_put32(header + sizeof(header) - 4, (uint32_t)crc32(0, header, sizeof(header) - 4));
	return write_at(writer->fd, header, sizeof(header), 0);
}

int hq_trace_writer_finish(struct hq_trace_writer *writer)
{
	int status = end_part(writer);

	if (!status)
		status = write_part(writer, 0, 0);
	return status ? status : write_header(writer);
}
