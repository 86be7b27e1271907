/* SPDX-License-Identifier: MIT */
/*
 * Threads on stacks of the host's own: those of libc would be advised away by libc when a thread
 * ends, and count as private memory, in the middle of what is measured. Stacks in shared memory
 * mean that the host must never fork, but on its first thread, whose stack is its own.
 */
#ifndef HQ_STRESS_HOST_THREAD_H
#define HQ_STRESS_HOST_THREAD_H

#include <pthread.h>
#include <stddef.h>

struct hq_host_thread {
	pthread_t id;
	char *stack;
	size_t stack_bytes; /* with its guard */
};

/* 0 or an errno, as pthread_create has it. */
int hq_host_thread_create(struct hq_host_thread *thread, void *(*body)(void *argument),
			  void *argument);

/* After the join: the stack goes back. */
void hq_host_thread_forget(struct hq_host_thread *thread);

#endif
