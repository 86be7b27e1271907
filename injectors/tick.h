/* SPDX-License-Identifier: MIT */
/*
 * The time stamp counter, where the machine has one that user code may read; what its speed is, and
 * whether it can be trusted, is found out by whoever calibrates it. It is the same in all threads
 * and processes.
 */
#ifndef HQ_INJECTORS_TICK_H
#define HQ_INJECTORS_TICK_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define HQ_HAS_TICKS 1
#else
#define HQ_HAS_TICKS 0
#endif

/* 0 where there is none. */
static inline uint64_t hq_tick_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

#endif
