/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own counters of a target: peak, quiet readings, faults, switches, migrations, CPU
 * time.
 */
#ifndef HQ_STRESS_OBSERVE_USAGE_H
#define HQ_STRESS_OBSERVE_USAGE_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

/* Before the gate opens: resets VmHWM (clear_refs 5), notes rss_start and space_start. */
void hq_usage_start(pid_t target, struct hq_observations *seen);

/* A reading of smaps_rollup and maps at a quiet point, `time_ns` since `go`; appended to
 * seen->quiet. */
void hq_usage_quiet(pid_t target, enum hq_quiet_point point, uint64_t time_ns,
		    struct hq_observations *seen);

/* Resident memory by the cheap count of pages (statm); 0 for a process that is gone. */
uint64_t hq_usage_rss_bytes(pid_t process);

/*
 * VmHWM, which counts file pages and shared memory as well; what there is of them now is taken off.
 * 0 for a process that is gone.
 */
uint64_t hq_usage_peak_bytes(pid_t process);

/*
 * A reading that may be the last one: VmHWM and migrations over the target's threads. Called now
 * and then and as late as possible; values only rise.
 */
void hq_usage_update(pid_t target, struct hq_observations *seen);

/* The final word on faults, switches and CPU time, from wait4. */
void hq_usage_finish(const struct rusage *rusage, struct hq_observations *seen);

#endif
