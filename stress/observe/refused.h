/* SPDX-License-Identifier: MIT */
/*
 * What became of the ranges that the kernel refused to take back: how much of them is resident now.
 * The faults that were drained so far say which ranges; the target's pagemap says what is there.
 */
#ifndef HQ_STRESS_OBSERVE_REFUSED_H
#define HQ_STRESS_OBSERVE_REFUSED_H

#include <sys/types.h>

#include "stress/observe/observation.h"

/* Fills in seen->refused. To be called when the target is idle for the last time. */
void hq_refused_read(pid_t target, struct hq_observations *seen);

#endif
