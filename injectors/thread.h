/* SPDX-License-Identifier: MIT */
/*
 * Threads of the controller. Signals are for the one thread that knows what to do with them, so no
 * other one gets any.
 */
#ifndef HQ_INJECTORS_THREAD_H
#define HQ_INJECTORS_THREAD_H

#include <pthread.h>

/* Starts a thread in which all signals are blocked. 0 or -errno. */
int hq_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument);

#endif
