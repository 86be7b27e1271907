/* SPDX-License-Identifier: MIT */
/* A close look at a thread that spins through a system call that nobody counts. */
#ifndef HQ_STRESS_OBSERVE_STUCK_TRACE_H
#define HQ_STRESS_OBSERVE_STUCK_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Follows the thread by ptrace for about 60 ms. True if it made calls: *number is the one it made
 * most recently, *per_second how often any. Being followed slows it down, so the rate is a lower
 * bound. False where ptrace is not permitted or nothing was called. The thread goes on afterwards.
 */
bool hq_stuck_trace(pid_t tid, long *number, double *per_second);

#endif
