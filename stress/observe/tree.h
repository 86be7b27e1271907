/* SPDX-License-Identifier: MIT */
/*
 * Resident memory of a program with all processes that it has started and that are still its
 * descendants: a shell is small and the compiler below it is not. A process that lost its parent on
 * purpose, as a daemon does, is no longer seen.
 */
#ifndef HQ_STRESS_OBSERVE_TREE_H
#define HQ_STRESS_OBSERVE_TREE_H

#include <stdint.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

/* Anonymous resident memory of all of them now; pages that a fork shares count once. */
uint64_t hq_tree_read_bytes(pid_t target);

/* When the next reading is due; zero at first. */
struct hq_tree_pace {
	uint64_t due_ns;
};

/*
 * A reading while the program works, `time_ns` since `go`, into seen->tree_peak_bytes; most calls
 * do nothing, so that readings are at most a hundred a second and take at most one part in twenty
 * of the time.
 */
void hq_tree_follow(pid_t target, uint64_t time_ns, struct hq_tree_pace *pace,
		    struct hq_observations *seen);

#endif
