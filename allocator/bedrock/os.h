/* SPDX-License-Identifier: MIT */
/*
 * The only door to the kernel.
 *
 * Every system call the allocator makes passes through one of these functions. They turn libc's
 * conventions into ours (0 or -errno, result through an out-parameter) and leave errno as they
 * found it, so that free keeps errno without further care. They hold no policy: what to do about
 * a failure is decided by the caller, see the failure table in docs/bedrock.md.
 *
 * The libc functions behind them sit in a table, so that unit tests can make any of them fail.
 */
#ifndef BEDROCK_OS_H
#define BEDROCK_OS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

/*
 * What stands behind the functions below, with the contracts of the libc functions of the same
 * names; page_bytes is getpagesize. Written by tests only, and only while no other thread
 * allocates.
 */
struct bedrock_os_table {
	void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *address, size_t bytes);
	void *(*mremap)(void *address, size_t old_bytes, size_t new_bytes, int flags, ...);
	int (*madvise)(void *address, size_t bytes, int advice);
	int (*mprotect)(void *address, size_t bytes, int protection);
	ssize_t (*process_madvise)(int process, const struct iovec *ranges, size_t count,
				   int advice, unsigned flags);
	int (*mincore)(void *address, size_t bytes, unsigned char *resident);
	int (*getcpu)(void);
	pid_t (*gettid)(void);
	int (*sched_getaffinity)(pid_t thread, size_t bytes, cpu_set_t *out);
	int (*page_bytes)(void);
	int (*clock_gettime)(clockid_t clock, struct timespec *out);
	long (*futex)(void *word, int operation, uint32_t value, const struct timespec *timeout);
	int (*open)(const char *path, int flags, ...);
	ssize_t (*read)(int fd, void *out, size_t bytes);
	ssize_t (*pread)(int fd, void *out, size_t bytes, off_t at);
	ssize_t (*readlink)(const char *path, char *out, size_t bytes);
	ssize_t (*write)(int fd, const void *text, size_t bytes);
	int (*close)(int fd);
	char *(*secure_getenv)(const char *name);
	int (*prctl)(int operation, ...);
	int (*pthread_create)(pthread_t *thread, const pthread_attr_t *attributes,
			      void *(*start)(void *), void *argument);
	int (*pthread_key_create)(pthread_key_t *key, void (*end)(void *));
	int (*pthread_setspecific)(pthread_key_t key, const void *value);
	int (*pthread_atfork)(void (*prepare)(void), void (*parent)(void), void (*child)(void));
};

extern struct bedrock_os_table bedrock_os_table;

/* Map fresh zero pages, near `hint` if that is free. -> 0, or -ENOMEM (or -EPERM ...). */
int bedrock_os_map(void *hint, size_t bytes, void **out);

/* Unmap whole pages. -> 0, or -ENOMEM when the kernel cannot split a mapping. */
int bedrock_os_unmap(void *address, size_t bytes);

/* Change the length of a mapping where it stands. -> 0 or -errno. */
int bedrock_os_resize(void *address, size_t old_bytes, size_t new_bytes);

/* Move a mapping onto `target`, which must be a mapping of ours of new_bytes. -> 0 or -errno. */
int bedrock_os_move(void *address, size_t old_bytes, size_t new_bytes, void *target);

/* Give the pages back now (MADV_DONTNEED). -> 0 or -errno. The content is not promised zero. */
int bedrock_os_purge(void *address, size_t bytes);

/* Let the kernel take the pages when it needs them (MADV_FREE). -> 0 or -errno. */
int bedrock_os_purge_lazily(void *address, size_t bytes);

/*
 * The same for many ranges in one call, lazily or not, where the kernel lets a process advise
 * itself so. -> 0 or -errno; *advised_bytes tells how much of the ranges, from the first on, was
 * advised.
 */
int bedrock_os_purge_many(const struct iovec *ranges, uint32_t count, bool is_lazy,
			  size_t *advised_bytes);

/* Let nobody touch whole pages of ours any more (PROT_NONE). -> 0, or -ENOMEM. */
int bedrock_os_forbid(void *address, size_t bytes);

/* Is this page mapped at all? Used to learn what a failed move has left behind. */
bool bedrock_os_is_mapped(void *address);

/* Let no fault make more than one page of a mapping resident (MADV_NOHUGEPAGE), if that is known.
 */
void bedrock_os_keep_small(void *address, size_t bytes);

/* The reverse: let faults make huge pages of it (MADV_HUGEPAGE), where the process may have them.
 */
void bedrock_os_prefer_huge(void *address, size_t bytes);

/* Is any page of a mapping of ours resident? If that cannot be learnt, yes. */
bool bedrock_os_is_resident(void *address, size_t bytes);

/* The CPU this thread runs on, or 0 if that cannot be learnt. Stale as soon as it is returned. */
unsigned bedrock_os_cpu(void);

/* How many CPUs this process may use; at least 1. */
unsigned bedrock_os_cpu_count(void);

/* Bytes per page of the kernel. */
size_t bedrock_os_page_bytes(void);

/* Coarse monotonic time; a few milliseconds of resolution, no kernel entry. */
uint64_t bedrock_os_now_ns(void);

/* Sleep until woken or the time is over, unless *word is not `expected` any more. */
void bedrock_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint64_t timeout_ns);

/* Wake up to `count` sleepers of bedrock_os_wait. */
void bedrock_os_wake(_Atomic(uint32_t) *word, int count);

/* Start a detached thread with a small stack and all signals but SIGSYS blocked. -> 0 or -errno. */
int bedrock_os_thread_start(void *(*start)(void *), void *argument, size_t stack_bytes);

/* The kernel's number of the calling thread. */
uint32_t bedrock_os_thread_id(void);

/* Open our own memory for bedrock_os_peek. -> a descriptor, or -errno. */
int bedrock_os_peek_open(void);

/* Read memory that may be gone. -> 0, or -EIO and the like: it is gone. */
int bedrock_os_peek(int fd, const void *address, void *out, size_t bytes);

/* Close a descriptor. */
void bedrock_os_close(int fd);

/* Name the calling thread, for those who look at the process. At most 15 characters. */
void bedrock_os_name_thread(const char *name);

/* The start of a small file, as a string of less than `out_bytes`. -> its length, or -errno. */
ssize_t bedrock_os_read_file(const char *path, char *out, size_t out_bytes);

/* What a symbolic link holds, as a string; too long a one is cut. -> its length, or -errno. */
ssize_t bedrock_os_read_link(const char *path, char *out, size_t out_bytes);

/* Where the environment says it to a program that need not mistrust it; or NULL. */
const char *bedrock_os_environment(const char *name);

/* A key for a value of each thread; `end` is called with it when a thread ends. -> 0 or -errno. */
int bedrock_os_key_create(pthread_key_t *key, void (*end)(void *));

/* Set the calling thread's value. May allocate. -> 0, or -ENOMEM. */
int bedrock_os_key_set(pthread_key_t key, const void *value);

/* Have these called around each fork. May allocate. -> 0, or -ENOMEM. */
int bedrock_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/*
 * Write all of it to a descriptor and forget the outcome. A part that was taken is followed by the
 * rest and a signal by another try, so often and no more: the reader may be gone, or slow for good.
 */
void bedrock_os_write(int fd, const char *text, size_t text_bytes);

#endif
