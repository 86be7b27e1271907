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

static inline uint64_t hq_clock_ticks(uint64_t ns_per_tick)
{
	if (ns_per_tick == 0)
		return hq_now_ns();
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return hq_now_ns();
#endif
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
