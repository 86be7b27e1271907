/* SPDX-License-Identifier: MIT */
/*
 * The system calls of the allocator, through plain libc wrappers.
 *
 * Wrappers rather than raw instructions, so that whoever watches or breaks the calls of a
 * library (a seccomp trap on its code, strace, a preload) meets ours too. Nothing here allocates
 * except pthread_create, which calls calloc; its caller therefore holds no lock.
 */
#include "allocator/bedrock/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/tell.h"

/* Not every C library comes with the kernel's headers. */
#if __has_include(<linux/futex.h>)
#include <linux/futex.h>
#else
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129
#endif

#ifndef MADV_FREE
#define MADV_FREE 8
#endif
#define BEDROCK_SYS_PROCESS_MADVISE 440
/* Stands for the calling process where a descriptor of one is wanted. */
#define BEDROCK_PROCESS_SELF (-10001)

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#endif
#ifndef MADV_NOHUGEPAGE
#define MADV_NOHUGEPAGE 15
#endif

/* libc has no wrapper for it. */
static long bedrock_os_futex(void *word, int operation, uint32_t value,
			     const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

/* Older C libraries have no function for it. */
static pid_t bedrock_os_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Younger than C libraries; its number is the same on all machines. */
static ssize_t bedrock_os_process_madvise(int process, const struct iovec *ranges, size_t count,
					  int advice, unsigned flags)
{
	/* Valgrind does not know the call, and each of its tools complains where it is made. */
	if (bedrock_tell_is_emulated()) {
		errno = ENOSYS;
		return -1;
	}
	return syscall(BEDROCK_SYS_PROCESS_MADVISE, process, ranges, count, advice, flags);
}

struct bedrock_os_table bedrock_os_table = {
	.mmap = mmap,
	.munmap = munmap,
	.mremap = mremap,
	.madvise = madvise,
	.mprotect = mprotect,
	.process_madvise = bedrock_os_process_madvise,
	.mincore = mincore,
	.getcpu = sched_getcpu,
	.gettid = bedrock_os_gettid,
	.sched_getaffinity = sched_getaffinity,
	.page_bytes = getpagesize,
	.clock_gettime = clock_gettime,
	.futex = bedrock_os_futex,
	.open = open,
	.read = read,
	.pread = pread,
	.readlink = readlink,
	.write = write,
	.close = close,
	.secure_getenv = secure_getenv,
	.prctl = prctl,
	.pthread_create = pthread_create,
	.pthread_key_create = pthread_key_create,
	.pthread_setspecific = pthread_setspecific,
	.pthread_atfork = pthread_atfork,
};

/*
 * Where glibc (2.35 and later) keeps the area that the kernel updates with the CPU number,
 * relative to the thread pointer. Weak: older C libraries lack both symbols.
 */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Offset of cpu_id within the kernel's struct rseq, and the least size that contains it. */
#define BEDROCK_RSEQ_CPU_OFFSET  4
#define BEDROCK_RSEQ_LEAST_BYTES 8u

/* How many pages are looked at by one call: a byte of stack for each. */
#define BEDROCK_OS_LOOK_PAGES 512u

/* How many calls one message is worth. */
#define BEDROCK_OS_WRITE_TRIES 8u

/*
 * Turn a libc result into 0 or -errno and put errno back. A failure stays one even if whoever
 * stands between us and the kernel forgot to say which.
 */
static int bedrock_os_result(bool failed, int saved_errno)
{
	int error = errno ? errno : EIO;

	errno = saved_errno;
	return failed ? -error : 0;
}

int bedrock_os_map(void *hint, size_t bytes, void **out)
{
	int saved_errno = errno;
	void *address = bedrock_os_table.mmap(hint, bytes, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (address != MAP_FAILED)
		*out = address;
	return bedrock_os_result(address == MAP_FAILED, saved_errno);
}

int bedrock_os_unmap(void *address, size_t bytes)
{
	int saved_errno = errno;

	bedrock_tell_unmapped(address, bytes);
	return bedrock_os_result(bedrock_os_table.munmap(address, bytes) != 0, saved_errno);
}

int bedrock_os_resize(void *address, size_t old_bytes, size_t new_bytes)
{
	int saved_errno = errno;
	void *result = bedrock_os_table.mremap(address, old_bytes, new_bytes, 0);

	return bedrock_os_result(result == MAP_FAILED, saved_errno);
}

int bedrock_os_move(void *address, size_t old_bytes, size_t new_bytes, void *target)
{
	int saved_errno = errno;
	void *result = bedrock_os_table.mremap(address, old_bytes, new_bytes,
					       MREMAP_MAYMOVE | MREMAP_FIXED, target);

	return bedrock_os_result(result == MAP_FAILED, saved_errno);
}

int bedrock_os_purge(void *address, size_t bytes)
{
	int saved_errno = errno;
	int rc = bedrock_os_table.madvise(address, bytes, MADV_DONTNEED);

	return bedrock_os_result(rc != 0, saved_errno);
}

int bedrock_os_purge_lazily(void *address, size_t bytes)
{
	int saved_errno = errno;
	int rc = bedrock_os_table.madvise(address, bytes, MADV_FREE);

	return bedrock_os_result(rc != 0, saved_errno);
}

int bedrock_os_purge_many(const struct iovec *ranges, uint32_t count, bool is_lazy,
			  size_t *advised_bytes)
{
	int saved_errno = errno;
	ssize_t bytes = bedrock_os_table.process_madvise(BEDROCK_PROCESS_SELF, ranges, count,
							 is_lazy ? MADV_FREE : MADV_DONTNEED, 0);

	*advised_bytes = bytes > 0 ? (size_t)bytes : 0;
	return bedrock_os_result(bytes < 0, saved_errno);
}

int bedrock_os_forbid(void *address, size_t bytes)
{
	int saved_errno = errno;
	int rc = bedrock_os_table.mprotect(address, bytes, PROT_NONE);

	return bedrock_os_result(rc != 0, saved_errno);
}

bool bedrock_os_is_mapped(void *address)
{
	int saved_errno = errno;
	unsigned char resident;
	int rc = bedrock_os_table.mincore(address, 1, &resident);

	return bedrock_os_result(rc != 0, saved_errno) != -ENOMEM;
}

void bedrock_os_keep_small(void *address, size_t bytes)
{
	int saved_errno = errno;

	bedrock_os_table.madvise(address, bytes, MADV_NOHUGEPAGE);
	errno = saved_errno;
}

void bedrock_os_prefer_huge(void *address, size_t bytes)
{
	int saved_errno = errno;

	bedrock_os_table.madvise(address, bytes, MADV_HUGEPAGE);
	errno = saved_errno;
}

bool bedrock_os_is_resident(void *address, size_t bytes)
{
	size_t page_bytes = bedrock_os_page_bytes();
	unsigned char resident[BEDROCK_OS_LOOK_PAGES];
	int saved_errno = errno;
	bool is_resident = false;

	for (size_t at = 0; at < bytes && !is_resident; at += sizeof(resident) * page_bytes) {
		size_t left_pages = (bytes - at + page_bytes - 1) / page_bytes;
		size_t pages = left_pages < sizeof(resident) ? left_pages : sizeof(resident);
		int rc = bedrock_os_table.mincore((char *)address + at, pages * page_bytes,
						  resident);

		is_resident = rc != 0;
		for (size_t page = 0; page < pages && !is_resident; page++)
			is_resident = resident[page] & 1;
	}
	errno = saved_errno;
	return is_resident;
}

static int bedrock_os_rseq_cpu(void)
{
	if (!&__rseq_offset || !&__rseq_size || __rseq_size < BEDROCK_RSEQ_LEAST_BYTES)
		return -1;
	const char *area = (const char *)__builtin_thread_pointer() + __rseq_offset;

	/* The kernel writes it behind the compiler's back, hence volatile. Negative: no rseq. */
	return *(const volatile int *)(const void *)(area + BEDROCK_RSEQ_CPU_OFFSET);
}

unsigned bedrock_os_cpu(void)
{
	int cpu = bedrock_os_rseq_cpu();

	if (cpu < 0) {
		int saved_errno = errno;

		cpu = bedrock_os_table.getcpu();
		errno = saved_errno;
	}
	return cpu < 0 ? 0 : (unsigned)cpu;
}

unsigned bedrock_os_cpu_count(void)
{
	cpu_set_t set;
	int saved_errno = errno;
	unsigned count = 0;

	CPU_ZERO(&set);
	if (bedrock_os_table.sched_getaffinity(0, sizeof(set), &set) == 0)
		count = (unsigned)CPU_COUNT(&set);
	errno = saved_errno;
	return count > 0 ? count : 1;
}

size_t bedrock_os_page_bytes(void)
{
	return (size_t)bedrock_os_table.page_bytes();
}

uint64_t bedrock_os_now_ns(void)
{
	struct timespec now = { .tv_sec = 0 };
	int saved_errno = errno;

	/* An emulator may not know the coarse clock. */
	if (bedrock_os_table.clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
		bedrock_os_table.clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved_errno;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bedrock_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint64_t timeout_ns)
{
	int saved_errno = errno;
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};

	bedrock_os_table.futex(word, FUTEX_WAIT_PRIVATE, expected, &timeout);
	errno = saved_errno;
}

void bedrock_os_wake(_Atomic(uint32_t) *word, int count)
{
	int saved_errno = errno;

	bedrock_os_table.futex(word, FUTEX_WAKE_PRIVATE, (uint32_t)count, NULL);
	errno = saved_errno;
}

/*
 * Every signal stays with the program's own threads. SIGSYS is not for us to block: it comes from
 * a seccomp filter on our own calls, and the kernel kills a process that blocks it.
 */
static int bedrock_os_thread_start_masked(const pthread_attr_t *attributes, void *(*start)(void *),
					  void *argument)
{
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	int rc = pthread_sigmask(SIG_SETMASK, &all, &before);

	if (rc)
		return -rc;
	rc = bedrock_os_table.pthread_create(&thread, attributes, start, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

int bedrock_os_thread_start(void *(*start)(void *), void *argument, size_t stack_bytes)
{
	int saved_errno = errno;
	pthread_attr_t attributes;
	int rc = -pthread_attr_init(&attributes);

	if (rc)
		return rc;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	rc = bedrock_os_thread_start_masked(&attributes, start, argument);
	pthread_attr_destroy(&attributes);
	errno = saved_errno;
	return rc;
}

uint32_t bedrock_os_thread_id(void)
{
	return (uint32_t)bedrock_os_table.gettid();
}

int bedrock_os_peek_open(void)
{
	int saved_errno = errno;
	int fd = bedrock_os_table.open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int rc = bedrock_os_result(fd < 0, saved_errno);

	return rc ? rc : fd;
}

int bedrock_os_peek(int fd, const void *address, void *out, size_t bytes)
{
	int saved_errno = errno;
	ssize_t length = bedrock_os_table.pread(fd, out, bytes, (off_t)(uintptr_t)address);

	/* Memory that ends within is as good as none. */
	if (length >= 0 && (size_t)length < bytes)
		errno = EIO;
	return bedrock_os_result(length < 0 || (size_t)length < bytes, saved_errno);
}

void bedrock_os_close(int fd)
{
	int saved_errno = errno;

	bedrock_os_table.close(fd);
	errno = saved_errno;
}

void bedrock_os_name_thread(const char *name)
{
	int saved_errno = errno;

	bedrock_os_table.prctl(PR_SET_NAME, name);
	errno = saved_errno;
}

ssize_t bedrock_os_read_file(const char *path, char *out, size_t out_bytes)
{
	int saved_errno = errno;
	int fd = bedrock_os_table.open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return bedrock_os_result(true, saved_errno);
	ssize_t length = bedrock_os_table.read(fd, out, out_bytes - 1);
	int rc = bedrock_os_result(length < 0, saved_errno);

	bedrock_os_table.close(fd);
	errno = saved_errno;
	if (rc)
		return rc;
	out[length] = '\0';
	return length;
}

ssize_t bedrock_os_read_link(const char *path, char *out, size_t out_bytes)
{
	int saved_errno = errno;
	ssize_t length = bedrock_os_table.readlink(path, out, out_bytes - 1);

	if (length < 0)
		return bedrock_os_result(true, saved_errno);
	out[length] = '\0';
	return length;
}

const char *bedrock_os_environment(const char *name)
{
	return bedrock_os_table.secure_getenv(name);
}

int bedrock_os_key_create(pthread_key_t *key, void (*end)(void *))
{
	return -bedrock_os_table.pthread_key_create(key, end);
}

int bedrock_os_key_set(pthread_key_t key, const void *value)
{
	return -bedrock_os_table.pthread_setspecific(key, value);
}

int bedrock_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return -bedrock_os_table.pthread_atfork(prepare, parent, child);
}

void bedrock_os_write(int fd, const char *text, size_t text_bytes)
{
	int saved_errno = errno;

	for (unsigned tries = 0; text_bytes > 0 && tries < BEDROCK_OS_WRITE_TRIES; tries++) {
		ssize_t written = bedrock_os_table.write(fd, text, text_bytes);

		if (written < 0 && errno != EINTR)
			break;
		if (written > 0) {
			text += written;
			text_bytes -= (size_t)written;
		}
	}
	errno = saved_errno;
}
