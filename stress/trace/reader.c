/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace: header, parts one at a time, and out of a part's columns operation after
 * operation. Nothing is believed: lengths are held against what is there before anything is looked
 * at, and what was read is held against the totals at the end.
 */
#include "stress/trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

/* zlib makes at most so many bytes of one: a header that promises more is wrong. */
#define INFLATE_MOST 1032u

int hq_trace_read_info(const uint8_t *data, uint64_t size, struct hq_trace_info *info,
		       struct hq_error *error)
{
	if (size < HQ_TRACE_HEADER_BYTES)
		return hq_error_set(error, "it ends at byte %" PRIu64 ", within its header", size);
	if (memcmp(data, HQ_TRACE_MAGIC, 8) != 0)
		return hq_error_set(error, "it is no trace: it does not begin with HQTRACE");
	if (hq_trace_get32(data + 8) != HQ_TRACE_VERSION)
		return hq_error_set(error, "it is of version %" PRIu32 ", and only %u can be read",
				    hq_trace_get32(data + 8), HQ_TRACE_VERSION);
	if (hq_trace_get32(data + HQ_TRACE_HEADER_BYTES - 4) !=
	    (uint32_t)crc32(0, data, HQ_TRACE_HEADER_BYTES - 4))
		return hq_error_set(error, "its header is damaged (wrong checksum)");
	*info = (struct hq_trace_info){
		.tick_ns = hq_trace_get32(data + 12),
		.threads = hq_trace_get32(data + 16),
		.ops = hq_trace_get64(data + 24),
		.blocks = hq_trace_get64(data + 32),
		.left = hq_trace_get64(data + 40),
		.ticks = hq_trace_get64(data + 48),
		.peak_bytes = hq_trace_get64(data + 56),
		.peak_blocks = hq_trace_get64(data + 64),
		.lost = hq_trace_get64(data + 72),
		.repaired = hq_trace_get64(data + 80),
		.cut = hq_trace_get64(data + 88),
	};
	if (info->tick_ns == 0 || info->threads > HQ_TRACE_THREADS ||
	    info->blocks > HQ_TRACE_BLOCKS || info->blocks > info->ops ||
	    info->left > info->blocks || info->ops / INFLATE_MOST > size ||
	    (info->ops > 0 && info->threads == 0))
		return hq_error_set(error, "its header says what cannot be");
	return 0;
}

int hq_trace_reader_start(struct hq_trace_reader *reader, const uint8_t *data, uint64_t size,
			  uint8_t *live, struct hq_error *error)
{
	reader->data = data;
	reader->size = size;
	reader->at = HQ_TRACE_HEADER_BYTES;
	reader->part_ops = 0;
	reader->ops = reader->blocks = reader->freed = reader->tick = 0;
	reader->thread = 0;
	reader->live = live;
	return hq_trace_read_info(data, size, &reader->info, error);
}

/* ---- parts ---- */

/* zlib asks for two pieces, and gives them back at the end. */
static voidpf take_piece(voidpf cookie, uInt count, uInt size)
{
	struct hq_trace_reader *const reader = cookie;
	const uint64_t bytes = ((uint64_t)count * size + 15) & ~15ull;
	const uint64_t at = reader->arena_used;

	if (bytes > sizeof(reader->arena) - at)
		return Z_NULL;
	reader->arena_used = at + bytes;
	return reader->arena + at;
}

static void leave_piece(voidpf cookie, voidpf piece)
{
	(void)cookie;
	(void)piece;
}

/* All of it, and nothing but it, must be there. */
static bool inflate_part(struct hq_trace_reader *reader, const uint8_t *packed,
			 uint32_t packed_bytes, uint32_t raw_bytes)
{
	z_stream stream = { .zalloc = take_piece,
			    .zfree = leave_piece,
			    .opaque = reader,
			    .next_in = (Bytef *)(uintptr_t)packed,
			    .avail_in = packed_bytes,
			    .next_out = reader->raw,
			    .avail_out = raw_bytes };
	bool is_whole;

	reader->arena_used = 0;
	if (inflateInit(&stream) != Z_OK)
		return false;
	is_whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0 &&
		   stream.avail_out == 0;
	inflateEnd(&stream);
	return is_whole;
}

