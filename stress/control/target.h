/* SPDX-License-Identifier: MIT */
/*
 * From plan to process: which file to start, with which arguments and environment, and which
 * mechanism can carry out the plan's rules in it.
 */
#ifndef HQ_STRESS_CONTROL_TARGET_H
#define HQ_STRESS_CONTROL_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "stress/plan/plan.h"

/* Where our own programs are: beside the running binary. */
struct hq_programs {
	char heapquake[PATH_MAX];
	char host[PATH_MAX];
	char preload[PATH_MAX];
	char guard[PATH_MAX];
	char recorder[PATH_MAX];
};

/* 0, or -errno with a sentence when one of them is missing or cannot be used where it is. */
int hq_programs_find(struct hq_programs *programs, struct hq_error *error);

struct hq_launch {
	char **argv; /* of the target, {run} replaced */
	char **env;
	char **driver; /* NULL: none */
	bool preloads; /* the preloaded library can be expected to report */
};

/*
 * Builds the launch of a plan whose run folder is `folder` and whose wire is found at `wire_path`.
 * 0 or -errno. Free with hq_launch_clear, also after a failure.
 */
int hq_launch_build(struct hq_launch *launch, const struct hq_plan *plan,
		    const struct hq_programs *programs, const char *folder, const char *wire_path);
void hq_launch_clear(struct hq_launch *launch);

/*
 * The mechanism for the plan's rules: the one asked for, else the cheapest that serves the program.
 * -EINVAL with a sentence where the one asked for cannot carry out a rule or serve the program.
 */
int hq_mechanism_resolve(const struct hq_plan *plan, enum hq_mechanism *mechanism,
			 struct hq_error *error);
const char *hq_mechanism_name(enum hq_mechanism mechanism);

#endif
