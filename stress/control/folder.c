/* SPDX-License-Identifier: MIT */
/*
 * Run folders. Names from scenarios and allocators are reduced to plain characters, so that a path
 * as allocator makes one folder and never leaves the results folder.
 */
#include "stress/control/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* mkdir -p; the path is changed and put back while it works. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		const int failed = mkdir(path, 0777) && errno != EEXIST;

		*slash = '/';
		if (failed)
			return -errno;
	}
	return mkdir(path, 0777) && errno != EEXIST ? -errno : 0;
}

/* `latest` is replaced in one step, so that a reader never finds it missing. */
static void point_latest(const char *results, const char *name)
{
	char link[PATH_MAX], fresh[PATH_MAX];

	snprintf(link, sizeof(link), "%s/latest", results);
	snprintf(fresh, sizeof(fresh), "%s/.latest.%d", results, (int)getpid());
	unlink(fresh);
	if (!symlink(name, fresh) && rename(fresh, link))
		unlink(fresh);
}

/* True if it was cut: what snprintf says of the length that was wanted. */
static bool is_cut(int wanted, size_t size)
{
	return wanted < 0 || (size_t)wanted >= size;
}

/* Makes the folder that does not exist yet: the path itself, else the path with a number. */
static int make_free_folder(const char *path, char *folder, size_t size)
{
	for (int attempt = 0; attempt < 1000; attempt++) {
		const int wanted = attempt ? snprintf(folder, size, "%s-%d", path, attempt)
					   : snprintf(folder, size, "%s", path);

		if (is_cut(wanted, size))
			return -ENAMETOOLONG;
		if (!mkdir(folder, 0777))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int hq_folder_suite(const char *results, char *folder, size_t size, struct hq_error *error)
{
	const time_t now = time(NULL);
	char path[PATH_MAX], stamp[32];
	struct tm parts;
	int result = 0;

	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &parts));
	if (is_cut(snprintf(path, sizeof(path), "%s", results), sizeof(path)))
		result = -ENAMETOOLONG;
	if (!result)
		result = make_folders(path);
	if (!result && is_cut(snprintf(path, sizeof(path), "%s/%s", results, stamp), sizeof(path)))
		result = -ENAMETOOLONG;
	if (!result)
		result = make_free_folder(path, folder, size);
	if (!result) {
		point_latest(results, strrchr(folder, '/') + 1);
		return 0;
	}
	hq_error_set(error, "cannot write results to %s: %s; name another folder with --results",
		     results, strerror(-result));
	return result;
}

/* Letters, digits, '.', '-', '_' stay; the last component of a path is enough of a name. */
static void plain_name(const char *text, char *name, size_t size)
{
	const char *last = strrchr(text, '/');
	size_t length = 0;

	for (text = last && last[1] ? last + 1 : text; *text && length + 1 < size; text++) {
		const char c = *text;
		const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				   (c >= '0' && c <= '9') || c == '-' || c == '_' ||
				   (c == '.' && length);

		name[length++] = plain ? c : '_';
	}
	name[length] = '\0';
}

int hq_folder_case(const char *suite_folder, const struct hq_plan *plan, char *folder, size_t size)
{
	char scenario[64], allocator[64], path[PATH_MAX];
	int result;

	plain_name(plan->scenario, scenario, sizeof(scenario));
	plain_name(plan->allocator, allocator, sizeof(allocator));
	if (is_cut(snprintf(path, sizeof(path), "%s/%s/%s", suite_folder, scenario, allocator),
		   sizeof(path)))
		return -ENAMETOOLONG;
	result = make_folders(path);
	if (result)
		return result;
	if (is_cut(snprintf(path, sizeof(path), "%s/%s/%s/%" PRIu64, suite_folder, scenario,
			    allocator, plan->seed),
		   sizeof(path)))
		return -ENAMETOOLONG;
	return make_free_folder(path, folder, size);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

void hq_folder_remove(const char *folder)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *temporary_base(void)
{
	const char *base = getenv("TMPDIR");

	return base && *base ? base : "/tmp";
}

/* The owner's pid is in the name, so that a later start can tell a dead run's folder. */
int hq_folder_temporary(char *folder, size_t size)
{
	if (is_cut(snprintf(folder, size, "%s/heapquake.%d.XXXXXX", temporary_base(),
			    (int)getpid()),
		   size))
		return -ENAMETOOLONG;
	return mkdtemp(folder) ? 0 : -errno;
}

void hq_folder_sweep(void)
{
	DIR *base = opendir(temporary_base());
	const struct dirent *entry;

	while (base && (entry = readdir(base))) {
		char folder[PATH_MAX];
		int owner, end = 0;

		sscanf(entry->d_name, "heapquake.%d.%n", &owner, &end);
		if (!end || !kill(owner, 0) || errno != ESRCH)
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", temporary_base(), entry->d_name);
		hq_folder_remove(folder);
	}
	if (base)
		closedir(base);
}

int hq_folder_write(const char *folder, const char *name, int (*write)(void *cookie, FILE *stream),
		    void *cookie)
{
	char path[PATH_MAX], fresh[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(fresh, sizeof(fresh), "%s/.%s.%d", folder, name, (int)getpid());
	FILE *stream = fopen(fresh, "we");

	if (!stream)
		return -errno;
	int result = write(cookie, stream);

	if (fflush(stream) || ferror(stream))
		result = result ? result : -EIO;
	if (fclose(stream))
		result = result ? result : -errno;
	if (!result && rename(fresh, path))
		result = -errno;
	if (result)
		unlink(fresh);
	return result;
}
