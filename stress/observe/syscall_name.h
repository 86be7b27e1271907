/* SPDX-License-Identifier: MIT */
/*
 * Names for the system calls in which threads of a program are usually found.
 */
#ifndef HQ_STRESS_OBSERVE_SYSCALL_NAME_H
#define HQ_STRESS_OBSERVE_SYSCALL_NAME_H

#include <stddef.h>

/* "futex", or "system call 123" for one without a name here; returns `text`. */
const char *hq_syscall_name(long number, char *text, size_t size);

#endif
