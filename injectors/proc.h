/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc: small files whole, numbers by key, the threads of a process. What has gone away in
 * the meantime (a process, a thread) is an ordinary answer here and no error to report.
 */
#ifndef HQ_INJECTORS_PROC_H
#define HQ_INJECTORS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file from its start into `text`, ends it with NUL, cuts what does not fit. Length or
 * -errno. */
ssize_t hq_proc_read(const char *path, char *text, size_t size);

/* The same for the file of that name in /proc/PID, or in /proc/PID/task/TID if `tid` is not 0. */
ssize_t hq_proc_read_of(pid_t pid, pid_t tid, const char *name, char *text, size_t size);

/*
 * The number behind `key` at the start of a line, as in "VmHWM:    12 kB", "oom_kill 3" and
 * "se.nr_migrations   :   5". False if there is none.
 */
bool hq_proc_number(const char *text, const char *key, uint64_t *value);

/*
 * A size of a process, by its key in status, as in "VmPeak:   12 kB". 0 for one that is gone.
 */
uint64_t hq_proc_status_bytes(pid_t pid, const char *key);

/* Lowers or raises a soft limit (RLIMIT_...), as far as the hard one goes; pid 0: of this process.
 */
int hq_proc_limit(pid_t pid, int resource, uint64_t bytes);

/* Anonymous resident memory (resident less shared) from the text of statm; 0 for a dead process. */
uint64_t hq_proc_statm_anonymous_bytes(const char *text);

/* Field `number` of a stat file, counted as in proc(5) and at least 3 (the state); NULL if missing.
 */
const char *hq_proc_stat_field(const char *text, unsigned number);

/* The threads of a process; returns how many were written, 0 if there is no such process. */
size_t hq_proc_threads(pid_t pid, pid_t *tids, size_t room);

/* Migrations of all living threads; false where the kernel does not tell (CONFIG_SCHED_DEBUG). */
bool hq_proc_migrations(pid_t pid, uint64_t *count);

#endif
