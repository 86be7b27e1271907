/* SPDX-License-Identifier: MIT */
/*
 * The clock of the controller and of the host. What is preloaded into the target asks the kernel
 * itself (syscall/raw.h).
 */
#ifndef HQ_INJECTORS_CLOCK_H
#define HQ_INJECTORS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
static inline uint64_t hq_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread. */
static inline uint64_t hq_thread_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

#endif
