/* SPDX-License-Identifier: MIT */
/*
 * Names for system calls: those in which threads wait or spin. The full table of the kernel is not
 * repeated; a number is an honest answer for the rest.
 */
#include <stdio.h>
#include <sys/syscall.h>

#include "stress/observe/syscall_name.h"

struct row {
	long number;
	const char *name;
};

#define CALL(name_)                                                                                \
	{                                                                                          \
		SYS_##name_, #name_                                                                \
	}

static const struct row rows[] = {
	CALL(accept4),
	CALL(brk),
	CALL(clock_nanosleep),
	CALL(connect),
	CALL(epoll_pwait),
	CALL(exit),
	CALL(exit_group),
	CALL(fdatasync),
	CALL(fsync),
	CALL(futex),
	CALL(io_getevents),
	CALL(madvise),
	CALL(membarrier),
	CALL(mlock),
	CALL(mmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(msync),
	CALL(munmap),
	CALL(nanosleep),
	CALL(ppoll),
	CALL(pread64),
	CALL(pselect6),
	CALL(pwrite64),
	CALL(read),
	CALL(readv),
	CALL(recvfrom),
	CALL(recvmsg),
	CALL(rt_sigsuspend),
	CALL(rt_sigtimedwait),
	CALL(sched_yield),
	CALL(sendmsg),
	CALL(sendto),
	CALL(wait4),
	CALL(waitid),
	CALL(write),
	CALL(writev),
#ifdef SYS_poll /* Architectures younger than these calls lack them. */
	CALL(poll),
	CALL(select),
	CALL(epoll_wait),
	CALL(pause),
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter),
#endif
#ifdef SYS_process_madvise
	CALL(process_madvise),
#endif
};

const char *hq_syscall_name(long number, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].number == number) {
			snprintf(text, size, "%s", rows[i].name);
			return text;
		}
	}
	snprintf(text, size, "system call %ld", number);
	return text;
}
