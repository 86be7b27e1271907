/* SPDX-License-Identifier: MIT */
/*
 * From what was seen, calls with addresses in the order of their times, to a trace, in which each
 * block has a number: whoever has calls from somewhere (our recorder, another tool's file) gives
 * them to a builder.
 *
 * Calls may have been lost, and what remains must still make sense. So a free of what is not live
 * is left out; an address that is given out while it is live was freed before, by a call that was
 * lost; and so on. Each such repair is counted.
 */
#ifndef HQ_STRESS_TRACE_BUILDER_H
#define HQ_STRESS_TRACE_BUILDER_H

#include "stress/trace/live.h"
#include "stress/trace/writer.h"

enum hq_trace_seen {
	HQ_SEEN_FREE,   /* before the block was given back */
	HQ_SEEN_MALLOC, /* and the following: after the block was given out */
	HQ_SEEN_CALLOC,
	HQ_SEEN_ALIGNED,
	HQ_SEEN_RESIZE_FROM, /* before a realloc of a block ... */
	HQ_SEEN_RESIZE_TO,   /* ... and after it, by the same thread; alone: of NULL */
	HQ_SEEN_END,         /* a process is gone, with all its blocks */
};

struct hq_trace_event {
	uint64_t time_ns;
	uint64_t address; /* below 2^48; 0: refused */
	uint64_t size;
	uint32_t thread; /* any number below HQ_TRACE_THREADS */
	uint16_t space;  /* whose addresses: one number for each process */
	uint8_t kind;    /* enum hq_trace_seen */
	uint8_t alignment_shift;
};

struct hq_trace_repairs {
	uint64_t unknown_frees;   /* of what nobody had got: left out */
	uint64_t missing_frees;   /* the address was given out anew: a free was put before */
	uint64_t unknown_resizes; /* of what nobody had got: became a malloc */
	uint64_t torn_resizes;    /* their end was lost: became a free */
	uint64_t swapped; /* a free came just before its malloc, by another thread's clock */
};

#define HQ_TRACE_PARKED 64u

/* A free whose malloc has not come. */
struct hq_trace_parked {
	uint64_t key, time_ns;
	uint32_t thread;
};

/* A thread as it is seen, and what it is in the middle of. */
struct hq_trace_thread {
	uint32_t number; /* in the trace, plus 1; 0: it has none yet */
	bool resizes;
	bool is_known; /* the block that it resizes */
	uint64_t key;
	struct hq_live_block block;
};

struct hq_trace_builder {
	struct hq_trace_writer writer;
	struct hq_trace_repairs repairs;
	uint64_t refused; /* calls answered NULL: not in the trace */
	uint64_t closed;  /* frees put in at the end of a process that was not the last */
	struct hq_live live;
	uint64_t live_bytes;
	struct hq_trace_thread *threads;
	uint32_t thread_count;
	bool has_begun;
	uint64_t begin_ns, tick;
	struct hq_trace_parked parked[HQ_TRACE_PARKED];
	uint32_t parked_next;
};

/* 0 or -errno. Close it in either case. */
int hq_trace_builder_open(struct hq_trace_builder *builder, int fd, uint64_t bytes_max,
			  uint32_t tick_ns);
/* The next call that was seen. 0 or -errno. */
int hq_trace_build(struct hq_trace_builder *builder, const struct hq_trace_event *event);
/* `lost` calls are known not to have been seen. 0 or -errno. */
int hq_trace_builder_finish(struct hq_trace_builder *builder, uint64_t lost);
void hq_trace_builder_close(struct hq_trace_builder *builder);

uint64_t hq_trace_repairs_sum(const struct hq_trace_repairs *repairs);

#endif
