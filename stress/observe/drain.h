/* SPDX-License-Identifier: MIT */
/*
 * Taking what the target wrote into the wire: rings while it runs, sums at the end. All of it works
 * on a target that was killed.
 */
#ifndef HQ_STRESS_OBSERVE_DRAIN_H
#define HQ_STRESS_OBSERVE_DRAIN_H

#include "stress/observe/observation.h"
#include "stress/wire/wire.h"

/* Empties the rings into seen->events and seen->faults (bounded; what finds no room is counted). */
void hq_drain(struct hq_wire *wire, struct hq_observations *seen);

/* Once the target is gone: rule totals, slots, workers' sums, merged histograms, times since `go`.
 */
void hq_drain_finish(struct hq_wire *wire, uint64_t go_ns, struct hq_observations *seen);

/* Faults fired so far, and operations completed so far: for the display and the watchdog. */
uint64_t hq_drain_fired(const struct hq_wire *wire);
uint64_t hq_drain_ops(const struct hq_wire *wire);

#endif
