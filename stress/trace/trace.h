/* SPDX-License-Identifier: MIT */
/*
 * Allocation traces: the calls of the malloc family that a program made, as a file that can be
 * replayed on any allocator. docs/traces.md has the format byte by byte.
 *
 *   trace  contains  info (its totals), then operations in the order in which they happened
 *   operation        a call: when, by which thread, of which block, how large
 *   block            what one allocation gave, from then until it is freed; numbered from 0
 *
 * A trace holds no content, no address, no name and no place in a program: there is nothing in it
 * to scrub.
 */
#ifndef HQ_STRESS_TRACE_TRACE_H
#define HQ_STRESS_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

#define HQ_TRACE_VERSION       1u
#define HQ_TRACE_SUFFIX        ".hqtrace"
#define HQ_TRACE_THREADS       65536u      /* of one trace, at most */
#define HQ_TRACE_BLOCKS        0xfffffff0u /* the same */
#define HQ_TRACE_SIZE_MAX      (1ull << 47)
#define HQ_TRACE_ALIGNMENT_MAX 40u /* as a power of two */

enum hq_trace_kind {
	HQ_TRACE_FREE,
	HQ_TRACE_MALLOC,
	HQ_TRACE_CALLOC,
	HQ_TRACE_ALIGNED, /* posix_memalign and all its relatives */
	HQ_TRACE_RESIZE,  /* realloc of a block, which keeps its number */
	HQ_TRACE_KIND_COUNT,
};

struct hq_trace_op {
	uint64_t tick; /* since the first operation; see tick_ns */
	uint64_t size;
	uint32_t block;
	uint32_t thread;
	uint8_t kind;            /* enum hq_trace_kind */
	uint8_t alignment_shift; /* of ALIGNED */
};

struct hq_trace_info {
	uint32_t tick_ns;
	uint32_t threads;
	uint64_t ops;
	uint64_t blocks;
	uint64_t left;                    /* blocks that nobody freed */
	uint64_t ticks;                   /* from the first operation to the last */
	uint64_t peak_bytes, peak_blocks; /* live at one time */
	/* Of the recording: calls that were lost, that did not fit together and were left out or
	 * completed, and that came after the file had reached its bound. */
	uint64_t lost, repaired, cut;
};

static inline bool hq_trace_makes_block(uint32_t kind)
{
	return kind == HQ_TRACE_MALLOC || kind == HQ_TRACE_CALLOC || kind == HQ_TRACE_ALIGNED;
}

#endif
