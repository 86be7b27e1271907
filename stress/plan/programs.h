/* SPDX-License-Identifier: MIT */
/*
 * Programs that scenarios run: where they are, and what to install when they are not.
 */
#ifndef HQ_STRESS_PLAN_PROGRAMS_H
#define HQ_STRESS_PLAN_PROGRAMS_H

#include <stddef.h>

/* Finds an executable as execvp would. 0 with its path, or -errno. */
int hq_program_find(const char *name, char *path, size_t size);

/*
 * The same for what a scenario needs besides: a program, or a path of any file in which wildcards
 * stand for versions; of several the last is taken.
 */
int hq_need_find(const char *need, char *path, size_t size);

/* The Debian package that has it, or NULL if we do not know. */
const char *hq_program_package(const char *name);

/* The programs and paths that have a known package, NULL-terminated. */
extern const char *const hq_program_names[];

#endif
