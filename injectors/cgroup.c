/* SPDX-License-Identifier: MIT */
/*
 * Memory control groups: making, limiting, entering, reading, removing.
 *
 * In v2 a group that holds processes may not hand the memory controller to groups below it, so
 * where the present group cannot be the parent, its own parent is tried. No controller is ever
 * switched on: that would change the machine for others. Everything is found out by doing it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "injectors/cgroup.h"
#include "injectors/proc.h"

#define FILE_PATH_SIZE     (HQ_CGROUP_PATH_SIZE + 64)
#define MOUNTINFO_SIZE     (64 * 1024)
#define PROCS_SIZE         4096
#define NAME_TRIES         1000
#define REMOVE_PATIENCE_MS 2000
#define MEMSW_GAP_BYTES    (2u << 20)

static void file_path(char path[FILE_PATH_SIZE], const struct hq_cgroup *group, const char *name)
{
	snprintf(path, FILE_PATH_SIZE, "%s/%s", group->path, name);
}

/* Says which step failed on which file, and returns -errno. */
static int refuse(struct hq_error *reason, const char *step, const char *path, int error)
{
	hq_error_set(reason, "%s %s: %s", step, path, strerror(error));
	return -error;
}

static int write_file(const struct hq_cgroup *group, const char *name, const char *text,
		      struct hq_error *reason)
{
	char path[FILE_PATH_SIZE];

	file_path(path, group, name);
	const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return refuse(reason, "open", path, errno);
	const ssize_t written = write(fd, text, strlen(text));
	const int error = errno;

	close(fd);
	return written < 0 ? refuse(reason, "write", path, error) : 0;
}

static bool read_file(const struct hq_cgroup *group, const char *name, char *text, size_t size)
{
	char path[FILE_PATH_SIZE];

	file_path(path, group, name);
	return hq_proc_read(path, text, size) > 0;
}

