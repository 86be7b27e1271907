/* SPDX-License-Identifier: MIT */
/*
 * The recorder: a library preloaded between an unmodified program and its allocator. It forwards
 * each call of the malloc family and writes it down: when, by which thread, which block, how large.
 * What its files share.
 *
 * It never allocates, locks, waits or prints. Where nobody asks for a recording, and in processes
 * that are not to be recorded, it only forwards.
 *
 *   interpose.c  the exported functions of C
 *   operators.c  the exported operators of C++
 *   note.c       chunks: getting one, leaving one, doing without
 *   start.c      the allocator behind, and the memory to write to
 */
#ifndef HQ_STRESS_RECORDER_RECORDER_H
#define HQ_STRESS_RECORDER_RECORDER_H

#include <pthread.h>

#include "stress/between/between.h"
#include "stress/trace/raw.h"

enum hq_recorder_phase {
	HQ_RECORDER_NEW,
	HQ_RECORDER_STARTING, /* looks for the allocator behind; calls are served from the arena */
	HQ_RECORDER_READY,
};

struct hq_recorder {
	_Atomic uint32_t phase; /* enum hq_recorder_phase */
	bool uses_clock;
	bool has_key;
	struct hq_next next;
	struct hq_raw *raw; /* NULL: nothing is recorded */
	/* A page that the kernel clears in a child of fork: 1 where this process records. */
	_Atomic uint32_t *is_own;
	uint32_t space;
	pthread_key_t key; /* tells when a thread ends */
};

struct hq_recorder_self {
	struct hq_raw_chunk *chunk; /* NULL: none */
	uint32_t depth;             /* calls of the allocator that this thread is in */
	uint32_t index;             /* in raw->thread, plus 1; 0: it has none yet */
	uint32_t chunks;            /* that it has had */
	uint32_t to_skip;           /* calls until a chunk is looked for again */
};

extern struct hq_recorder hq_recorder;
extern __thread struct hq_recorder_self hq_recorder_self;

/* ---- start.c ---- */

/* False while the allocator is being looked for: the arena has to serve the call. */
bool hq_recorder_start(void);
/* In a child of fork: goes on as a process of its own, or not at all. */
void hq_recorder_forked(void);

static inline bool hq_recorder_ready(void)
{
	/* Pairs with the release in hq_recorder_start. */
	return HQ_BETWEEN_LIKELY(hq_load_acquire(&hq_recorder.phase) == HQ_RECORDER_READY) ||
	       hq_recorder_start();
}

/* ---- note.c ---- */

/* A chunk with room for a record; NULL: the call is lost, and counted. */
struct hq_raw_chunk *hq_recorder_take_chunk(void);

/* Room for a record of `words`; NULL: none. */
static inline uint64_t *hq_recorder_room(struct hq_recorder_self *self)
{
	struct hq_raw_chunk *chunk = self->chunk;

	if (HQ_BETWEEN_UNLIKELY(!chunk || !hq_load_relaxed(hq_recorder.is_own) ||
				hq_load_relaxed(&chunk->used) + HQ_RAW_RECORD > HQ_RAW_WORDS)) {
		chunk = hq_recorder_take_chunk();
		if (!chunk)
			return NULL;
	}
	return chunk->words + hq_load_relaxed(&chunk->used);
}

/* Pairs with the acquire of the controller: the record is written. */
static inline void hq_recorder_publish(struct hq_recorder_self *self, uint32_t words)
{
	hq_count_own_release(&self->chunk->used, words);
}

/* A block was given out; `self->depth` is not 0 meanwhile, so a signal handler stays out. */
static inline void hq_recorder_gave(struct hq_recorder_self *self, enum hq_trace_seen kind,
				    const void *block, size_t size, uint64_t shift)
{
	uint64_t *const words = hq_recorder_room(self);

	if (HQ_BETWEEN_UNLIKELY(!words))
		return;
	words[0] = hq_raw_stamp(hq_recorder.uses_clock);
	/* An alignment that was refused may be beyond all sense. */
	words[1] = hq_raw_word(block, kind, block ? shift : 0);
	words[2] = size;
	hq_recorder_publish(self, 3);
}

/* A block is about to be given back. */
static inline void hq_recorder_takes(struct hq_recorder_self *self, enum hq_trace_seen kind,
				     const void *block)
{
	uint64_t *const words = hq_recorder_room(self);

	if (HQ_BETWEEN_UNLIKELY(!words))
		return;
	words[0] = hq_raw_stamp(hq_recorder.uses_clock);
	words[1] = hq_raw_word(block, kind, 0);
	hq_recorder_publish(self, 2);
}

/*
 * True: the call is the program's own, and not one that the allocator makes of itself; then
 * hq_recorder_leave must follow in either case.
 */
static inline bool hq_recorder_enter(struct hq_recorder_self *self)
{
	return self->depth++ == 0 && hq_recorder.raw;
}

static inline void hq_recorder_leave(struct hq_recorder_self *self)
{
	self->depth--;
}

/* ---- interpose.c, for the operators ---- */

void *hq_recorder_malloc(size_t size);
void *hq_recorder_memalign(size_t alignment, size_t size);
void hq_recorder_free(void *block);

#endif
