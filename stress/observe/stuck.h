/* SPDX-License-Identifier: MIT */
/* The watchdog's evidence: what each thread of a target that makes no progress is doing. */
#ifndef HQ_STRESS_OBSERVE_STUCK_H
#define HQ_STRESS_OBSERVE_STUCK_H

#include <sys/types.h>

#include "stress/observe/observation.h"
#include "stress/wire/wire.h"

/*
 * Looks at the target's threads for about a quarter of a second and fills in seen->stuck, the
 * busiest first. Calls per second come from the plane's counts of the thread (wire may be NULL).
 */
void hq_stuck_look(pid_t target, const struct hq_wire *wire, struct hq_observations *seen);

#endif
