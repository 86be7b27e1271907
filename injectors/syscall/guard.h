/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait under a signal mask of their own: a signal handler that runs meanwhile inherits
 * that mask. If SIGSYS were in it, the first trap in the handler would kill the process. The filter
 * diverts these calls where they bring a mask, and the trap re-issues them without SIGSYS in it.
 */
#ifndef HQ_INJECTORS_SYSCALL_GUARD_H
#define HQ_INJECTORS_SYSCALL_GUARD_H

#include <stddef.h>
#include <sys/syscall.h>

struct hq_guarded_wait {
	long number;
	int mask_argument; /* index of the pointer to the mask */
	int is_indirect;   /* it points to a struct of pointer and size */
};

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static const struct hq_guarded_wait hq_guarded_waits[] = {
	{ SYS_epoll_pwait, 4, 0 }, { SYS_epoll_pwait2, 4, 0 },  { SYS_ppoll, 3, 0 },
	{ SYS_pselect6, 5, 1 },    { SYS_rt_sigsuspend, 0, 0 },
};

#define HQ_GUARDED_WAITS (sizeof(hq_guarded_waits) / sizeof(hq_guarded_waits[0]))

#endif
