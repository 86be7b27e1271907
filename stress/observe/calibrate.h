/* SPDX-License-Identifier: MIT */
/* The time stamp counter against CLOCK_MONOTONIC_RAW. */
#ifndef HQ_STRESS_OBSERVE_CALIBRATE_H
#define HQ_STRESS_OBSERVE_CALIBRATE_H

#include <stdint.h>

/*
 * Nanoseconds per tick as 32.32 fixed point, from two readings of at least 20 ms each that agree
 * within 0.1 %; 0 where the counter does not run at a constant rate or they do not agree.
 */
uint64_t hq_calibrate_ns_per_tick(void);

#endif
