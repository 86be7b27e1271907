/* SPDX-License-Identifier: MIT */
/*
 * The clock of the host for the length of one call: the time stamp counter. The controller measures
 * the counter's speed once (ns_per_tick, 32.32 fixed point); 0 means that there is no usable
 * counter, and then the clock is read instead.
 */
#ifndef HQ_STRESS_HOST_CLOCK_H
#define HQ_STRESS_HOST_CLOCK_H

#include <stdint.h>

#include "injectors/clock.h"
#include "injectors/tick.h"

static inline uint64_t hq_clock_ticks(uint64_t ns_per_tick)
{
	return HQ_HAS_TICKS && ns_per_tick != 0 ? hq_tick_now() : hq_now_ns();
}

/* Nanoseconds from `start` until `end`, 0 if a migration made the counter step back. */
static inline uint64_t hq_clock_between(uint64_t start, uint64_t end, uint64_t ns_per_tick)
{
	const uint64_t ticks = end > start ? end - start : 0;

#if defined(__x86_64__) || defined(__aarch64__)
	if (ns_per_tick != 0)
		return (uint64_t)(((unsigned __int128)ticks * ns_per_tick) >> 32);
#endif
	return ticks;
}

#endif
