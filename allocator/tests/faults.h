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
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
	/* Only mappings of this length, or 0 for any; mmap only. */
	_Atomic size_t bytes;
	/* Only this advice, or -1 for any; madvise only. */
	_Atomic int advice;
	_Atomic unsigned seen;
	/* Of these, how many were hit, and how many of those were lied to. */
	_Atomic unsigned hit;
	_Atomic unsigned lied;
};

struct faults {
	struct fault mmap;
	/* A mapping is made beside the place that was hinted at. */
	struct fault elsewhere;
	struct fault munmap;
	struct fault mremap;
	struct fault madvise;
	struct fault process_madvise;
	struct fault mprotect;
	struct fault mincore;
	struct fault getcpu;
	struct fault sched_getaffinity;
	struct fault clock_gettime;
	struct fault futex;
	struct fault open;
	struct fault read;
	struct fault pread;
	struct fault readlink;
	/* A lie takes a single byte. */
	struct fault write;
	struct fault secure_getenv;
	struct fault prctl;
	struct fault thread;
	struct fault pthread_key_create;
	struct fault pthread_setspecific;
	struct fault pthread_atfork;
	_Atomic unsigned long advised_bytes;
	/* What the kernel's page size is said to be; 0 for the truth. */
	_Atomic int page_bytes;
};

static struct faults faults;

/* What a call is to answer. */
struct fault_answer {
	bool is_hit;
	bool is_lie;
	int error;
};

/*
 * Each setting is read once: another thread may be changing it, and a call that fails without an
 * errno would be a fault that no kernel makes.
 */
static inline struct fault_answer fault_answer(struct fault *fault)
{
	struct fault_answer answer = { .is_lie = fault->lies, .error = fault->error };
	unsigned seen = ++fault->seen;
	unsigned every = fault->every;
	unsigned most = fault->most;

	if (!answer.error && !answer.is_lie)
		return answer;
	if (seen % (every ? every : 1) != 0 || seen < fault->first || (most && fault->hit >= most))
		return answer;
	fault->hit++;
	fault->lied += answer.is_lie;
	answer.is_hit = true;
	return answer;
}

static inline int fault_page_bytes(void)
{
	return faults.page_bytes ? faults.page_bytes : getpagesize();
}

/* A mapping as a kernel with pages of that size would make it. */
static inline void *fault_map(void *address, size_t bytes, int protection, int flags, int fd,
			      off_t at)
{
	size_t page_bytes = (size_t)fault_page_bytes();
	char *raw = mmap(address, bytes, protection, flags, fd, at);

	if (raw == MAP_FAILED || (uintptr_t)raw % page_bytes == 0)
		return raw;
	munmap(raw, bytes);
	raw = mmap(NULL, bytes + page_bytes, protection, flags, fd, at);
	if (raw == MAP_FAILED)
		return raw;
	size_t head_bytes = page_bytes - (uintptr_t)raw % page_bytes;

	munmap(raw, head_bytes);
	if (head_bytes < page_bytes)
		munmap(raw + head_bytes + bytes, page_bytes - head_bytes);
	return raw + head_bytes;
}

/* Not where a large power of two would have it. */
static inline void *fault_map_elsewhere(size_t bytes, int protection, int flags)
{
	size_t page_bytes = (size_t)fault_page_bytes();
	char *raw = fault_map(NULL, bytes + 2 * page_bytes, protection, flags, -1, 0);

	if (raw == MAP_FAILED)
		return raw;
	munmap(raw, page_bytes);
	munmap(raw + page_bytes + bytes, page_bytes);
	return raw + page_bytes;
}

static void *fault_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at)
{
	struct fault_answer answer = { .is_hit = false };

	if (faults.mmap.bytes == 0 || faults.mmap.bytes == bytes)
		answer = fault_answer(&faults.mmap);
	if (answer.is_hit) {
		errno = answer.error;
		return MAP_FAILED;
	}
	if (address && fault_answer(&faults.elsewhere).is_hit)
		return fault_map_elsewhere(bytes, protection, flags);
	return fault_map(address, bytes, protection, flags, fd, at);
}

