/* SPDX-License-Identifier: MIT */
/*
 * The memory limits of the control group that the process lives in.
 *
 * They are read once, when an option asks for them: the least of each kind of the group and all
 * groups around it, as far as they can be seen from here. Version 2 and version 1, nothing
 * allocated.
 */
#ifndef BEDROCK_CGROUP_H
#define BEDROCK_CGROUP_H

#include <stdint.h>

enum bedrock_cgroup_bound {
	/* Beyond it the group is out of memory: memory.max, or memory.limit_in_bytes. */
	BEDROCK_CGROUP_MAX,
	/*
	 * Beyond it the kernel reclaims from whoever allocates, and makes it wait: memory.high.
	 * Version 1 has nothing like it: its soft limit says who is reclaimed from when the machine
	 * is short.
	 */
	BEDROCK_CGROUP_HIGH,
	BEDROCK_CGROUP_BOUND_COUNT,
};

/*
 * `membership` is the text of /proc/self/cgroup, `root` the folder that stands for
 * /sys/fs/cgroup. -> the bound in bytes, or 0: none, or none to be seen.
 */
uint64_t bedrock_cgroup_bound_of(const char *root, const char *membership,
				 enum bedrock_cgroup_bound bound);

/* The same for this process. */
uint64_t bedrock_cgroup_bytes(enum bedrock_cgroup_bound bound);

#endif
