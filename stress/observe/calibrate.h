/* SPDX-License-Identifier: MIT */
/*
 * How long a tick of the time stamp counter is, so that the target can time a call without a system
 * call or the some 25 ns of clock_gettime.
 */
#ifndef HQ_STRESS_OBSERVE_CALIBRATE_H
#define HQ_STRESS_OBSERVE_CALIBRATE_H

#include <stdint.h>

/*
 * Nanoseconds per tick of the counter (rdtsc, cntvct_el0) in 32.32 fixed point, measured for some
 * 20 ms against CLOCK_MONOTONIC_RAW; 0 where there is no counter that ticks steadily on all CPUs,
 * or two measurements differ by more than a thousandth.
 */
uint64_t hq_calibrate_ns_per_tick(void);

#endif
