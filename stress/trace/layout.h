/* SPDX-License-Identifier: MIT */
/*
 * How a trace lies in its file, for its writer and its reader: the header, the part, and numbers of
 * variable length. All numbers are little-endian, and written byte by byte.
 *
 *   file    header, parts, an empty part
 *   part    head (how long, how many operations, a checksum), then the compressed columns
 *   columns what the operations of a part say of one thing, one after the other: alike bytes lie
 *           together, and compress
 */
#ifndef HQ_STRESS_TRACE_LAYOUT_H
#define HQ_STRESS_TRACE_LAYOUT_H

#include "stress/trace/trace.h"

#define HQ_TRACE_MAGIC        "HQTRACE\n"
#define HQ_TRACE_HEADER_BYTES 128u
#define HQ_TRACE_HEAD_BYTES   16u /* of a part */
#define HQ_TRACE_PART_OPS     16384u
#define HQ_TRACE_VARINT_BYTES 10u

enum hq_trace_column {
	HQ_TRACE_OPS,     /* a byte each: kind, and which of the following columns say something */
	HQ_TRACE_TICKS,   /* that went by since the operation before, if any */
	HQ_TRACE_NUMBERS, /* of the thread, if it is another one than before */
	HQ_TRACE_SIZES,   /* of ALIGNED behind its power of two; not of FREE */
	HQ_TRACE_BACKS,   /* how many blocks ago the block was made, of FREE and RESIZE */
	HQ_TRACE_COLUMNS,
};

/* In the byte of an operation. */
#define HQ_TRACE_KIND_MASK 0x07u
#define HQ_TRACE_LATER     0x08u
#define HQ_TRACE_SWITCHED  0x10u

/* No column of a part can be longer: a size may stand behind a power of two. */
#define HQ_TRACE_COLUMN_BYTES (HQ_TRACE_PART_OPS * (HQ_TRACE_VARINT_BYTES + 1))
#define HQ_TRACE_RAW_BYTES    (4u * HQ_TRACE_COLUMNS + HQ_TRACE_COLUMNS * HQ_TRACE_COLUMN_BYTES)

static inline void hq_trace_put32(uint8_t *to, uint32_t value)
{
	for (uint32_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static inline void hq_trace_put64(uint8_t *to, uint64_t value)
{
	hq_trace_put32(to, (uint32_t)value);
	hq_trace_put32(to + 4, (uint32_t)(value >> 32));
}

static inline uint32_t hq_trace_get32(const uint8_t *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
	       (uint32_t)from[3] << 24;
}

static inline uint64_t hq_trace_get64(const uint8_t *from)
{
	return hq_trace_get32(from) | (uint64_t)hq_trace_get32(from + 4) << 32;
}

/* Seven bits a byte, the lowest first; the top bit says that more follow. How many bytes. */
static inline uint32_t hq_trace_put_varint(uint8_t *to, uint64_t value)
{
	uint32_t length = 0;

	for (; value >= 0x80; value >>= 7)
		to[length++] = (uint8_t)(value | 0x80);
	to[length++] = (uint8_t)value;
	return length;
}

/* False: it goes on beyond `end`, or beyond 64 bits. */
static inline bool hq_trace_get_varint(const uint8_t **from, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;

	for (uint32_t shift = 0; *from < end && shift < 64; shift += 7) {
		const uint8_t byte = *(*from)++;

		if (shift == 63 && byte > 1)
			return false;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = sum;
			return true;
		}
	}
	return false;
}

#endif
