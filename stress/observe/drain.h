/* SPDX-License-Identifier: MIT */
/*
 * Takes what the target wrote into the shared memory: rings while it works (some twenty times a
 * second, or they overflow), counters and histograms in the end. Works just as well when the target
 * is dead. Arrays grow up to a bound; what found no room is counted as dropped.
 */
#ifndef HQ_STRESS_OBSERVE_DRAIN_H
#define HQ_STRESS_OBSERVE_DRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "stress/observe/observation.h"
#include "stress/wire/wire.h"

struct hq_drain {
	struct hq_wire *wire;
	struct hq_fault_seen *faults;
	size_t fault_count, fault_room;
	struct hq_event *events;
	size_t event_count, event_room;
	uint64_t faults_dropped,
		events_dropped; /* by us; what the rings dropped is counted there */
	uint64_t requested_peak_bytes;
};

void hq_drain_init(struct hq_drain *drain, struct hq_wire *wire);

/* Empties the rings and looks at the sum of requested bytes. */
void hq_drain_take(struct hq_drain *drain);

/*
 * Takes the rest and hands everything over to *seen: events, faults, totals of rules and workers,
 * merged histograms (with a built-in workload), slots claimed. Empties the drain.
 */
void hq_drain_finish(struct hq_drain *drain, struct hq_observations *seen);

/* Frees what was taken, on ways out without hq_drain_finish. */
void hq_drain_clear(struct hq_drain *drain);

/* Faults made so far, for the display of progress. */
uint64_t hq_drain_fired(const struct hq_wire *wire);
/* Operations completed so far by all workers: the progress that the watchdog watches. */
uint64_t hq_drain_ops(const struct hq_wire *wire);

#endif