static int fault_munmap(void *address, size_t bytes)
{
	struct fault_answer answer = fault_answer(&faults.munmap);

	if (!answer.is_hit)
		return munmap(address, bytes);
	if (answer.is_lie)
		return 0;
	errno = answer.error;
	return -1;
}

static void *fault_mremap(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	struct fault_answer answer = fault_answer(&faults.mremap);
	va_list arguments;
	void *target = NULL;

	va_start(arguments, flags);
	if (flags & MREMAP_FIXED)
		target = va_arg(arguments, void *);
	va_end(arguments);
	if (!answer.is_hit)
		return mremap(address, old_bytes, new_bytes, flags, target);
	errno = answer.error;
	return MAP_FAILED;
}

static int fault_madvise(void *address, size_t bytes, int advice)
{
	bool is_eligible = faults.madvise.advice < 0 || faults.madvise.advice == advice;
	struct fault_answer answer = { .is_hit = false };

	if (is_eligible)
		answer = fault_answer(&faults.madvise);
	if (!answer.is_hit) {
		faults.advised_bytes += bytes;
		return madvise(address, bytes, advice);
	}
	if (answer.is_lie)
		return 0;
	errno = answer.error;
	return -1;
}

/* One byte for each page of the size that the kernel is said to have: is any part resident? */
static inline int fault_look(char *address, size_t bytes, unsigned char *resident)
{
	size_t page_bytes = (size_t)fault_page_bytes();
	unsigned char parts[64];

	if (page_bytes == (size_t)getpagesize())
		return mincore(address, bytes, resident);
	for (size_t at = 0; at < bytes; at += page_bytes) {
		if (mincore(address + at, page_bytes, parts))
			return -1;
		resident[at / page_bytes] = 0;
		for (size_t i = 0; i < page_bytes / (size_t)getpagesize(); i++)
			resident[at / page_bytes] |= parts[i] & 1;
	}
	return 0;
}

/*
 * Made of single calls, so that their faults show here as well; as in the kernel, what was advised
 * before one fails counts. The lie is a call that advises all but the last range.
 */
static inline ssize_t fault_process_madvise(int process, const struct iovec *ranges, size_t count,
					    int advice, unsigned flags)
{
	struct fault_answer answer = fault_answer(&faults.process_madvise);
	ssize_t bytes = 0;

	(void)process, (void)flags;
	if (answer.is_hit && !answer.is_lie) {
		errno = answer.error;
		return -1;
	}
	for (size_t i = 0; i + answer.is_lie < count; i++) {
		if (fault_madvise(ranges[i].iov_base, ranges[i].iov_len, advice))
			return bytes > 0 ? bytes : -1;
		bytes += (ssize_t)ranges[i].iov_len;
	}
	return bytes;
}

static int fault_mincore(void *address, size_t bytes, unsigned char *resident)
{
	struct fault_answer answer = fault_answer(&faults.mincore);

	if (!answer.is_hit)
		return fault_look(address, bytes, resident);
	errno = answer.error;
	return -1;
}

static inline int fault_getcpu(void)
{
	struct fault_answer answer = fault_answer(&faults.getcpu);

	if (!answer.is_hit)
		return sched_getcpu();
	errno = answer.error;
	return -1;
}

static inline int fault_mprotect(void *address, size_t bytes, int protection)
{
	struct fault_answer answer = fault_answer(&faults.mprotect);

	if (!answer.is_hit)
		return mprotect(address, bytes, protection);
	errno = answer.error;
	return -1;
}

/* Is this call to fail? errno says with what. */
static inline bool fault_fails(struct fault *fault)
{
	struct fault_answer answer = fault_answer(fault);

	if (answer.is_hit)
		errno = answer.error;
	return answer.is_hit;
}

static inline int fault_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *out)
{
	return fault_fails(&faults.sched_getaffinity) ? -1 : sched_getaffinity(thread, bytes, out);
}

