/* SPDX-License-Identifier: MIT */
/*
 * The curve of resident memory: a thread that reads /proc/PID/statm at a steady pace.
 *
 * It runs from before the gate opens until after the target's death, so it keeps absolute times;
 * samples from before the origin are left out in the end. Memory is bounded: when the room is used
 * up, every second sample is given up and from then on every second (fourth, ...) reading is kept,
 * while the largest reading is still remembered exactly. It sees the process itself, not its
 * children.
 */
#ifndef HQ_STRESS_OBSERVE_SAMPLER_H
#define HQ_STRESS_OBSERVE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

struct hq_sampler;

struct hq_sampler_settings {
	pid_t target;
	uint64_t period_ns; /* 0: 1 ms */
	size_t capacity;    /* samples kept at most; 0: a million */
};

/* Starts the thread. 0 or -errno. */
int hq_sampler_start(struct hq_sampler **sampler, const struct hq_sampler_settings *settings);

/* Times count from here (CLOCK_MONOTONIC); without it nothing was observed. */
void hq_sampler_set_origin(struct hq_sampler *sampler, uint64_t go_ns);

/* Anonymous resident memory at the latest reading; 0 before the first one. */
uint64_t hq_sampler_latest_bytes(const struct hq_sampler *sampler);

/*
 * Ends the thread, hands samples, missed ticks, core share and peak over to *seen (NULL: forgets
 * them), and frees the sampler. A NULL sampler is left alone.
 */
void hq_sampler_stop(struct hq_sampler *sampler, struct hq_observations *seen);

#endif
