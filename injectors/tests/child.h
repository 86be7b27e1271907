/* SPDX-License-Identifier: MIT */
/*
 * A child process for tests: parent and child take turns by single bytes over a socket, with a
 * deadline, and the child dies with its parent.
 */
#ifndef HQ_INJECTORS_TESTS_CHILD_H
#define HQ_INJECTORS_TESTS_CHILD_H

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_PATIENCE_MS 20000

struct child {
	pid_t pid;
	int socket; /* the own end, on either side */
};

/* True once the other side has said something; false if it is gone or silent for too long. */
static inline bool child_hear(struct child *child)
{
	struct pollfd one = { .fd = child->socket, .events = POLLIN };
	char byte;

	return poll(&one, 1, CHILD_PATIENCE_MS) == 1 && read(child->socket, &byte, 1) == 1;
}

static inline void child_say(struct child *child)
{
	if (send(child->socket, "x", 1, MSG_NOSIGNAL) != 1)
		return;
}

/* Runs `body` in a new process, which exits with its result; `cookie` is handed through. */
static inline void child_start(struct child *child, int (*body)(struct child *self, void *cookie),
			       void *cookie)
{
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	child->pid = fork();
	cr_assert_geq(child->pid, 0);
	if (child->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		close(pair[0]);
		child->socket = pair[1];
		_exit(body(child, cookie));
	}
	close(pair[1]);
	child->socket = pair[0];
}

/* Waits for the child's end and returns its wait status. */
static inline int child_end(struct child *child)
{
	int status = -1;

	waitpid(child->pid, &status, 0);
	close(child->socket);
	return status;
}

static inline int child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	return child_end(child);
}

/* Fresh anonymous memory, every page written; NULL on failure. */
static inline char *child_touch(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	for (size_t at = 0; at < size; at += 4096)
		((volatile char *)memory)[at] = 1;
	return memory;
}

#endif
