/* SPDX-License-Identifier: MIT */
/*
 * What tracing costs the target: CPU time of one traced call (madvise) and of one that is not
 * (getppid), without and with the trace. The two take turns, and the least of each stands.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/observe/call_trace.h"

#define ROUNDS 9
#define CALLS  100000

static void advise(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_madvise, page, 4096, MADV_DONTNEED);
}

static void ask(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static double cpu_ns(const struct rusage *usage)
{
	return 1e9 * (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e3 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Drains as a run does, until the child has ended. */
static void follow(pid_t pid, struct hq_call_trace *trace, struct rusage *usage)
{
	struct hq_calls_seen seen = { 0 };

	while (wait4(pid, NULL, WNOHANG, usage) != pid) {
		if (trace)
			hq_call_trace_drain(trace, &seen);
		usleep(2000);
	}
	if (trace)
		hq_call_trace_close(trace, &seen);
}

/* Negative: it could not be traced. */
static double measure(void (*work)(void), bool traced)
{
	struct hq_call_trace *trace = NULL;
	struct rusage usage = { 0 };
	const pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		raise(SIGSTOP);
		work();
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	if (traced && hq_call_trace_open(pid, &trace)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	if (trace)
		hq_call_trace_start(trace);
	kill(pid, SIGCONT);
	follow(pid, trace, &usage);
	return cpu_ns(&usage) / CALLS;
}

static int compare(const char *name, void (*work)(void))
{
	double least[2] = { 1e18, 1e18 };

	for (int round = 0; round < ROUNDS; round++) {
		for (int traced = 0; traced < 2; traced++) {
			const double each = measure(work, traced);

			if (each < 0) {
				puts("  calls cannot be traced here");
				return 1;
			}
			least[traced] = each < least[traced] ? each : least[traced];
		}
	}
	printf("  %-24s %8.0f %8.0f %+8.0f ns\n", name, least[0], least[1], least[1] - least[0]);
	return 0;
}

int main(void)
{
	puts("CPU time of a system call without and with the trace");
	if (compare("one that is traced", advise) == 0)
		compare("any other", ask);
	return 0;
}
