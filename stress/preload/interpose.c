/* SPDX-License-Identifier: MIT */
/*
 * The functions that the library puts before the C library's, to learn who is whose child. They
 * must not allocate: what a new thread is to run waits in an array that is indexed like the plane's
 * slots.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "stress/preload/preload.h"

#define EXPORT __attribute__((visibility("default")))

void hq_interpose_resolve(void)
{
	if (!hq_preload.pthread_create)
		*(void **)&hq_preload.pthread_create = dlsym(RTLD_NEXT, "pthread_create");
	if (!hq_preload.fork)
		*(void **)&hq_preload.fork = dlsym(RTLD_NEXT, "fork");
}

static void *run_thread(void *argument)
{
	const uint32_t index = (uint32_t)(uintptr_t)argument;
	void *result;

	hq_identity_adopt(index);
	result = hq_preload.threads[index].start(hq_preload.threads[index].arg);
	hq_store_relaxed(&hq_preload.plane->threads[index].exited, 1);
	return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *arg)
{
	const int index = hq_preload.plane ? hq_identity_reserve() : -1;
	int ret;

	hq_interpose_resolve();
	if (index < 0)
		return hq_preload.pthread_create(thread, attributes, start, arg);
	hq_preload.threads[index].start = start;
	hq_preload.threads[index].arg = arg;
	ret = hq_preload.pthread_create(thread, attributes, run_thread, (void *)(uintptr_t)index);
	if (ret)
		hq_store_relaxed(&hq_preload.plane->threads[index].exited, 1);
	return ret;
}

EXPORT pid_t fork(void)
{
	pid_t pid;

	hq_interpose_resolve();
	if (!hq_preload.plane)
		return hq_preload.fork();
	hq_identity_fork_begins();
	pid = hq_preload.fork();
	hq_identity_fork_ended();
	return pid;
}
