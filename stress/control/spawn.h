/* SPDX-License-Identifier: MIT */
/*
 * Starting a process so that nothing of it can outlive us: own process group, killed when its
 * parent dies, found again through the parent's role as subreaper.
 */
#ifndef HQ_STRESS_CONTROL_SPAWN_H
#define HQ_STRESS_CONTROL_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "injectors/error.h"

struct hq_spawn {
	const char *file;          /* searched in PATH if it has no '/' */
	char *const *argv;         /* NULL-terminated */
	char *const *env;          /* NULL-terminated; the whole environment */
	int in_fd, out_fd, err_fd; /* become 0, 1 and 2; -1: /dev/null */
	/* Last step before exec, in the child: async-signal-safe calls only; 0 or -errno. */
	int (*enter)(void *cookie);
	/* In the parent, while the child waits before its first step; NULL: nobody waits. */
	void (*born)(pid_t pid, void *cookie);
	void *cookie;
};

/* Starts it. On failure of exec or of a step before it: -errno, with the step in *error. */
int hq_spawn(const struct hq_spawn *spawn, pid_t *pid, struct hq_error *error);

/* Our environment with the NAME=VALUE strings of `changes` set; NULL without memory. Free with
 * free(). */
char **hq_spawn_environment(char *const *changes);

/*
 * Kills the group and every child of ours, waits for all of them (bounded), and returns how many
 * had to be killed besides the group's leader.
 */
size_t hq_spawn_sweep(pid_t group);

#endif
