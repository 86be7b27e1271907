/* SPDX-License-Identifier: MIT */
/*
 * The memory limit of the control group that the process lives in.
 *
 * It is read once, when an option asks for it: the least limit of the group and all groups
 * around it, as far as they can be seen from here. Version 2 and version 1, nothing allocated.
 */
#ifndef BEDROCK_CGROUP_H
#define BEDROCK_CGROUP_H

#include <stdint.h>

/*
 * `membership` is the text of /proc/self/cgroup, `root` the folder that stands for
 * /sys/fs/cgroup. -> the limit in bytes, or 0: none, or none to be seen.
 */
uint64_t bedrock_cgroup_limit_of(const char *root, const char *membership);

/* The same for this process. */
uint64_t bedrock_cgroup_limit(void);

#endif
