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

/*
 * Waits for the thread's next stop. False when the time is over or the thread is gone: stops alone
 * are waited for, since the end of a target is for whoever started it to take.
 */
static bool next_stop(pid_t tid, uint64_t deadline_ns, int *stop)
{
	while (hq_now_ns() < deadline_ns) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL))
			return false;
		if (info.si_pid == tid) {
			*stop = info.si_status;
			return true;
		}
		sched_yield();
	}
	return false;
}

/* The number of the call that the stopped thread is about to make, or -1. */
static long entered_call(pid_t tid, int stop)
{
	struct __ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };

	if (stop != CALL_STOP || ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return -1;
	return (long)info.entry.nr;
}

/* A signal that stopped the thread is passed on; stops that ptrace itself made are not signals. */
static long signal_to_pass(int stop)
{
	return stop == CALL_STOP || stop >> 8 ? 0 : stop;
}

static void leave(pid_t tid)
{
	int stop;

	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	if (next_stop(tid, hq_now_ns() + LEAVE_NS, &stop))
		ptrace(PTRACE_DETACH, tid, 0, signal_to_pass(stop));
}

bool hq_stuck_trace(pid_t tid, long *number, double *per_second)
{
	const uint64_t start_ns = hq_now_ns();
	uint64_t calls = 0;
	int stop;

	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD))
		return false;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	while (next_stop(tid, start_ns + FOLLOW_NS, &stop)) {
		const long entered = entered_call(tid, stop);

		if (entered >= 0) {
			*number = entered;
			calls++;
		}
		ptrace(PTRACE_SYSCALL, tid, 0, signal_to_pass(stop));
	}
	*per_second = (double)calls * 1e9 / (double)(hq_now_ns() - start_ns);
	leave(tid);
	return calls > 0;
}