static uint64_t read_number(const struct hq_cgroup *group, const char *name)
{
	char text[64];

	return read_file(group, name, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

static uint64_t read_keyed(const struct hq_cgroup *group, const char *name, const char *key)
{
	uint64_t value = 0;
	char text[1024];

	if (read_file(group, name, text, sizeof(text)) && hq_proc_number(text, key, &value))
		return value;
	return 0;
}

static bool has_file(const struct hq_cgroup *group, const char *name)
{
	char path[FILE_PATH_SIZE];

	file_path(path, group, name);
	return access(path, F_OK) == 0;
}

/* ---- making ---- */

static const char *limit_file(const struct hq_cgroup *group)
{
	return group->version == HQ_CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes";
}

static int open_procs(struct hq_cgroup *group, struct hq_error *reason)
{
	char path[FILE_PATH_SIZE];

	file_path(path, group, "cgroup.procs");
	group->procs_fd = open(path, O_WRONLY | O_CLOEXEC);
	return group->procs_fd < 0 ? refuse(reason, "open", path, errno) : 0;
}

static int make_directory(struct hq_cgroup *group, const char *parent, struct hq_error *reason)
{
	for (int n = 0; n < NAME_TRIES; n++) {
		if (snprintf(group->path, sizeof(group->path), "%s/heapquake-%d-%d", parent,
			     (int)getpid(), n) >= (int)sizeof(group->path))
			return refuse(reason, "mkdir in", parent, ENAMETOOLONG);
		if (mkdir(group->path, 0755) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	const int error = errno;
	const int status = refuse(reason, "mkdir", group->path, error);

	group->path[0] = '\0';
	return status;
}

int hq_cgroup_create_in(struct hq_cgroup *group, enum hq_cgroup_version version, const char *parent,
			struct hq_error *reason)
{
	char path[FILE_PATH_SIZE];
	int status;

	*group = (struct hq_cgroup){ .version = version, .procs_fd = -1 };
	status = make_directory(group, parent, reason);
	if (status)
		return status;
	file_path(path, group, limit_file(group));
	if (access(path, F_OK) && errno == ENOENT) {
		hq_error_set(reason,
			     "groups in %s have no memory controller (see its "
			     "cgroup.subtree_control)",
			     parent);
		status = -ENOENT;
	} else {
		status = open_procs(group, reason);
	}
	if (status)
		hq_cgroup_destroy(group);
	return status;
}

/* The present group, as a directory. */
static int present_group(enum hq_cgroup_version version, char path[HQ_CGROUP_PATH_SIZE])
{
	char mountinfo[MOUNTINFO_SIZE], membership[4096];

	if (hq_proc_read("/proc/self/mountinfo", mountinfo, sizeof(mountinfo)) <= 0 ||
	    hq_proc_read("/proc/self/cgroup", membership, sizeof(membership)) <= 0)
		return -ENOENT;
	return hq_cgroup_locate(mountinfo, membership, version, path);
}

/* Cuts the last part off; false if the directory above is no group any more. */
static bool go_up(char path[HQ_CGROUP_PATH_SIZE])
{
	char procs[FILE_PATH_SIZE];
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return access(procs, F_OK) == 0;
}

int hq_cgroup_create(struct hq_cgroup *group, enum hq_cgroup_version version,
		     struct hq_error *reason)
{
	char parent[HQ_CGROUP_PATH_SIZE];
	struct hq_error ignored;

	*group = (struct hq_cgroup){ .version = version, .procs_fd = -1 };
	if (present_group(version, parent)) {
		hq_error_set(reason, "no hierarchy is mounted");
		return -ENOENT;
	}
	const int status = hq_cgroup_create_in(group, version, parent, reason);

	if (status == 0 || version == HQ_CGROUP_V1 || !go_up(parent))
		return status;
	return hq_cgroup_create_in(group, version, parent, &ignored) ? status : 0;
}

/* ---- limiting ---- */

static int write_number(const struct hq_cgroup *group, const char *name, uint64_t value,
			struct hq_error *reason)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return write_file(group, name, text, reason);
}

/* The kernel rounds down to whole pages; anything else is no limit. */
static int write_checked(const struct hq_cgroup *group, const char *name, uint64_t value,
			 struct hq_error *reason)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const int status = write_number(group, name, value, reason);

	if (status)
		return status;
	if (read_number(group, name) / page != value / page)
		return refuse(reason, "read back", name, EIO);
	return 0;
}

static int limit_v2(const struct hq_cgroup *group, const struct hq_cgroup_limits *limits,
		    struct hq_error *reason)
{
	int status = write_checked(group, "memory.max", limits->max_bytes, reason);

	if (status == 0 && limits->high_bytes)
		status = write_checked(group, "memory.high", limits->high_bytes, reason);
	/* Kernels without swap lack the file, and need no limit for it. */
	if (status == 0 && has_file(group, "memory.swap.max"))
		status = write_checked(group, "memory.swap.max", limits->swap_bytes, reason);
	return status;
}

/*
 * memsw limits memory and swap together and may never be below the limit of memory alone. It is set
 * a little above what it should be: where both are met at once, memsw is the one that fails, and
 * newer kernels (seen on 6.18) do not count its failures. The largest charge at once is a huge
 * page. That nothing is swapped into this gap is seen to by swappiness.
 */
static int limit_v1(const struct hq_cgroup *group, const struct hq_cgroup_limits *limits,
		    struct hq_error *reason)
{
	static const char memsw[] = "memory.memsw.limit_in_bytes";
	const uint64_t both_bytes = limits->max_bytes + limits->swap_bytes + MEMSW_GAP_BYTES;
	/* Kernels that do not account for swap lack the file. */
	const bool has_memsw = has_file(group, memsw);
	int status = 0;

	if (limits->high_bytes) {
		hq_error_set(reason, "a high limit needs cgroup v2, and this machine has v1");
		return -EOPNOTSUPP;
	}
	/* When a limit is raised it goes first, and otherwise last. */
	if (has_memsw && read_number(group, memsw) < both_bytes)
		status = write_checked(group, memsw, both_bytes, reason);
	if (status == 0)
		status = write_checked(group, "memory.limit_in_bytes", limits->max_bytes, reason);
	if (status == 0 && limits->swap_bytes == 0)
		status = write_number(group, "memory.swappiness", 0, reason);
	if (status == 0 && has_memsw)
		status = write_checked(group, memsw, both_bytes, reason);
	return status;
}

int hq_cgroup_limit(const struct hq_cgroup *group, const struct hq_cgroup_limits *limits,
		    struct hq_error *reason)
{
	return group->version == HQ_CGROUP_V2 ? limit_v2(group, limits, reason)
					      : limit_v1(group, limits, reason);
}

int hq_cgroup_enter(const struct hq_cgroup *group)
{
	return write(group->procs_fd, "0", 1) == 1 ? 0 : -errno;
}

/* ---- reading ---- */

void hq_cgroup_read(const struct hq_cgroup *group, struct hq_cgroup_counts *counts)
{
	if (group->version == HQ_CGROUP_V2) {
		counts->failures = read_keyed(group, "memory.events", "max") +
				   read_keyed(group, "memory.events", "high");
		counts->kills = read_keyed(group, "memory.events", "oom_kill");
		counts->now_bytes = read_number(group, "memory.current");
		counts->peak_bytes = read_number(group, "memory.peak");
	} else {
		counts->failures = read_number(group, "memory.failcnt") +
				   read_number(group, "memory.memsw.failcnt");
		counts->kills = read_keyed(group, "memory.oom_control", "oom_kill");
		counts->now_bytes = read_number(group, "memory.usage_in_bytes");
		counts->peak_bytes = read_number(group, "memory.max_usage_in_bytes");
	}
	if (counts->peak_bytes < counts->now_bytes)
		counts->peak_bytes = counts->now_bytes;
}

/* ---- removing ---- */

/*
 * SIGKILL for every process in the group, or for as many as there is room for: the caller comes
 * again. A process of another pid namespace reads as 0: then the group is somebody else's after
 * all, and nobody is killed.
 */
static bool kill_members(const struct hq_cgroup *group)
{
	char text[PROCS_SIZE];

	if (!read_file(group, "cgroup.procs", text, sizeof(text)))
		return true;
	/* What stands behind the last end of a line is half a number: another process's. */
	char *const end = strrchr(text, '\n');

	if (!end)
		return true;
	end[1] = '\0';
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (*line == '0')
			return false;
	}
	for (char *line = text; *line;) {
		const long pid = strtol(line, &line, 10);

		if (pid > 1 && pid != getpid())
			kill((pid_t)pid, SIGKILL);
		line += strspn(line, "\n");
	}
	return true;
}

/* The kernel needs a few milliseconds after the last exit before it lets the group go. */
static int remove_emptied(const struct hq_cgroup *group)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int waited_ms = 0; waited_ms < REMOVE_PATIENCE_MS; waited_ms++) {
		if (rmdir(group->path) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -errno;
		if (!kill_members(group))
			break;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int hq_cgroup_destroy(struct hq_cgroup *group)
{
	int status = 0;

	if (group->procs_fd >= 0)
		close(group->procs_fd);
	group->procs_fd = -1;
	if (group->path[0])
		status = remove_emptied(group);
	if (status == 0)
		group->path[0] = '\0';
	return status;
}

static bool is_leftover(const char *name)
{
	int pid, n, length = 0;

	if (sscanf(name, "heapquake-%d-%d%n", &pid, &n, &length) != 2 || name[length] != '\0')
		return false;
	return pid > 1 && kill(pid, 0) != 0 && errno == ESRCH;
}

void hq_cgroup_sweep_in(enum hq_cgroup_version version, const char *parent)
{
	DIR *directory = opendir(parent);
	struct dirent *entry;

	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		struct hq_cgroup group = { .version = version, .procs_fd = -1 };

		if (is_leftover(entry->d_name) &&
		    snprintf(group.path, sizeof(group.path), "%s/%s", parent, entry->d_name) <
			    (int)sizeof(group.path))
			hq_cgroup_destroy(&group);
	}
	closedir(directory);
}

/* Calls `visit` for each directory in which groups of ours may be. */
static void visit_parents(void (*visit)(enum hq_cgroup_version version, const char *parent,
					void *cookie),
			  void *cookie)
{
	static const enum hq_cgroup_version versions[] = { HQ_CGROUP_V1, HQ_CGROUP_V2 };
	char path[HQ_CGROUP_PATH_SIZE];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (present_group(versions[i], path))
			continue;
		visit(versions[i], path, cookie);
		if (versions[i] == HQ_CGROUP_V2 && go_up(path))
			visit(versions[i], path, cookie);
	}
}

static void sweep_parent(enum hq_cgroup_version version, const char *parent, void *cookie)
{
	(void)cookie;
	hq_cgroup_sweep_in(version, parent);
}

void hq_cgroup_sweep(void)
{
	visit_parents(sweep_parent, NULL);
}

struct left {
	pid_t owner;
	size_t count;
};

static void count_parent(enum hq_cgroup_version version, const char *parent, void *cookie)
{
	struct left *left = cookie;
	DIR *directory = opendir(parent);
	struct dirent *entry;
	int pid;

	(void)version;
	if (!directory)
		return;
	while ((entry = readdir(directory)))
		left->count +=
			sscanf(entry->d_name, "heapquake-%d-", &pid) == 1 && pid == left->owner;
	closedir(directory);
}

size_t hq_cgroup_left(pid_t owner)
{
	struct left left = { .owner = owner };

	visit_parents(count_parent, &left);
	return left.count;
}
