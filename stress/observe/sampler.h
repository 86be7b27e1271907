/* SPDX-License-Identifier: MIT */
/*
 * The curve of resident memory: a thread that reads a kept /proc/PID/statm descriptor each period.
 * Memory of the samples is bounded: when it is full, every second sample is given up and the period
 * doubled.
 */
#ifndef HQ_STRESS_OBSERVE_SAMPLER_H
#define HQ_STRESS_OBSERVE_SAMPLER_H

#include <stdint.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

struct hq_sampler;

/* Starts sampling at once. 0 or -errno. */
int hq_sampler_start(struct hq_sampler **sampler, pid_t target, uint64_t period_ns);

/* Anonymous resident memory now, by a reading of its own; 0 once the target is gone. */
uint64_t hq_sampler_read_bytes(const struct hq_sampler *sampler);

/* The newest sample, for the progress display. */
uint64_t hq_sampler_latest_bytes(const struct hq_sampler *sampler);

/*
 * Stops and moves the samples into *seen, with times since `origin_ns` (CLOCK_MONOTONIC; samples
 * before it are left out). Frees the sampler.
 */
void hq_sampler_stop(struct hq_sampler *sampler, uint64_t origin_ns, struct hq_observations *seen);

#endif
