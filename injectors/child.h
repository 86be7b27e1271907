/* SPDX-License-Identifier: MIT */
/*
 * A helper program of an injector: in a process group of its own, dead when its parent is dead,
 * ended within a bounded time.
 */
#ifndef HQ_INJECTORS_CHILD_H
#define HQ_INJECTORS_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HQ_CHILD_PATH_SIZE 512

struct hq_child {
	const char *path;          /* of the program */
	char *const *argv;         /* NULL-terminated */
	int out_fd;                /* becomes 1 and 2; -1: /dev/null */
	uint64_t data_limit_bytes; /* RLIMIT_DATA of each of its processes; 0: leave it */
};

/* Where in PATH the program is. 0 or -ENOENT. */
int hq_child_find(const char *program, char path[HQ_CHILD_PATH_SIZE]);

/* Starts it. 0 or -errno; a failed exec shows as exit status 127. */
int hq_child_start(const struct hq_child *child, pid_t *pid);

/*
 * Sends `signal` (0: none), waits `patience_ms` for it to end, then kills what is left of its
 * group. Returns the wait status, or -1 if there was no such child.
 */
int hq_child_stop(pid_t pid, int signal, uint64_t patience_ms);

/*
 * Runs a program to its end and takes the first `size - 1` bytes of its output. Returns the wait
 * status, or -errno.
 */
int hq_child_capture(const char *path, char *const *argv, uint64_t patience_ms, char *text,
		     size_t size);

#endif
