/* SPDX-License-Identifier: MIT */
/*
 * The guard: a library preloaded between an unmodified program and its allocator. It forwards each
 * call of the malloc family and looks at what comes back. What its files share.
 *
 * It never allocates, locks, waits or prints, and holds nothing across a call of the allocator: a
 * signal handler, a fork or a thread may come at any point. Without a wire that asks for it, it
 * only forwards.
 *
 *   interpose.c  the exported functions of C
 *   operators.c  the exported operators of C++
 *   watch.c      what is looked at before and after a call
 *   blocks.c     which memory belongs to live blocks
 *   next.c       the allocator behind, and memory for calls that come before it is found
 *   attach.c     finds the wire
 *   report.c     writes what is wrong into the wire, and what is left at the end
 *   site.c       names the place in a program that made a call
 */
#ifndef HQ_STRESS_GUARD_GUARD_H
#define HQ_STRESS_GUARD_GUARD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/guard/blocks.h"
#include "stress/wire/wire.h"

#define HQ_GUARD_EXPORT __attribute__((visibility("default")))
#define HQ_GUARD_CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

enum hq_guard_phase {
	HQ_GUARD_NEW,
	HQ_GUARD_STARTING, /* looks for the allocator behind; calls are served from the arena */
	HQ_GUARD_READY,
};

/* The allocator's functions. */
struct hq_guard_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable_size)(void *);
	bool usable_is_its_own; /* malloc and malloc_usable_size come from one object */
};

struct hq_guard {
	_Atomic uint32_t phase; /* enum hq_guard_phase */
	bool watches;
	bool tails;
	uint32_t every;
	uint64_t tail_key;
	struct hq_wire *wire;
	struct hq_guard_next next;
	/* Something was seen or missed after which a free cannot be judged any more. */
	_Atomic uint32_t frees_unknown;
	struct hq_blocks blocks;
};

struct hq_guard_self {
	uint32_t depth;   /* calls of the allocator that this thread is in */
	uint32_t to_skip; /* blocks until one is watched again */
	uint64_t calls;   /* not yet added to the wire */
	uint64_t drawn;   /* state of the draw of `to_skip` */
	uint64_t nested;  /* block that a nested call entered; 0: none */
};

extern struct hq_guard hq_guard;
extern __thread struct hq_guard_self hq_guard_self;

/* ---- next.c ---- */

/* False while the allocator is being looked for: the arena has to serve the call. */
bool hq_guard_start(void);
void *hq_guard_arena_alloc(size_t alignment, size_t size);
bool hq_guard_arena_owns(const void *address);
/* How many bytes of the arena follow the address; at least the block's size. */
size_t hq_guard_arena_room(const void *address);

static inline bool hq_guard_ready(void)
{
	/* Pairs with the release in hq_guard_start. */
	return hq_load_acquire(&hq_guard.phase) == HQ_GUARD_READY || hq_guard_start();
}

/* ---- attach.c ---- */

/* Maps the wire that the environment names, if it asks for a guard; NULL if not. */
struct hq_wire *hq_guard_attach(void);

/* ---- report.c ---- */

void hq_guard_event(struct hq_event event, uint64_t caller);
void hq_guard_count_calls(void);

/* ---- site.c ---- */

/* "redis-server+0x4f10"; "" if no file is mapped there. */
void hq_guard_site(uint64_t address, char site[HQ_EVENT_SITE]);

/* ---- watch.c ---- */

/* One call, from before it is handed on until its result was looked at. */
struct hq_guard_call {
	uint64_t caller;
	size_t size;      /* as the program asked */
	size_t ask;       /* what the allocator is asked for */
	size_t alignment; /* that the result must have */
	bool watched;
};

struct hq_guard_call hq_guard_begin(size_t size, size_t alignment, uint64_t caller);
/* Looks at a result; `failure` is the error of the call if the result is NULL. */
void *hq_guard_end(const struct hq_guard_call *call, void *block, int failure);

void *hq_guard_malloc(size_t size, uint64_t caller);
void *hq_guard_aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size,
		       uint64_t caller);
void *hq_guard_calloc(size_t count, size_t size, uint64_t caller);
void *hq_guard_realloc(void *block, size_t size, uint64_t caller);
void hq_guard_free(void *block, uint64_t caller);
size_t hq_guard_usable_size(void *block);

/* C asks for alignment to every type that fits; 16 is that of max_align_t on both our machines. */
static inline size_t hq_guard_promised(size_t size)
{
	return size >= 16 ? 16 : size >= 8 ? 8 : 1;
}

/* Functions that are asked for an odd alignment may round it or refuse; none is promised then. */
static inline size_t hq_guard_sound(size_t alignment)
{
	return alignment && (alignment & (alignment - 1)) == 0 ? alignment : 1;
}

/* An alignment that is refused is no failure of the allocator. */
static inline int hq_guard_failure(const void *block, int failure)
{
	return block || failure == EINVAL ? ENOMEM : failure;
}

#endif
