/* SPDX-License-Identifier: MIT */
/* Tracing a real process: what it did is known, so the counts are. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress/observe/call_trace.h"
#include "stress/observe/tracepoint.h"

#define PAGE_BYTES 4096u
#define ADVICES    100u
#define MAPPINGS   50u
#define WAITS      5u

static struct hq_call_trace *trace;
static struct hq_calls_seen seen;

static void act(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	uint32_t word = 1;
	char *memory = mmap(NULL, 8 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint32_t i = 0; i < ADVICES; i++)
		syscall(SYS_madvise, memory, 8 * PAGE_BYTES, MADV_DONTNEED);
	for (uint32_t i = 0; i < MAPPINGS; i++) {
		void *other =
			mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(other, 3 * PAGE_BYTES);
	}
	for (uint32_t i = 0; i < WAITS; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT, 1, &moment, NULL, 0);
}

static void advise_often(void)
{
	for (int i = 0; i < 60000; i++)
		syscall(SYS_madvise, NULL, 0, MADV_NORMAL);
}

/* A child that does `work` when it is let; traced from then on. */
static pid_t begin(void (*work)(void), int *go)
{
	int fds[2];
	char byte;

	cr_assert_eq(pipe(fds), 0);
	const pid_t pid = fork();

	if (pid == 0) {
		alarm(30);
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1)
			work();
		_exit(0);
	}
	close(fds[0]);
	*go = fds[1];
	const int status = hq_call_trace_open(pid, &trace);

	if (status) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		cr_skip_test("calls cannot be traced here: %s", hq_call_trace_why(status));
	}
	return pid;
}

static void let_go(pid_t pid, int go)
{
	cr_assert_eq(write(go, "", 1), 1);
	waitpid(pid, NULL, 0);
	close(go);
}

Test(call_trace, what_a_process_asks_of_the_kernel_is_counted_and_timed, .timeout = 60)
{
	int go;
	const pid_t pid = begin(act, &go);

	hq_call_trace_start(trace);
	let_go(pid, go);
	hq_call_trace_close(trace, &seen);
	cr_expect_eq(seen.lost, 0);
	cr_expect_eq(seen.kinds[HQ_TRACED_MADVISE].count, ADVICES);
	cr_expect_gt(seen.kinds[HQ_TRACED_MADVISE].total_ns, 0);
	cr_expect_eq(seen.advised_bytes, ADVICES * 8 * PAGE_BYTES);
	cr_expect_geq(seen.kinds[HQ_TRACED_MMAP].count, MAPPINGS + 1);
	cr_expect_geq(seen.kinds[HQ_TRACED_MUNMAP].count, MAPPINGS);
	cr_expect_geq(seen.unmapped_bytes, MAPPINGS * 3 * PAGE_BYTES);
	cr_expect_geq(seen.waits.count, WAITS);
	/* Each waits for the time that it asked for, at least. */
	cr_expect_geq(seen.waits.total_ns, WAITS * 1000000ull);
	cr_expect_geq(seen.waits.max_ns, 1000000ull);
}

Test(call_trace, nothing_is_counted_before_it_starts, .timeout = 60)
{
	int go;
	const pid_t pid = begin(act, &go);

	let_go(pid, go);
	hq_call_trace_start(trace);
	hq_call_trace_close(trace, &seen);
	cr_expect_eq(seen.kinds[HQ_TRACED_MADVISE].count, 0);
}

Test(call_trace, what_finds_no_room_is_told_as_lost, .timeout = 60)
{
	int go;
	const pid_t pid = begin(advise_often, &go);

	hq_call_trace_start(trace);
	let_go(pid, go);
	hq_call_trace_close(trace, &seen);
	cr_expect_gt(seen.lost, 0);
	cr_expect_gt(seen.kinds[HQ_TRACED_MADVISE].count, 0);
	cr_expect_lt(seen.kinds[HQ_TRACED_MADVISE].count, 60000);
}

Test(call_trace, a_process_that_is_gone_has_its_reason)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	const int status = hq_call_trace_open(pid, &trace);

	cr_assert_lt(status, 0);
	cr_assert_null(trace);
	cr_assert(hq_call_trace_why(status)[0]);
}

Test(call_trace, a_tracepoint_that_does_not_exist_has_no_number)
{
	cr_assert_lt(hq_tracepoint_number("raw_syscalls/sys_nothing"), 0);
}
