/* SPDX-License-Identifier: MIT */
/*
 * Refusals of the kernel, for unit tests.
 *
 * fault_install puts counting stand-ins behind every call of the allocator. Each fault says
 * from which call on, how often and with what errno the stand-in refuses; `lies` makes it claim
 * success and do nothing. A test reads back how many calls there were and how many were hit, as
 * a fault that never fired proves nothing.
 */
#ifndef BEDROCK_TESTS_FAULTS_H
#define BEDROCK_TESTS_FAULTS_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "allocator/bedrock/os.h"

/* One call's fault; error 0 and no lie means that the call is only counted. */
struct fault {
	_Atomic int error;
	_Atomic bool lies;
	/* Hit only every n-th call; 0 and 1 stand for each. */
	_Atomic unsigned every;
	/* Hit only this call and later ones, counted from 1, but no more than `most` of them. */
	_Atomic unsigned first;
	_Atomic unsigned most;
	/* Only this advice, or -1 for any; madvise only. */
	_Atomic int advice;
	_Atomic unsigned seen;
	_Atomic unsigned hit;
};

struct faults {
	struct fault mmap;
	struct fault munmap;
	struct fault mremap;
	struct fault madvise;
	struct fault mincore;
	struct fault getcpu;
	struct fault thread;
	_Atomic unsigned long advised_bytes;
};

static struct faults faults;

static inline bool fault_hits(struct fault *fault)
{
	unsigned seen = ++fault->seen;
	unsigned every = fault->every ? fault->every : 1;

	if ((!fault->error && !fault->lies) || seen % every != 0)
		return false;
	if (seen < fault->first || (fault->most && fault->hit >= fault->most))
		return false;
	fault->hit++;
	return true;
}

static void *fault_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at)
{
	if (!fault_hits(&faults.mmap))
		return mmap(address, bytes, protection, flags, fd, at);
	errno = faults.mmap.error;
	return MAP_FAILED;
}

static int fault_munmap(void *address, size_t bytes)
{
	if (!fault_hits(&faults.munmap))
		return munmap(address, bytes);
	if (faults.munmap.lies)
		return 0;
	errno = faults.munmap.error;
	return -1;
}

static void *fault_mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	va_list arguments;
	void *target = NULL;

	va_start(arguments, flags);
	if (flags & MREMAP_FIXED)
		target = va_arg(arguments, void *);
	va_end(arguments);
	if (!fault_hits(&faults.mremap))
		return mremap(address, old_bytes, new_bytes, flags, target);
	errno = faults.mremap.error;
	return MAP_FAILED;
}

static int fault_madvise(void *address, size_t bytes, int advice)
{
	bool is_eligible = faults.madvise.advice < 0 || faults.madvise.advice == advice;

	if (is_eligible && fault_hits(&faults.madvise)) {
		if (faults.madvise.lies)
			return 0;
		errno = faults.madvise.error;
		return -1;
	}
	faults.advised_bytes += bytes;
	return madvise(address, bytes, advice);
}

static int fault_mincore(void *address, size_t bytes, unsigned char *resident)
{
	if (!fault_hits(&faults.mincore))
		return mincore(address, bytes, resident);
	errno = faults.mincore.error;
	return -1;
}

static inline int fault_getcpu(void)
{
	if (!fault_hits(&faults.getcpu))
		return sched_getcpu();
	errno = faults.getcpu.error;
	return -1;
}

static int fault_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
			void *argument)
{
	if (!fault_hits(&faults.thread))
		return pthread_create(thread, attributes, start, argument);
	return faults.thread.error;
}

static inline void fault_install(void)
{
	faults.madvise.advice = -1;
	bedrock_os_table = (struct bedrock_os_table){
		.mmap = fault_mmap,
		.munmap = fault_munmap,
		.mremap = fault_mremap,
		.madvise = fault_madvise,
		.mincore = fault_mincore,
		.getcpu = fault_getcpu,
		.pthread_create = fault_thread,
	};
}

#endif
