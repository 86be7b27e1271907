/* SPDX-License-Identifier: MIT */
/*
 * The memory that the recorder in a program and the controller share while calls are recorded: one
 * memfd, found by its path in the environment.
 *
 *   raw     contains  the threads that ever recorded, and chunks
 *   chunk             belongs to one thread at a time, which writes records into it
 *   record            a call: two or three words
 *
 * A chunk goes round: FREE, taken by a thread and written to, FULL, read by the controller, FREE.
 * When none is free, the call is not recorded and counts as lost: no program waits for us. What was
 * written stays readable when the program is killed.
 *
 * Order of recording: a free is stamped before the call, an allocation after it, realloc twice. So
 * of two calls on one address, the one that was first has the earlier stamp, in whatever threads.
 */
#ifndef HQ_STRESS_TRACE_RAW_H
#define HQ_STRESS_TRACE_RAW_H

#include <time.h>

#include "injectors/atomic.h"
#include "stress/trace/builder.h"

#define HQ_RAW_ENV     "HEAPQUAKE_TRACE" /* "/proc/PID/fd/N" */
#define HQ_RAW_MAGIC   0x7761726571706168ull
#define HQ_RAW_VERSION 1u
#define HQ_RAW_THREADS 16384u
#define HQ_RAW_CHUNKS  1024u
#define HQ_RAW_WORDS   8190u
#define HQ_RAW_RECORD  3u /* words of the longest record */
#define HQ_RAW_SPACES  65535u

enum hq_raw_state {
	HQ_RAW_FREE,  /* to TAKEN: the thread that gets it */
	HQ_RAW_TAKEN, /* to FULL: its thread, or the controller once that is gone */
	HQ_RAW_FULL,  /* to FREE: the controller */
};

/* A chunk's state, with the thread's index above it. */
#define HQ_RAW_STATE_MASK  3u
#define HQ_RAW_OWNER_SHIFT 2u

struct hq_raw_chunk {
	_Atomic uint32_t state;
	_Atomic uint32_t used; /* words; its thread, and 0 by the controller before it is free */
	uint32_t number;       /* of the thread's chunks, counted up; its thread */
	uint32_t reserved;
	uint64_t words[HQ_RAW_WORDS];
};

/* One thread; it is the only writer. */
struct hq_raw_thread {
	uint32_t space;
	uint32_t process, id; /* as the kernel numbers them */
	_Atomic uint32_t ready;
	_Atomic uint64_t lost; /* calls that found no chunk */
};

struct hq_raw {
	uint64_t magic;
	uint32_t version;
	uint32_t uses_clock; /* controller: 1: stamps are nanoseconds, there is no good counter */
	uint64_t size;
	uint32_t with_children;   /* controller: 1: all processes record, not the first alone */
	_Atomic uint32_t stop;    /* controller: 1: no more */
	_Atomic uint32_t process; /* the first that attached */
	_Atomic uint32_t spaces;  /* counted up by whoever attaches, and the following too */
	_Atomic uint32_t refused; /* programs that bring a malloc of their own */
	_Atomic uint32_t threads; /* that ever recorded; may be more than there is room for */
	_Atomic uint64_t lost_threads; /* calls of threads for which there was none */
	_Atomic uint32_t next;         /* where a free chunk may be */
	struct hq_raw_thread thread[HQ_RAW_THREADS];
	struct hq_raw_chunk chunk[HQ_RAW_CHUNKS];
};

/* Word 0: the stamp. Word 1: address, kind (enum hq_trace_seen), power of two. Word 2: the size. */
#define HQ_RAW_ADDRESS     ((1ull << 48) - 1)
#define HQ_RAW_KIND_SHIFT  48u
#define HQ_RAW_ALIGN_SHIFT 56u

static inline uint64_t hq_raw_word(const void *address, uint64_t kind, uint64_t alignment_shift)
{
	return ((uint64_t)(uintptr_t)address & HQ_RAW_ADDRESS) | kind << HQ_RAW_KIND_SHIFT |
	       alignment_shift << HQ_RAW_ALIGN_SHIFT;
}

/* The two that end a block have no size. */
static inline uint32_t hq_raw_words_of(uint64_t kind)
{
	return kind == HQ_SEEN_FREE || kind == HQ_SEEN_RESIZE_FROM ? 2 : 3;
}

static inline uint64_t hq_raw_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t hq_raw_stamp(bool uses_clock)
{
#if defined(__x86_64__)
	if (__builtin_expect(!uses_clock, 1))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	if (__builtin_expect(!uses_clock, 1)) {
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	(void)uses_clock;
	return hq_raw_clock_ns();
}

#endif
