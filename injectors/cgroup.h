/* SPDX-License-Identifier: MIT */
/*
 * A memory control group of our own: made below (or beside) the group we are in, limited, entered,
 * read and removed. Both kernel interfaces, v2 and v1, are behind one set of calls.
 *
 * Groups are named heapquake-PID-N after the process that made them, so that leftovers of a dead
 * process can be recognised. Nothing outside of such a group is ever changed or killed.
 */
#ifndef HQ_INJECTORS_CGROUP_H
#define HQ_INJECTORS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "injectors/error.h"

#define HQ_CGROUP_PATH_SIZE 512

enum hq_cgroup_version { HQ_CGROUP_V1 = 1, HQ_CGROUP_V2 = 2 };

struct hq_cgroup {
	enum hq_cgroup_version version;
	int procs_fd;                   /* cgroup.procs, open for writing */
	char path[HQ_CGROUP_PATH_SIZE]; /* "": there is no group */
};

struct hq_cgroup_limits {
	uint64_t max_bytes;
	uint64_t high_bytes; /* throttle from here on; 0: do not; v2 only */
	uint64_t swap_bytes; /* swap on top of max_bytes */
};

/* What the kernel counted since the group was made. */
struct hq_cgroup_counts {
	uint64_t failures; /* charges that met the limit (or memory.high) */
	uint64_t kills;    /* by the group's own out-of-memory killer */
	uint64_t now_bytes;
	uint64_t peak_bytes; /* now_bytes where the kernel keeps no peak */
};

/*
 * The directory of the group that `membership` (the text of /proc/self/cgroup) names, below the
 * mount that `mountinfo` (the text of /proc/self/mountinfo) shows for that version. 0 or -ENOENT.
 */
int hq_cgroup_locate(const char *mountinfo, const char *membership, enum hq_cgroup_version version,
		     char path[HQ_CGROUP_PATH_SIZE]);

/* Makes an empty, unlimited group. 0 or -errno with the file at fault in *reason. */
int hq_cgroup_create(struct hq_cgroup *group, enum hq_cgroup_version version,
		     struct hq_error *reason);

/* The same below `parent`. */
int hq_cgroup_create_in(struct hq_cgroup *group, enum hq_cgroup_version version, const char *parent,
			struct hq_error *reason);

/* Sets the limits and reads them back. 0 or -errno with the file at fault in *reason. */
int hq_cgroup_limit(const struct hq_cgroup *group, const struct hq_cgroup_limits *limits,
		    struct hq_error *reason);

/* Moves the calling process into the group; async-signal-safe. 0 or -errno. */
int hq_cgroup_enter(const struct hq_cgroup *group);

void hq_cgroup_read(const struct hq_cgroup *group, struct hq_cgroup_counts *counts);

/*
 * Kills what is still in the group, waits a bounded time for it to go, and removes the group. May
 * be called twice. 0, or -errno if the group is still there (hq_cgroup_sweep will try again).
 */
int hq_cgroup_destroy(struct hq_cgroup *group);

/* Removes the groups of processes of ours that no longer exist. */
void hq_cgroup_sweep(void);
/* How many groups of that process are left. */
size_t hq_cgroup_left(pid_t owner);
void hq_cgroup_sweep_in(enum hq_cgroup_version version, const char *parent);

#endif
