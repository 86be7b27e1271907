/* SPDX-License-Identifier: MIT */
/*
 * What a run leaves behind in the process that drives it and on the machine: a mark before
 * anything is begun, and a comparison when everything was put back.
 */
#ifndef HQ_STRESS_OBSERVE_RESIDUE_H
#define HQ_STRESS_OBSERVE_RESIDUE_H

#include <sched.h>
#include <sys/resource.h>

#include "stress/observe/observation.h"

struct hq_residue_mark {
	struct hq_residue_counts counts;
	cpu_set_t affinity;
	struct rlimit limits[RLIM_NLIMITS];
};

void hq_residue_mark(struct hq_residue_mark *mark);

/*
 * Fills in seen->residue with what is there now and was not before. What goes away by itself, such
 * as a thread that was just joined, is waited for, half a second at most.
 */
void hq_residue_compare(const struct hq_residue_mark *mark, struct hq_observations *seen);

#endif
