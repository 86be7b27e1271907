/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the kernel's tracepoints, by which perf_event_open knows them. They are files of
 * tracefs. Where nobody has mounted that, a child process does in a mount namespace of its own, so
 * that nothing is left of it.
 */
#ifndef HQ_STRESS_OBSERVE_TRACEPOINT_H
#define HQ_STRESS_OBSERVE_TRACEPOINT_H

/* "raw_syscalls/sys_enter": its number, or -errno. */
int hq_tracepoint_number(const char *name);

#endif
