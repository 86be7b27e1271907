/* SPDX-License-Identifier: MIT */
/*
 * Evidence about a target that makes no progress: where each of its threads is. Looks for some 250
 * ms, so that a thread that spins through one call again and again is told from one that sleeps in
 * it.
 */
#ifndef HQ_STRESS_OBSERVE_STUCK_H
#define HQ_STRESS_OBSERVE_STUCK_H

#include <stddef.h>
#include <sys/types.h>

#include "injectors/syscall/plane.h"
#include "stress/observe/observation.h"

/*
 * Fills in at most `room` threads of the living target and returns how many. `plane` (may be NULL)
 * gives calls per second where a rule counts the call.
 */
size_t hq_stuck_look(pid_t target, const struct hq_plane *plane, struct hq_stuck_thread *threads,
		     size_t room);

#endif
