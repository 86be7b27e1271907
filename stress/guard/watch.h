/* SPDX-License-Identifier: MIT */
/*
 * What is done around each call, as far as nothing is wrong: inline, because it is in the way of
 * every malloc and free. What is found wrong goes to watch.c.
 *
 * Two ways lead through the guard. A call whose turn it is (every one, unless the guard samples)
 * is looked at from all sides. Of one that is not looked at, malloc asks whether its block lies in
 * one that is watched, and free whether this is one.
 */
#ifndef HQ_STRESS_GUARD_WATCH_H
#define HQ_STRESS_GUARD_WATCH_H

#include "stress/guard/guard.h"
#include "stress/guard/leaf.h"

#define HQ_GUARD_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* One call, from before it is handed on until its result was looked at. */
struct hq_guard_call {
	uint64_t caller;
	size_t size;      /* as the program asked */
	size_t ask;       /* what the allocator is asked for */
	size_t alignment; /* that the result must have */
	bool watched;
};

/* ---- calls whose turn it is not ---- */

/* True: the call is handed on as it is, and its block goes through hq_guard_passed. */
__attribute__((always_inline)) static inline bool hq_guard_passes(void)
{
	struct hq_guard_self *const self = &hq_guard_self;

	/* Above 0 only where a guard that samples is ready. */
	if (self->to_skip == 0)
		return false;
	self->to_skip--;
	self->depth++;
	return true;
}

/* The block of a call that was handed on; inlined, it knows its function's caller. */
__attribute__((always_inline)) static inline void *hq_guard_passed(void *block, size_t size)
{
	hq_guard_self.depth--;
	if (HQ_GUARD_UNLIKELY(!block ||
			      !hq_blocks_are_clear(&hq_guard.blocks, (uintptr_t)block, size)))
		hq_guard_look_at_passed(block, size, HQ_GUARD_CALLER);
	return block;
}

/* True: a free of this block needs nothing but to be handed on. */
static inline bool hq_guard_frees_pass(const void *block)
{
	/* Pairs with the release in hq_guard_start. */
	if (!hq_load_acquire(&hq_guard.passes) || hq_between_arena_owns(block) ||
	    hq_blocks_may_begin(&hq_guard.blocks, (uintptr_t)block))
		return false;
	hq_guard_self.calls++;
	return true;
}

/* ---- calls that are looked at ---- */

static inline void hq_guard_count(struct hq_guard_self *self)
{
	if (HQ_GUARD_UNLIKELY(++self->calls >= HQ_GUARD_CALLS_AT_ONCE))
		hq_guard_count_calls();
}

/* Should this call be looked at? */
static inline bool hq_guard_draws(struct hq_guard_self *self)
{
	return hq_guard.every == 1 || hq_guard_draw(self);
}

static inline size_t hq_guard_with_tail(size_t size)
{
	if (!hq_guard.tails || size >= HQ_BLOCKS_COVERED - 2 * HQ_BLOCKS_UNIT)
		return size;
	return ((size + 7) & ~(size_t)7) + HQ_BLOCKS_UNIT;
}

static inline struct hq_guard_call hq_guard_begin(size_t size, size_t alignment, uint64_t caller)
{
	struct hq_guard_self *const self = &hq_guard_self;
	struct hq_guard_call call = {
		.caller = caller, .size = size, .ask = size, .alignment = alignment
	};

	if (HQ_GUARD_UNLIKELY(!hq_guard.watches))
		return call;
	hq_guard_count(self);
	if (self->depth++ == 0)
		self->nested = 0;
	call.ask = hq_guard_with_tail(size);
	call.watched = hq_guard_draws(self);
	return call;
}

static inline uint32_t hq_guard_tid(void)
{
	const uint32_t tid = hq_guard_self.tid;

	return tid ? tid : hq_guard_ask_tid();
}

/* Looks at a result; `failure` is the error of the call if the result is NULL. */
static inline void *hq_guard_end(const struct hq_guard_call *call, void *block, int failure)
{
	struct hq_guard_self *const self = &hq_guard_self;
	uint64_t shared = HQ_LEAF_NONE;

	if (HQ_GUARD_UNLIKELY(!hq_guard.watches))
		return block;
	if (HQ_GUARD_UNLIKELY(--self->depth || self->nested) && hq_guard_was_nested(call, block))
		return block;
	if (HQ_GUARD_UNLIKELY(!block || !call->watched ||
			      ((uintptr_t)block & (call->alignment - 1)) != 0 ||
			      !hq_blocks_enter_quickly(&hq_guard.blocks, (uintptr_t)block,
						       call->ask, &shared)))
		return hq_guard_look(call, block, failure);
	if (HQ_GUARD_UNLIKELY(shared != HQ_LEAF_NONE))
		hq_guard_overlaps(call, block, shared << HQ_LEAF_UNIT_BITS);
	hq_guard_entered(call, block);
	return block;
}

#endif
