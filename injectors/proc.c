/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc. Keeps nothing open and holds no state.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "injectors/proc.h"
#include "injectors/units.h"

#define THREADS_MAX 1024 /* of one process; what is beyond is not looked at */

ssize_t hq_proc_read(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	while (used + 1 < size && (got = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	const int error = errno;

	close(fd);
	text[used] = '\0';
	return got < 0 ? -error : (ssize_t)used;
}

ssize_t hq_proc_read_of(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	char path[96];

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return hq_proc_read(path, text, size);
}

bool hq_proc_number(const char *text, const char *key, uint64_t *value)
{
	const size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0)
			continue;
		const char *number = line + length + strspn(line + length, ": \t");

		if (number == line + length || !isdigit((unsigned char)*number))
			continue;
		*value = strtoull(number, NULL, 10);
		return true;
	}
	return false;
}

uint64_t hq_proc_status_bytes(pid_t pid, const char *key)
{
	uint64_t kib = 0;
	char text[4096];

	if (hq_proc_read_of(pid, 0, "status", text, sizeof(text)) <= 0 ||
	    !hq_proc_number(text, key, &kib))
		return 0;
	return kib * HQ_KIB;
}

int hq_proc_limit(pid_t pid, int resource, uint64_t bytes)
{
	struct rlimit limit;

	if (prlimit(pid, resource, NULL, &limit))
		return -errno;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	return prlimit(pid, resource, &limit, NULL) ? -errno : 0;
}

uint64_t hq_proc_statm_anonymous_bytes(const char *text)
{
	char *rest;

	strtoull(text, &rest, 10);
	const uint64_t resident = strtoull(rest, &rest, 10);
	const uint64_t shared = strtoull(rest, &rest, 10);

	return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

const char *hq_proc_stat_field(const char *text, unsigned number)
{
	/* The second field is a name in parentheses that may itself hold spaces and parentheses. */
	const char *field = strrchr(text, ')');

	for (unsigned at = 2; field && at < number; at++) {
		field = strchr(field, ' ');
		field = field ? field + 1 : NULL;
	}
	return field;
}

size_t hq_proc_threads(pid_t pid, pid_t *tids, size_t room)
{
	char path[48];
	struct dirent *entry;
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *directory = opendir(path);

	if (!directory)
		return 0;
	while (count < room && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			tids[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(directory);
	return count;
}

bool hq_proc_migrations(pid_t pid, uint64_t *count)
{
	pid_t tids[THREADS_MAX];
	const size_t threads = hq_proc_threads(pid, tids, THREADS_MAX);
	bool told = false;
	char text[4096];
	uint64_t one;

	*count = 0;
	for (size_t i = 0; i < threads; i++) {
		if (hq_proc_read_of(pid, tids[i], "sched", text, sizeof(text)) <= 0 ||
		    !hq_proc_number(text, "se.nr_migrations", &one))
			continue;
		*count += one;
		told = true;
	}
	return told;
}