static int refuse(const struct hq_trace_reader *reader, struct hq_error *error, const char *what)
{
	return hq_error_set(error, "byte %" PRIu64 ", operation %" PRIu64 ": %s", reader->part_at,
			    reader->ops, what);
}

/* Where the columns of the part begin and end. */
static int find_columns(struct hq_trace_reader *reader, uint32_t raw_bytes, uint32_t ops,
			struct hq_error *error)
{
	const uint8_t *at = reader->raw + 4 * HQ_TRACE_COLUMNS;
	const uint8_t *const end = reader->raw + raw_bytes;

	if (raw_bytes < 4 * HQ_TRACE_COLUMNS)
		return refuse(reader, error, "the part is too short");
	for (uint32_t i = 0; i < HQ_TRACE_COLUMNS; i++) {
		const uint32_t bytes = hq_trace_get32(reader->raw + 4 * i);

		if (bytes > (size_t)(end - at))
			return refuse(reader, error, "a column is longer than the part");
		reader->columns[i] = (struct hq_trace_column_left){ .at = at, .end = at + bytes };
		at += bytes;
	}
	if (at != end || hq_trace_get32(reader->raw) != ops)
		return refuse(reader, error, "the columns do not make up the part");
	reader->part_ops = ops;
	return 0;
}

/* The empty part is the last. */
static int finish(const struct hq_trace_reader *reader, struct hq_error *error)
{
	if (reader->at != reader->size)
		return refuse(reader, error, "something follows the end");
	if (reader->ops != reader->info.ops || reader->blocks != reader->info.blocks ||
	    reader->blocks - reader->freed != reader->info.left ||
	    reader->tick != reader->info.ticks)
		return refuse(reader, error, "the operations are not those of the header");
	return 0;
}

/* 1: there is one; 0: that was the last; -EINVAL. */
static int next_part(struct hq_trace_reader *reader, struct hq_error *error)
{
	const uint8_t *const head = reader->data + reader->at;
	const uint64_t left = reader->size - reader->at;
	uint32_t packed_bytes, raw_bytes, ops;

	reader->part_at = reader->at;
	if (left < HQ_TRACE_HEAD_BYTES)
		return refuse(reader, error, "the file ends here, and the trace does not");
	packed_bytes = hq_trace_get32(head);
	raw_bytes = hq_trace_get32(head + 4);
	ops = hq_trace_get32(head + 8);
	if (packed_bytes > left - HQ_TRACE_HEAD_BYTES)
		return refuse(reader, error, "the file ends within this part");
	/* The checksum's own bytes lie between what it is of. */
	if (hq_trace_get32(head + 12) !=
	    (uint32_t)crc32(crc32(0, head, 12), head + HQ_TRACE_HEAD_BYTES, packed_bytes))
		return refuse(reader, error, "the part is damaged (wrong checksum)");
	reader->at += HQ_TRACE_HEAD_BYTES + packed_bytes;
	if (ops == 0)
		return packed_bytes || raw_bytes
			       ? refuse(reader, error, "a part without operations")
			       : finish(reader, error);
	if (ops > HQ_TRACE_PART_OPS || raw_bytes > sizeof(reader->raw))
		return refuse(reader, error, "the part is too large");
	if (!inflate_part(reader, head + HQ_TRACE_HEAD_BYTES, packed_bytes, raw_bytes))
		return refuse(reader, error, "the part cannot be unpacked");
	return find_columns(reader, raw_bytes, ops, error) ? -EINVAL : 1;
}

/* ---- operations ---- */

static bool take(struct hq_trace_reader *reader, enum hq_trace_column column, uint64_t *value)
{
	struct hq_trace_column_left *const left = &reader->columns[column];

	return hq_trace_get_varint(&left->at, left->end, value);
}

