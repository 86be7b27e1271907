/* SPDX-License-Identifier: MIT */
/*
 * The host's own system calls, made from its own text. Fault rules are about calls that come from
 * the allocator; the filter leaves calls from the text of this program alone, and calls that went
 * through libc would be taken for the allocator's. All return the kernel's raw answer: >= 0 or
 * -errno.
 */
#ifndef HQ_STRESS_HOST_SYSTEM_H
#define HQ_STRESS_HOST_SYSTEM_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>

#include "injectors/syscall/raw.h"

/* Zeroed shared memory, not reserved in advance; NULL on failure. */
static inline void *hq_system_map(size_t size)
{
	const long result = hq_raw6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return result < 0 && result > -4096 ? NULL : (void *)result;
}

static inline void hq_system_unmap(void *address, size_t size)
{
	hq_raw6(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

static inline long hq_system_forbid(void *address, size_t size)
{
	return hq_raw6(SYS_mprotect, (long)address, (long)size, PROT_NONE, 0, 0, 0);
}

static inline void hq_system_sleep_ns(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				       .tv_nsec = (long)(ns % 1000000000u) };

	hq_raw6(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&time, 0, 0, 0);
}

static inline void hq_system_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	const struct timespec time = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
				       .tv_nsec = (long)(timeout_ns % 1000000000u) };

	hq_raw6(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, (long)&time, 0, 0);
}

static inline void hq_system_futex_wake_all(_Atomic uint32_t *word)
{
	hq_raw6(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0, 0, 0);
}

/* A small file whole, ended with NUL; what does not fit is cut. Length or -errno. */
static inline long hq_system_read(const char *path, char *text, size_t size)
{
	const long fd = hq_raw6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long length;

	if (fd < 0)
		return fd;
	length = hq_raw6(SYS_read, fd, (long)text, (long)size - 1, 0, 0, 0);
	hq_raw6(SYS_close, fd, 0, 0, 0, 0, 0);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

static inline pid_t hq_system_parent(void)
{
	return (pid_t)hq_raw6(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

static inline pid_t hq_system_thread_id(void)
{
	return (pid_t)hq_raw6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

#endif
