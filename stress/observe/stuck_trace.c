/* SPDX-License-Identifier: MIT */
/*
 * /proc says of a thread on a CPU that it is running, not in which call. For one that the rules do
 * not count, ptrace tells: it stops the thread at each entry into the kernel. The waits are polled,
 * since a thread that spins in user code never stops.
 */
#include "stress/observe/stuck_trace.h"
#include "injectors/clock.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define FOLLOW_NS 60000000u
#define LEAVE_NS  20000000u
#define CALL_STOP (SIGTRAP | 0x80)

/* Waits for the thread's next stop. False when the time is over or the thread is gone. */
static bool next_stop(pid_t tid, uint64_t deadline_ns, int *status)
{
	while (hq_now_ns() < deadline_ns) {
		const pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status);
		if (got < 0)
			return false;
		sched_yield();
	}
	return false;
}

/* The number of the call that the stopped thread is about to make, or -1. */
static long entered_call(pid_t tid, int status)
{
	struct __ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };

	if (WSTOPSIG(status) != CALL_STOP ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info.entry.nr;
}

/* A signal that stopped the thread is passed on; stops that ptrace itself made are not signals. */
static long signal_to_pass(int status)
{
	const int number = WSTOPSIG(status);

	return number == CALL_STOP || status >> 16 ? 0 : number;
}

static void leave(pid_t tid)
{
	int status;

	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	if (next_stop(tid, hq_now_ns() + LEAVE_NS, &status))
		ptrace(PTRACE_DETACH, tid, 0, signal_to_pass(status));
}

bool hq_stuck_trace(pid_t tid, long *number, double *per_second)
{
	const uint64_t start_ns = hq_now_ns();
	uint64_t calls = 0;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD))
		return false;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	while (next_stop(tid, start_ns + FOLLOW_NS, &status)) {
		const long entered = entered_call(tid, status);

		if (entered >= 0) {
			*number = entered;
			calls++;
		}
		ptrace(PTRACE_SYSCALL, tid, 0, signal_to_pass(status));
	}
	*per_second = (double)calls * 1e9 / (double)(hq_now_ns() - start_ns);
	leave(tid);
	return calls > 0;
}
