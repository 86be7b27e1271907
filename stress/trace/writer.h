/* SPDX-License-Identifier: MIT */
/*
 * Writing a trace into an open file. The header, which tells the totals, is written last.
 *
 * A file has a bound that it never exceeds: the part that would do so is left out, and it and all
 * that follows is counted as cut.
 */
#ifndef HQ_STRESS_TRACE_WRITER_H
#define HQ_STRESS_TRACE_WRITER_H

#include "stress/trace/layout.h"

/* A file with a smaller bound could hold nothing. */
#define HQ_TRACE_FILE_MIN 65536u

struct hq_trace_writer {
	struct hq_trace_info info; /* blocks live and peaks are the caller's to keep */
	struct hq_trace_info kept; /* as it was before this part */
	int fd;
	uint64_t bytes, bytes_max;
	bool is_full;
	uint64_t tick;
	uint32_t thread;
	uint32_t part_ops;
	uint32_t lengths[HQ_TRACE_COLUMNS];
	uint8_t *columns[HQ_TRACE_COLUMNS];
	uint8_t *raw, *packed;
};

/* 0 or -errno. Close it in either case. */
int hq_trace_writer_open(struct hq_trace_writer *writer, int fd, uint64_t bytes_max,
			 uint32_t tick_ns);

/*
 * The next operation. Blocks are made in the order of their numbers; ticks never go back. 0 or
 * -errno.
 */
int hq_trace_write(struct hq_trace_writer *writer, const struct hq_trace_op *op);

/* The rest, the end and the header. 0 or -errno. */
int hq_trace_writer_finish(struct hq_trace_writer *writer);
void hq_trace_writer_close(struct hq_trace_writer *writer);

#endif
