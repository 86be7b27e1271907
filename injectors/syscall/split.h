/* SPDX-License-Identifier: MIT */
/*
 * Would a change of this range split a mapping in two? Asked of the kernel, one range at a time.
 */
#ifndef HQ_INJECTORS_SYSCALL_SPLIT_H
#define HQ_INJECTORS_SYSCALL_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if [start, end), both at page boundaries, lies strictly inside one mapping of the process
 * whose /proc/PID/maps is open as `maps_fd`. False as well if that cannot be told.
 */
bool hq_split_inside(int maps_fd, uint64_t start, uint64_t end);

#endif
