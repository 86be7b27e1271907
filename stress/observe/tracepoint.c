/* SPDX-License-Identifier: MIT */
/*
 * See tracepoint.h. The child calls nothing but the kernel: it is a copy of a process that may have
 * other threads.
 */
#include "stress/observe/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACEFS   "/sys/kernel/tracing"
#define PATH_SIZE 200

/* 0 for a file without a number. */
static int read_number(int fd)
{
	char text[16] = "";
	const ssize_t length = read(fd, text, sizeof(text) - 1);
	int number = 0;

	for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (text[i] - '0');
	return number > 0 ? number : -EINVAL;
}

static int number_in(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	const int number = read_number(fd);

	close(fd);
	return number;
}

/* In the child: what it finds goes through the pipe. */
static _Noreturn void mount_and_tell(const char *path, int pipe_fd)
{
	int number = -EPERM;

	if (!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("none", TRACEFS, "tracefs", 0, NULL))
		number = number_in(path);
	const ssize_t written = write(pipe_fd, &number, sizeof(number));

	_exit(written == (ssize_t)sizeof(number) ? 0 : 1);
}

static int number_of_own_mount(const char *path)
{
	int fds[2], number = -EPERM;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	const pid_t pid = fork();

	if (pid == 0)
		mount_and_tell(path, fds[1]);
	close(fds[1]);
	if (pid < 0 || read(fds[0], &number, sizeof(number)) != (ssize_t)sizeof(number))
		number = -EPERM;
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return number;
}

int hq_tracepoint_number(const char *name)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), TRACEFS "/events/%s/id", name);
	int number = number_in(path);

	if (number == -ENOENT) {
		char older[PATH_SIZE];

		snprintf(older, sizeof(older), "/sys/kernel/debug/tracing/events/%s/id", name);
		number = number_in(older);
	}
	return number == -ENOENT ? number_of_own_mount(path) : number;
}
