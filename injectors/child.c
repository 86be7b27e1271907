/* SPDX-License-Identifier: MIT */
/*
 * Helper programs: finding, starting, ending. Every wait has a deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/child.h"
#include "injectors/clock.h"
#include "injectors/units.h"

#define KILL_PATIENCE_MS 2000 /* a killed process goes at once, unless the kernel holds it */

int hq_child_find(const char *program, char path[HQ_CHILD_PATH_SIZE])
{
	const char *search = getenv("PATH");

	for (const char *start = search ? search : "/usr/bin:/bin"; *start;) {
		const size_t length = strcspn(start, ":");

		if (length &&
		    snprintf(path, HQ_CHILD_PATH_SIZE, "%.*s/%s", (int)length, start, program) <
			    HQ_CHILD_PATH_SIZE &&
		    access(path, X_OK) == 0)
			return 0;
		start += length + (start[length] == ':');
	}
	return -ENOENT;
}

static void place(int fd, int wanted, int flags)
{
	const int source = fd >= 0 ? fd : open("/dev/null", flags | O_CLOEXEC);

	if (source < 0 || dup2(source, wanted) < 0)
		_exit(126);
}

/* The child's way to exec; async-signal-safe calls only. */
__attribute__((noreturn)) static void become(const struct hq_child *child, pid_t parent)
{
	const struct rlimit limit = { child->data_limit_bytes, child->data_limit_bytes };
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	place(-1, 0, O_RDONLY);
	place(child->out_fd, 1, O_WRONLY);
	place(child->out_fd, 2, O_WRONLY);
	if (child->data_limit_bytes && setrlimit(RLIMIT_DATA, &limit))
		_exit(126);
	execv(child->path, child->argv);
	_exit(127);
}

int hq_child_start(const struct hq_child *child, pid_t *pid)
{
	const pid_t parent = getpid();

	*pid = fork();
	if (*pid == 0)
		become(child, parent);
	if (*pid < 0)
		return -errno;
	/* On both sides, so that the group exists whoever comes first. */
	setpgid(*pid, *pid);
	return 0;
}

/* True once the child is reaped or was none of ours. */
static bool wait_for(pid_t pid, uint64_t patience_ms, int *status)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (uint64_t waited_ms = 0;; waited_ms++) {
		const pid_t reaped = waitpid(pid, status, WNOHANG);

		if (reaped == pid)
			return true;
		if (reaped < 0 && errno != EINTR) {
			*status = -1;
			return true;
		}
		if (waited_ms >= patience_ms)
			return false;
		nanosleep(&pause, NULL);
	}
}

int hq_child_stop(pid_t pid, int signal, uint64_t patience_ms)
{
	int status = -1;

	if (signal)
		kill(pid, signal);
	const bool ended = wait_for(pid, patience_ms, &status);

	/* Its own children keep the group's number taken, so nobody else can be hit. */
	kill(-pid, SIGKILL);
	if (!ended)
		wait_for(pid, KILL_PATIENCE_MS, &status);
	/* Orphans come to us only if we are their subreaper. */
	while (waitpid(-pid, NULL, WNOHANG) > 0)
		;
	return status;
}

static uint64_t now_ms(void)
{
	return hq_now_ns() / HQ_MS;
}

/* Reads until the end of the output, the deadline, or until the room is used up. */
static void read_output(int fd, uint64_t deadline_ms, char *text, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		const uint64_t now = now_ms();
		struct pollfd one = { .fd = fd, .events = POLLIN };

		if (now >= deadline_ms || poll(&one, 1, (int)(deadline_ms - now)) < 0)
			break;
		const ssize_t got = read(fd, text + used, size - 1 - used);

		if (got <= 0)
			break;
		used += (size_t)got;
	}
	text[used] = '\0';
}

int hq_child_capture(const char *path, char *const *argv, uint64_t patience_ms, char *text,
		     size_t size)
{
	const uint64_t deadline_ms = now_ms() + patience_ms;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	const struct hq_child child = { .path = path, .argv = argv, .out_fd = fds[1] };
	const int status = hq_child_start(&child, &pid);

	close(fds[1]);
	if (status == 0)
		read_output(fds[0], deadline_ms, text, size);
	close(fds[0]);
	if (status)
		return status;
	const uint64_t now = now_ms();

	return hq_child_stop(pid, 0, deadline_ms > now ? deadline_ms - now : 0);
}