static inline int fault_clock_gettime(clockid_t clock, struct timespec *out)
{
	if (clock == CLOCK_MONOTONIC_COARSE && fault_fails(&faults.clock_gettime))
		return -1;
	return clock_gettime(clock, out);
}

static inline long fault_futex(void *word, int operation, uint32_t value,
			       const struct timespec *timeout)
{
	if (fault_fails(&faults.futex))
		return -1;
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static inline int fault_open(const char *path, int flags, ...)
{
	return fault_fails(&faults.open) ? -1 : open(path, flags);
}

static inline ssize_t fault_read(int fd, void *out, size_t bytes)
{
	return fault_fails(&faults.read) ? -1 : read(fd, out, bytes);
}

/* The lie is a read that ends early. */
static inline ssize_t fault_pread(int fd, void *out, size_t bytes, off_t at)
{
	struct fault_answer answer = fault_answer(&faults.pread);

	if (!answer.is_hit)
		return pread(fd, out, bytes, at);
	if (answer.is_lie)
		return 0;
	errno = answer.error;
	return -1;
}

static inline pid_t fault_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static inline ssize_t fault_readlink(const char *path, char *out, size_t bytes)
{
	return fault_fails(&faults.readlink) ? -1 : readlink(path, out, bytes);
}

static inline ssize_t fault_write(int fd, const void *text, size_t bytes)
{
	struct fault_answer answer = fault_answer(&faults.write);

	if (!answer.is_hit)
		return write(fd, text, bytes);
	if (answer.is_lie)
		return write(fd, text, 1);
	errno = answer.error;
	return -1;
}

static inline char *fault_secure_getenv(const char *name)
{
	return fault_answer(&faults.secure_getenv).is_hit ? NULL : secure_getenv(name);
}

static inline int fault_prctl(int operation, ...)
{
	va_list arguments;

	va_start(arguments, operation);
	unsigned long first = va_arg(arguments, unsigned long);

	va_end(arguments);
	return fault_fails(&faults.prctl) ? -1 : prctl(operation, first);
}

static inline int fault_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	struct fault_answer answer = fault_answer(&faults.pthread_key_create);

	return answer.is_hit ? answer.error : pthread_key_create(key, end);
}

static inline int fault_pthread_setspecific(pthread_key_t key, const void *value)
{
	struct fault_answer answer = fault_answer(&faults.pthread_setspecific);

	return answer.is_hit ? answer.error : pthread_setspecific(key, value);
}

static inline int fault_pthread_atfork(void (*prepare)(void), void (*parent)(void),
				       void (*child)(void))
{
	struct fault_answer answer = fault_answer(&faults.pthread_atfork);

	return answer.is_hit ? answer.error : pthread_atfork(prepare, parent, child);
}

static int fault_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
			void *argument)
{
	struct fault_answer answer = fault_answer(&faults.thread);

	if (!answer.is_hit)
		return pthread_create(thread, attributes, start, argument);
	return answer.error;
}

static inline void fault_install(void)
{
	faults.madvise.advice = -1;
	bedrock_os_table = (struct bedrock_os_table){
		.mmap = fault_mmap,
		.munmap = fault_munmap,
		.mremap = fault_mremap,
		.madvise = fault_madvise,
		.process_madvise = fault_process_madvise,
		.mprotect = fault_mprotect,
		.mincore = fault_mincore,
		.getcpu = fault_getcpu,
		.gettid = fault_gettid,
		.sched_getaffinity = fault_sched_getaffinity,
		.page_bytes = fault_page_bytes,
		.clock_gettime = fault_clock_gettime,
		.futex = fault_futex,
		.open = fault_open,
		.read = fault_read,
		.pread = fault_pread,
		.readlink = fault_readlink,
		.write = fault_write,
		.close = close,
		.secure_getenv = fault_secure_getenv,
		.prctl = fault_prctl,
		.pthread_create = fault_thread,
		.pthread_key_create = fault_pthread_key_create,
		.pthread_setspecific = fault_pthread_setspecific,
		.pthread_atfork = fault_pthread_atfork,
	};
}

#endif