static bool is_live(const struct hq_trace_reader *reader, uint64_t block)
{
	return reader->live[block / 8] >> block % 8 & 1;
}

static void set_live(struct hq_trace_reader *reader, uint64_t block, bool live)
{
	const uint8_t bit = (uint8_t)(1u << block % 8);

	if (live)
		reader->live[block / 8] |= bit;
	else
		reader->live[block / 8] &= (uint8_t)~bit;
}

/* Which block, for what makes one and for what needs one. */
static const char *take_block(struct hq_trace_reader *reader, struct hq_trace_op *op)
{
	uint64_t back;

	if (hq_trace_makes_block(op->kind)) {
		if (reader->blocks >= reader->info.blocks)
			return "more blocks than the header says";
		op->block = (uint32_t)reader->blocks++;
		set_live(reader, op->block, true);
		return NULL;
	}
	if (!take(reader, HQ_TRACE_BACKS, &back))
		return "the block is missing";
	if (back >= reader->blocks || !is_live(reader, reader->blocks - 1 - back))
		return "no such block is live";
	op->block = (uint32_t)(reader->blocks - 1 - back);
	if (op->kind == HQ_TRACE_FREE) {
		set_live(reader, op->block, false);
		reader->freed++;
	}
	return NULL;
}

static const char *take_size(struct hq_trace_reader *reader, struct hq_trace_op *op)
{
	uint64_t shift = 0;

	op->size = 0;
	op->alignment_shift = 0;
	if (op->kind == HQ_TRACE_FREE)
		return NULL;
	if (op->kind == HQ_TRACE_ALIGNED && !take(reader, HQ_TRACE_SIZES, &shift))
		return "the alignment is missing";
	if (shift > HQ_TRACE_ALIGNMENT_MAX)
		return "no such alignment is possible";
	op->alignment_shift = (uint8_t)shift;
	if (!take(reader, HQ_TRACE_SIZES, &op->size))
		return "the size is missing";
	return op->size > HQ_TRACE_SIZE_MAX ? "no such size is possible" : NULL;
}

static const char *take_op(struct hq_trace_reader *reader, struct hq_trace_op *op)
{
	const uint8_t byte = *reader->columns[HQ_TRACE_OPS].at++;
	uint64_t later = 0, thread = reader->thread;
	const char *wrong;

	op->kind = byte & HQ_TRACE_KIND_MASK;
	if (op->kind >= HQ_TRACE_KIND_COUNT ||
	    (byte & ~(HQ_TRACE_KIND_MASK | HQ_TRACE_LATER | HQ_TRACE_SWITCHED)))
		return "an unknown kind of operation";
	if (byte & HQ_TRACE_LATER &&
	    (!take(reader, HQ_TRACE_TICKS, &later) || later > INT64_MAX - reader->tick))
		return "its time is missing, or beyond all time";
	if (byte & HQ_TRACE_SWITCHED && !take(reader, HQ_TRACE_NUMBERS, &thread))
		return "its thread is missing";
	if (thread >= reader->info.threads)
		return "a thread that the header does not know";
	wrong = take_block(reader, op);
	if (!wrong)
		wrong = take_size(reader, op);
	op->tick = reader->tick += later;
	op->thread = reader->thread = (uint32_t)thread;
	return wrong;
}

/* All columns must have been used up with the last operation. */
static bool is_used_up(const struct hq_trace_reader *reader)
{
	for (uint32_t i = 0; i < HQ_TRACE_COLUMNS; i++)
		if (reader->columns[i].at != reader->columns[i].end)
			return false;
	return true;
}

int hq_trace_next(struct hq_trace_reader *reader, struct hq_trace_op *op, struct hq_error *error)
{
	const char *wrong;

	if (reader->part_ops == 0) {
		const int status = next_part(reader, error);

		if (status <= 0)
			return status;
	}
	wrong = take_op(reader, op);
	if (wrong)
		return refuse(reader, error, wrong);
	reader->ops++;
	if (--reader->part_ops == 0 && !is_used_up(reader))
		return refuse(reader, error, "the part says more than its operations need");
	return 1;
}
