/* SPDX-License-Identifier: MIT */
/*
 * Counters of perf_event_open: what the processor and the scheduler counted while the target ran,
 * from its exec to its end, with every thread and process that it started. What a machine, a
 * container or a setting does not let us count has a reason instead of a value, and nothing fails.
 */
#ifndef HQ_STRESS_OBSERVE_COUNTERS_H
#define HQ_STRESS_OBSERVE_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

/* The counters of one run; all zero before hq_counters_open. */
struct hq_counters {
	bool opened;
	struct hq_counter_slot {
		int fd;     /* -1: not counted */
		int status; /* 0, or -errno of the opening */
		bool user_only;
	} slots[HQ_COUNTER_COUNT];
};

/* The metric it becomes, "hardware.cycles". */
const char *hq_counter_metric(enum hq_counter counter);

/* True for what the processor counts, false for what the kernel does. */
bool hq_counter_is_hardware(enum hq_counter counter);

/* HQ_COUNTER_COUNT if no counter has that name. */
enum hq_counter hq_counter_find(const char *metric);

/* For a process that waits to exec: it is counted from then on. */
void hq_counters_open(pid_t pid, struct hq_counters *counters);

/* Reads each counter into seen->counted and closes them. Nothing without hq_counters_open. */
void hq_counters_finish(struct hq_counters *counters, struct hq_observations *seen);

/* Tries a counter on ourselves. 0, 1: of user code only, or -errno. */
int hq_counter_probe(enum hq_counter counter);

/* Why a counter cannot be had, for a person: what -errno of hq_counter_probe means here. */
const char *hq_counter_why(int status);

/*
 * From what the kernel returned: the count, scaled up if the counter shared the processor's with
 * others. One that never ran is not known.
 */
struct hq_counted hq_counter_scale(uint64_t value, uint64_t enabled_ns, uint64_t running_ns);

#endif
