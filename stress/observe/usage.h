/* SPDX-License-Identifier: MIT */
/*
 * What the kernel counted for the target: faults, switches, migrations, times, and its peak.
 *
 * The counters cover the life of the process. Those that the kernel keeps per thread (switches,
 * migrations) are lost with a thread, so they are read several times while the target lives and the
 * largest sum is kept; when the target had no children of its own, the switches come from wait4,
 * which knows all threads. Children of the target are not counted.
 */
#ifndef HQ_STRESS_OBSERVE_USAGE_H
#define HQ_STRESS_OBSERVE_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

struct hq_usage {
	bool has_stat;       /* at least one reading succeeded */
	bool has_children;   /* the target has waited for children of its own */
	bool has_migrations; /* this kernel tells them */
	uint64_t minor_faults, major_faults;
	uint64_t user_ns, system_ns;
	uint64_t voluntary_switches, involuntary_switches, migrations;
	uint64_t rss_start_bytes; /* anonymous, at hq_usage_start */
	uint64_t rss_peak_bytes;  /* VmHWM less shared, since hq_usage_start */
};

/* When the gate opens: empties *usage, restarts the kernel's peak, reads the resident memory. */
void hq_usage_start(struct hq_usage *usage, pid_t target);

/* Any number of times; the last best between the target's death and its reaping (waitid, WNOWAIT).
 */
void hq_usage_update(struct hq_usage *usage, pid_t target);

/* After reaping; `rusage` is what wait4 gave, or NULL. */
void hq_usage_finish(const struct hq_usage *usage, const struct rusage *rusage,
		     struct hq_observations *seen);

/*
 * Resident and lazily freed anonymous memory from smaps_rollup: exact, but it takes milliseconds
 * per 100 MiB, so only for quiet points. Leaves time_ns to the caller. 0 or -errno.
 */
int hq_usage_quiet(pid_t target, struct hq_quiet *quiet);

#endif
