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
 *   realloc.c    the same for realloc, which is both a malloc and a free
 *   tail.c       known bytes behind each block
 *   blocks.c     which memory belongs to live blocks
 *   origin.c     who allocated and who freed them
 *   start.c      the allocator behind, and whether there is something to watch
 *   attach.c     finds the wire
 *   report.c     writes what is wrong into the wire, and what is left at the end
 *   site.c       names places in a program
 *   trail.c      the calls that led to a place
 */
#ifndef HQ_STRESS_GUARD_GUARD_H
#define HQ_STRESS_GUARD_GUARD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/between/between.h"
#include "stress/guard/blocks.h"
#include "stress/guard/origin.h"
#include "stress/wire/wire.h"

#define HQ_GUARD_CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

#define HQ_GUARD_CALLS_AT_ONCE 64u /* counted by a thread before the wire is told */
#define HQ_GUARD_USABLE_EVERY  16u /* watched blocks until the usable size is asked for again */

enum hq_guard_phase {
	HQ_GUARD_NEW,
	HQ_GUARD_STARTING, /* looks for the allocator behind; calls are served from the arena */
	HQ_GUARD_READY,
};

struct hq_guard {
	_Atomic uint32_t phase;  /* enum hq_guard_phase */
	_Atomic uint32_t passes; /* 1: watches, and not every block */
	bool watches;
	bool tails;
	uint32_t every;
	uint64_t tail_key;
	struct hq_wire *wire;
	struct hq_next next;
	/* Something was seen or missed after which a free cannot be judged any more. */
	_Atomic uint32_t frees_unknown;
	_Atomic uint32_t threads; /* that have drawn: no two draw the same */
	struct hq_blocks blocks;
	struct hq_origins origins;
};

struct hq_guard_self {
	uint64_t depth;   /* calls of the allocator that this thread is in */
	uint32_t to_skip; /* blocks until one is watched again; 0: the next one, or the guard is
			     not ready or watches all */
	uint32_t skips;   /* what `to_skip` was drawn as */
	uint32_t to_ask;  /* watched blocks until a usable size is asked for */
	uint32_t tid;     /* 0: not asked yet */
	uint64_t calls;   /* not yet added to the wire */
	uint64_t drawn;   /* state of the draw of `to_skip`; 0: none yet */
	uint64_t nested;  /* block that a nested call entered; 0: none */
};

extern struct hq_guard hq_guard;
extern __thread struct hq_guard_self hq_guard_self;

/* ---- start.c ---- */

/* False while the allocator is being looked for: the arena has to serve the call. */
bool hq_guard_start(void);

static inline bool hq_guard_ready(void)
{
	/* Pairs with the release in hq_guard_start. */
	return hq_load_acquire(&hq_guard.phase) == HQ_GUARD_READY || hq_guard_start();
}

/* ---- attach.c ---- */

/* Maps the wire that the environment names, if it asks for a guard; NULL if not. */
struct hq_wire *hq_guard_attach(void);

/* ---- report.c ---- */

/* `other` is the block that the event is about, if that is not the event's own; else 0. */
void hq_guard_event(struct hq_event event, uint64_t caller, uint64_t other);
void hq_guard_count_calls(void);
uint32_t hq_guard_ask_tid(void);

/* ---- site.c ---- */

struct hq_guard_place {
	uint64_t address;
	char *site; /* HQ_EVENT_SITE bytes: "redis-server+0x4f10"; "" if no file is mapped there */
};

void hq_guard_sites(struct hq_guard_place *places, uint32_t count);

/* ---- trail.c ---- */

/* The places that led to `caller`, innermost first, without itself: how many. */
uint32_t hq_guard_trail(uint64_t caller, uint64_t trail[HQ_GUARD_TRAIL]);

/* ---- watch.c ---- */

struct hq_guard_call;

void hq_guard_look_at_passed(void *block, size_t size, uint64_t caller);
bool hq_guard_draw(struct hq_guard_self *self);
/* True if an inner call entered the block already, and this one is not looked at. */
bool hq_guard_was_nested(const struct hq_guard_call *call, void *block);
void *hq_guard_look(const struct hq_guard_call *call, void *block, int failure);
/* `shared` is an address in the first unit that a live block covers as well. */
void hq_guard_overlaps(const struct hq_guard_call *call, const void *block, uint64_t shared);
/* The bits of a watched block are set: what else there is to do. */
void hq_guard_entered(const struct hq_guard_call *call, void *block);
/* Frees cannot be judged from now on. */
void hq_guard_frees_are_unknown(void);
/* The program gave back what is no block: true if that is certain. */
bool hq_guard_is_no_block(void *block, uint64_t caller);
uint64_t hq_guard_leave(void *block, uint64_t caller);
struct hq_event hq_guard_event_of(uint32_t kind, const void *block, uint64_t size);

void *hq_guard_malloc(size_t size, uint64_t caller);
void *hq_guard_aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size,
		       uint64_t caller);
int hq_guard_posix_memalign(void **result, size_t alignment, size_t size, uint64_t caller);
/* For valloc and pvalloc. */
void *hq_guard_paged(void *(*function)(size_t), size_t size, uint64_t caller);
void *hq_guard_calloc(size_t count, size_t size, uint64_t caller);
void hq_guard_free(void *block, uint64_t caller);
size_t hq_guard_usable_size(void *block, uint64_t caller);

/* ---- realloc.c ---- */

void *hq_guard_realloc(void *block, size_t size, uint64_t caller);

/* ---- tail.c ---- */

void hq_guard_put_tail(uint8_t *block, const struct hq_guard_call *call);
/* Bytes that certainly belong to the program, of a block entered with `size`. */
uint64_t hq_guard_sure_size(const void *block, uint64_t size, uint64_t caller);
/* Has a block that was entered with `size` a tail? */
static inline bool hq_guard_may_have_tail(uint64_t address, uint64_t size)
{
	return hq_guard.tails && address % HQ_BLOCKS_UNIT == 0 && size < HQ_BLOCKS_COVERED;
}

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

#endif
