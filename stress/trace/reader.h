/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace from memory. Whatever the bytes are, each answer is an operation that makes sense
 * after those before it, or an error with the place in the file: a block is freed once, and only
 * after it was made.
 *
 * It allocates nothing, since it also reads in the process whose allocator is under test.
 */
#ifndef HQ_STRESS_TRACE_READER_H
#define HQ_STRESS_TRACE_READER_H

#include "stress/trace/layout.h"

#define HQ_TRACE_INFLATE_BYTES 65536u

struct hq_trace_column_left {
	const uint8_t *at, *end;
};

struct hq_trace_reader {
	struct hq_trace_info info;
	const uint8_t *data;
	uint64_t size;
	uint64_t at;       /* of the part after this one */
	uint64_t part_at;  /* of this part, for errors */
	uint32_t part_ops; /* not read yet */
	uint64_t ops;      /* read so far */
	uint64_t blocks, freed;
	uint64_t tick;
	uint32_t thread;
	uint8_t *live; /* a bit for each block */
	struct hq_trace_column_left columns[HQ_TRACE_COLUMNS];
	uint64_t arena_used;
	_Alignas(16) uint8_t arena[HQ_TRACE_INFLATE_BYTES]; /* for zlib */
	uint8_t raw[HQ_TRACE_RAW_BYTES];
};

/* The totals alone, from the first bytes of a file of `size` bytes. 0, or -EINVAL and a sentence.
 */
int hq_trace_read_info(const uint8_t *data, uint64_t size, struct hq_trace_info *info,
		       struct hq_error *error);

/* Bytes that `live` must have. */
static inline uint64_t hq_trace_live_bytes(const struct hq_trace_info *info)
{
	return info->blocks / 8 + 1;
}

/* `live` is zeroed memory; all three must stay until the end. 0, or -EINVAL and a sentence. */
int hq_trace_reader_start(struct hq_trace_reader *reader, const uint8_t *data, uint64_t size,
			  uint8_t *live, struct hq_error *error);

/* 1: *op is the next one; 0: that was all, and it agrees with the totals; -EINVAL and a sentence.
 */
int hq_trace_next(struct hq_trace_reader *reader, struct hq_trace_op *op, struct hq_error *error);

#endif
