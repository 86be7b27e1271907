/* SPDX-License-Identifier: MIT */
/*
 * Starting a process so that nothing of it can outlive us. The child reports a failed step through
 * a close-on-exec pipe, so that "no such program" is an error of the caller and not a dead target.
 */
#include "stress/control/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* What the child writes into the pipe when a step fails. */
struct spawn_failure {
	int error;
	char step[24];
};

static void fail_step(int pipe_fd, const char *step, int error)
{
	struct spawn_failure failure = { .error = error };

	for (size_t i = 0; step[i] && i + 1 < sizeof(failure.step); i++)
		failure.step[i] = step[i];
	if (write(pipe_fd, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

static int place_fd(int fd, int wanted)
{
	const int source =
		fd >= 0 ? fd : open("/dev/null", (wanted ? O_WRONLY : O_RDONLY) | O_CLOEXEC);

	return source < 0 || dup2(source, wanted) < 0 ? -errno : 0;
}

static void default_signals(void)
{
	sigset_t none;

	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns once the parent has closed its end. */
static void await_parent(const int *gate)
{
	char nothing;

	close(gate[1]);
	while (read(gate[0], &nothing, 1) < 0 && errno == EINTR)
		;
	close(gate[0]);
}

/* The child's way to exec; never returns. Only async-signal-safe calls. */
__attribute__((noreturn)) static void become(const struct hq_spawn *spawn, const char *path,
					     int pipe_fd, const int *gate, pid_t parent)
{
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	if (spawn->born)
		await_parent(gate);
	default_signals();
	error = place_fd(spawn->in_fd, 0);
	if (!error)
		error = place_fd(spawn->out_fd, 1);
	if (!error)
		error = place_fd(spawn->err_fd, 2);
	if (error)
		fail_step(pipe_fd, "its output", -error);
	error = spawn->enter ? spawn->enter(spawn->cookie) : 0;
	if (error)
		fail_step(pipe_fd, "an injector", -error);
	execve(path, spawn->argv, spawn->env);
	fail_step(pipe_fd, "exec", errno);
	_exit(127);
}

/* Finds `file` in PATH as execvp would; exec itself then needs no search in the child. */
static int find_program(const char *file, char *path, size_t size)
{
	const char *search = getenv("PATH");

	if (strchr(file, '/')) {
		snprintf(path, size, "%s", file);
		return access(path, X_OK) ? -errno : 0;
	}
	for (const char *start = search ? search : "/usr/bin:/bin"; *start;) {
		const size_t length = strcspn(start, ":");

		snprintf(path, size, "%.*s/%s", (int)length, start, file);
		if (length && !access(path, X_OK))
			return 0;
		start += length + (start[length] == ':');
	}
	return -ENOENT;
}

/* 0 once exec has closed the pipe, else the failed step's error. */
static int read_failure(int fd, const char *path, struct hq_error *error)
{
	struct spawn_failure failure;
	ssize_t got;

	do {
		got = read(fd, &failure, sizeof(failure));
	} while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(failure))
		return 0;
	hq_error_set(error, "cannot start %s: %s: %s", path, failure.step, strerror(failure.error));
	return -failure.error;
}

/* Two pipes, or none: for the child's failure, and for it to wait at. */
static int make_pipes(int fds[2], int gate[2])
{
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	if (!pipe2(gate, O_CLOEXEC))
		return 0;
	const int result = -errno;

	close(fds[0]);
	close(fds[1]);
	return result;
}

int hq_spawn(const struct hq_spawn *spawn, pid_t *pid, struct hq_error *error)
{
	const pid_t parent = getpid();
	char path[4096];
	int fds[2], gate[2];
	int result = find_program(spawn->file, path, sizeof(path));

	if (result) {
		hq_error_set(error, "cannot start %s: %s", spawn->file, strerror(-result));
		return result;
	}
	result = make_pipes(fds, gate);
	if (result) {
		hq_error_set(error, "cannot start %s: pipe: %s", path, strerror(-result));
		return result;
	}
	fflush(NULL);
	*pid = fork();
	if (*pid == 0)
		become(spawn, path, fds[1], gate, parent);
	result = *pid < 0 ? -errno : 0;
	if (!result && spawn->born)
		spawn->born(*pid, spawn->cookie);
	close(gate[0]);
	close(gate[1]);
	close(fds[1]);
	if (result)
		hq_error_set(error, "cannot start %s: fork: %s", path, strerror(-result));
	else
		result = read_failure(fds[0], path, error);
	close(fds[0]);
	if (result && *pid > 0)
		waitpid(*pid, NULL, 0);
	return result;
}

static size_t name_length(const char *assignment)
{
	return strcspn(assignment, "=");
}

static char **find_name(char **list, size_t count, const char *assignment)
{
	const size_t length = name_length(assignment);

	for (size_t i = 0; i < count; i++)
		if (name_length(list[i]) == length && !strncmp(list[i], assignment, length))
			return &list[i];
	return NULL;
}

char **hq_spawn_environment(char *const *changes)
{
	size_t count = 0, extra = 0;

	while (environ[count])
		count++;
	while (changes && changes[extra])
		extra++;
	char **list = calloc(count + extra + 1, sizeof(*list));

	if (!list)
		return NULL;
	memcpy(list, environ, count * sizeof(*list));
	for (size_t i = 0; i < extra; i++) {
		char **same = find_name(list, count, changes[i]);

		if (!same)
			same = &list[count++];
		*same = changes[i];
	}
	return list;
}

/* Kills every direct child; orphans of the target are ours since we are their subreaper. */
static size_t kill_children(void)
{
	char path[64];
	size_t killed = 0;
	long child;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	FILE *list = fopen(path, "re");

	if (!list)
		return 0;
	while (fscanf(list, "%ld", &child) == 1)
		killed += !kill((pid_t)child, SIGKILL);
	fclose(list);
	return killed;
}

size_t hq_spawn_sweep(pid_t group)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	size_t killed = 0;

	if (group > 0)
		kill(-group, SIGKILL);
	for (int round = 0; round < 400; round++) {
		pid_t gone;

		while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
			killed += gone != group;
		if (gone < 0 && errno == ECHILD)
			break;
		kill_children();
		nanosleep(&pause, NULL);
	}
	return killed;
}
