/* SPDX-License-Identifier: MIT */
/*
 * What a target has mapped: address space, anonymous memory, number of mappings. The number is only
 * to be had by reading all of /proc/PID/maps, which takes time and the target's lock of its address
 * space; so readings while it works are rare, and rarer still where one takes long.
 */
#ifndef HQ_STRESS_OBSERVE_SPACE_H
#define HQ_STRESS_OBSERVE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stress/observe/observation.h"

/* False, and *space unchanged, when the target is gone. */
bool hq_space_read(pid_t target, struct hq_space *space);

/* Sums up the text of a maps file, line by line; what is no whole line is left out. */
void hq_space_sum(const char *line, struct hq_space *space);

/* Enters a reading into start (if it is the first), end and peak. */
void hq_space_enter(const struct hq_space *space, struct hq_observations *seen);

/* When the next reading is due; all zero at first. */
struct hq_space_pace {
	uint64_t due_ns;
	uint64_t period_ns; /* doubles whenever the series is full and has been thinned out */
};

/*
 * A reading while the target works, `time_ns` since `go`; most calls do nothing, so that readings
 * are at most ten a second and take at most one part in fifty of the time.
 */
void hq_space_follow(pid_t target, uint64_t time_ns, struct hq_space_pace *pace,
		     struct hq_observations *seen);

/* Keeps a reading in the series. True: it was full, and every second reading had to go. */
bool hq_space_keep(const struct hq_space_sample *sample, struct hq_observations *seen);

#endif
