/* SPDX-License-Identifier: MIT */
/*
 * Runs targets/calls with the preloaded library and a wire, for the tests of both.
 */
#ifndef HQ_STRESS_TESTS_PRELOAD_RUN_H
#define HQ_STRESS_TESTS_PRELOAD_RUN_H

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/rule.h"
#include "stress/wire/wire.h"

#define PATIENCE_S 60
#define REFUSE     "madvise:advice=DONTNEED:error=EAGAIN"

struct run {
	struct hq_wire *wire;
	int fd;
	char build[PATH_MAX / 2];   /* the folder that holds what was built */
	char calls[PATH_MAX];       /* the target program */
	char preload[2 * PATH_MAX]; /* the library, and what else is preloaded */
};

/* This test is build/.../stress/tests/test_preload. */
static inline void locate(struct run *run)
{
	const ssize_t length = readlink("/proc/self/exe", run->build, sizeof(run->build) - 1);

	cr_assert_gt(length, 0);
	run->build[length] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(run->build, '/') = '\0';
	snprintf(run->calls, sizeof(run->calls), "%s/targets/calls", run->build);
	snprintf(run->preload, sizeof(run->preload), "%s/libheapquake-preload.so", run->build);
}

static inline bool has_trap(void)
{
	uint32_t action = SECCOMP_RET_TRAP;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static inline void add_rule(struct run *run, const char *text)
{
	struct hq_plane *plane = &run->wire->plane;
	struct hq_error error;

	cr_assert_eq(hq_rule_parse(text, &plane->rules[plane->rule_count], &error), 0, "%s",
		     error.text);
	plane->rule_count++;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline struct run prepare(const char *rule)
{
	struct run run;

	locate(&run);
	if (!has_trap())
		cr_skip_test("no seccomp trap here");
	if (access(run.calls, X_OK) || access(run.preload, R_OK))
		cr_skip_test("the target or the preloaded library is not built");
	cr_assert_eq(hq_wire_create(&run.wire, &run.fd), 0);
	run.wire->config.mechanism = HQ_MECHANISM_TRAP;
	run.wire->plane.seed = 42;
	run.wire->plane.gate = 1;
	run.wire->plane.gate_open_ns = now_ns();
	run.wire->go = 1;
	if (rule)
		add_rule(&run, rule);
	return run;
}

static inline pid_t start_with(const struct run *run, const char *wire_path, const char *situation,
			       const char *argument)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(PATIENCE_S);
		setenv(HQ_WIRE_ENV, wire_path, 1);
		setenv("LD_PRELOAD", run->preload, 1);
		execl(run->calls, run->calls, situation, argument, (char *)NULL);
		_exit(127);
	}
	cr_assert_gt(pid, 0);
	return pid;
}

static inline pid_t start(const struct run *run, const char *situation, const char *argument)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), run->fd);
	return start_with(run, path, situation, argument);
}

/* The exit status, or minus the signal. */
static inline int finish(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int run_it(const struct run *run, const char *situation)
{
	return finish(start(run, situation, NULL));
}

static inline uint32_t slots(const struct run *run)
{
	const uint32_t claimed = run->wire->plane.claimed;

	return claimed < HQ_PLANE_THREADS ? claimed : HQ_PLANE_THREADS;
}

static inline struct hq_rule_count total(const struct run *run, uint32_t rule)
{
	struct hq_rule_count sum = { 0 };

	for (uint32_t i = 0; i < slots(run); i++) {
		const struct hq_plane_count *count = &run->wire->plane.threads[i].counts[rule];

		sum.seen += count->seen;
		sum.eligible += count->eligible;
		sum.fired += count->fired;
	}
	return sum;
}

#endif
