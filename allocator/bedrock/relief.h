/* SPDX-License-Identifier: MIT */
/*
 * What is done when memory is short: at the soft limit, and when the hard limit refuses a charge.
 *
 * A request that was refused is helped in steps, each followed by another try: credit is
 * collected from all arenas; unused pages are purged; the thread's own cache is emptied and
 * purged; the application's callbacks are called, and what they freed is purged. Then it
 * fails. The work for one refused request is bounded, in bytes and calls, and whatever did not help
 * is not repeated before there is something new to gain or a back-off is over: a storm of refused
 * requests costs the kernel nothing.
 *
 * Beyond the soft limit the same is done for nobody's sake, a little every few milliseconds,
 * and thread caches shrink as their threads come by.
 */
#ifndef BEDROCK_RELIEF_H
#define BEDROCK_RELIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/limit.h"
#include "allocator/bedrock/lock.h"

struct bedrock_heap;

struct bedrock_relief_callback {
	bedrock_pressure_function *function;
	void *argument;
};

/* lock covers the callbacks: the first callback_count are in use. */
struct bedrock_relief {
	struct bedrock_lock lock;
	_Atomic(uint32_t) callback_count;
	struct bedrock_relief_callback callbacks[BEDROCK_PRESSURE_CALLBACKS_MAX];
	/* 1 while a thread is calling them; others then do not. Deregistration waits on it. */
	_Atomic(uint32_t) is_calling;
	/* The last purge gained nothing of so many bytes; not repeated for them before this time.
	 */
	_Atomic(uint64_t) futile_bytes;
	_Atomic(uint64_t) purge_again_ns;
	_Atomic(uint32_t) futile_purges;
	/* When callbacks may be called again, by pressure, and the soft limit acts again. */
	_Atomic(uint64_t) call_again_ns[BEDROCK_PRESSURE_COUNT];
	_Atomic(uint64_t) soft_again_ns;
	/* Thread caches that have not seen this number shrink at their next slow path. */
	_Atomic(uint32_t) shrink_epoch;
};

/* How far relief has gone for one request; zero but for wanted_bytes at first. */
struct bedrock_relief_course {
	uint64_t wanted_bytes;
	uint32_t step;
};

void bedrock_relief_init(struct bedrock_relief *relief);

/* A request was refused: do the next thing that may help. Holds no lock. -> try again? */
bool bedrock_relief_next(struct bedrock_heap *heap, struct bedrock_relief_course *course);

/* The part of bedrock_relief_tick beyond the soft limit. */
void bedrock_relief_soften(struct bedrock_heap *heap);

/* The end of a slow path. No lock is held, and the thread's cache is whole. */
static inline void bedrock_relief_tick(struct bedrock_heap *heap, const struct bedrock_limit *limit)
{
	if (bedrock_unlikely(bedrock_limit_is_pressed(limit)))
		bedrock_relief_soften(heap);
}

/* In the child of a fork no other thread is calling. */
void bedrock_relief_forget_others(struct bedrock_relief *relief);

#endif
