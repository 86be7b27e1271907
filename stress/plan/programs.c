/* SPDX-License-Identifier: MIT */
/*
 * A search of PATH and for paths that name a version, and a short table of packages.
 */
#include "stress/plan/programs.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/plan/words.h"

#define PROGRAMS(X)                                                                                \
	X("/usr/lib/postgresql/*/bin/initdb", "postgresql")                                        \
	X("/usr/lib/python3*/test/test_dict.py", "libpython3.11-testsuite")                        \
	X("clang", "clang")                                                                        \
	X("db_bench", "rocksdb-tools")                                                             \
	X("gcc", "gcc")                                                                            \
	X("gdb", "gdb")                                                                            \
	X("git", "git")                                                                            \
	X("memcached", "memcached")                                                                \
	X("node", "nodejs")                                                                        \
	X("perf", "linux-perf")                                                                    \
	X("perl", "perl")                                                                          \
	X("python3", "python3")                                                                    \
	X("redis-benchmark", "redis-tools")                                                        \
	X("redis-cli", "redis-tools")                                                              \
	X("redis-server", "redis-server")                                                          \
	X("sqlite3", "sqlite3")                                                                    \
	X("strace", "strace")                                                                      \
	X("stress-ng", "stress-ng")                                                                \
	X("valgrind", "valgrind")

#define NAME(name, package)    name,
#define PACKAGE(name, package) package,

const char *const hq_program_names[] = { PROGRAMS(NAME) NULL };
static const char *const packages[] = { PROGRAMS(PACKAGE) NULL };

const char *hq_program_package(const char *name)
{
	for (size_t i = 0; hq_program_names[i]; i++) {
		if (strcmp(hq_program_names[i], name) == 0)
			return packages[i];
	}
	return NULL;
}

static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

static int find_in(char *const *folders, const char *name, char *path, size_t size)
{
	int status = -ENOENT;

	for (; folders && *folders; folders++) {
		if (snprintf(path, size, "%s/%s", *folders, name) >= (int)size)
			continue;
		const int found = check_executable(path);

		if (found == 0)
			return 0;
		/* A folder that we may not search is as good as none. */
		if (found == -EACCES && access(path, F_OK) == 0)
			status = found;
	}
	return status;
}

int hq_need_find(const char *need, char *path, size_t size)
{
	glob_t found;
	int status;

	if (!strchr(need, '/'))
		return hq_program_find(need, path, size);
	switch (glob(need, 0, NULL, &found)) {
	case 0:
		snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
		status = 0;
		break;
	case GLOB_NOSPACE:
		status = -ENOMEM;
		break;
	default:
		status = -ENOENT;
	}
	globfree(&found);
	return status;
}

int hq_program_find(const char *name, char *path, size_t size)
{
	const char *search = getenv("PATH");
	char **folders;
	int status;

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return check_executable(name);
	}
	status = hq_words_split_at(search ? search : "/usr/local/bin:/usr/bin:/bin", ":", &folders);
	if (!status)
		status = find_in(folders, name, path, size);
	hq_words_free(folders);
	return status;
}
