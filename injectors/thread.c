/* SPDX-License-Identifier: MIT */
/* Starting threads that get no signals: a new thread inherits the mask of the one that made it. */
#include "injectors/thread.h"

#include <signal.h>

int hq_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int error = pthread_create(thread, NULL, body, argument);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}
