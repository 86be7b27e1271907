/* SPDX-License-Identifier: MIT */
/*
 * Counting what a run could leave behind. Of groups, which the whole machine shares, only those
 * that bear our name are counted: others come and go meanwhile.
 */
#include "stress/observe/residue.h"

#include <dirent.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injectors/cgroup.h"
#include "injectors/proc.h"

#define THREADS_MAX 256
#define LOOKS       100
#define LOOK_NS     5000000

static uint32_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	uint32_t count = 0;

	if (!directory)
		return 0;
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* Of one thread of ours; the file is missing in kernels without CONFIG_PROC_CHILDREN. */
static uint32_t count_children(pid_t tid)
{
	char text[4096];
	uint32_t count = 0;

	if (hq_proc_read_of(getpid(), tid, "children", text, sizeof(text)) <= 0)
		return 0;
	for (const char *at = text; *at; at++)
		count += *at == ' ';
	return count;
}

static uint32_t count_all_children(void)
{
	pid_t tids[THREADS_MAX];
	const size_t threads = hq_proc_threads(getpid(), tids, THREADS_MAX);
	uint32_t count = 0;

	for (size_t i = 0; i < threads; i++)
		count += count_children(tids[i]);
	return count;
}

static void count_all(struct hq_residue_counts *counts)
{
	pid_t tids[THREADS_MAX];

	counts->processes = count_all_children();
	counts->threads = (uint32_t)hq_proc_threads(getpid(), tids, THREADS_MAX);
	counts->descriptors = count_entries("/proc/self/fd");
	counts->groups = (uint32_t)hq_cgroup_left(getpid());
}

static void read_limits(struct rlimit limits[RLIM_NLIMITS])
{
	memset(limits, 0, RLIM_NLIMITS * sizeof(limits[0]));
	for (int i = 0; i < RLIM_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &limits[i]);
}

void hq_residue_mark(struct hq_residue_mark *mark)
{
	memset(mark, 0, sizeof(*mark));
	count_all(&mark->counts);
	sched_getaffinity(0, sizeof(mark->affinity), &mark->affinity);
	read_limits(mark->limits);
}

static uint32_t more(uint32_t now, uint32_t before)
{
	return now > before ? now - before : 0;
}

/* True when nothing is left. */
static bool compare_counts(const struct hq_residue_counts *before, struct hq_residue_counts *left)
{
	struct hq_residue_counts now;

	count_all(&now);
	left->processes = more(now.processes, before->processes);
	left->threads = more(now.threads, before->threads);
	left->descriptors = more(now.descriptors, before->descriptors);
	left->groups = more(now.groups, before->groups);
	return !left->processes && !left->threads && !left->descriptors && !left->groups;
}

void hq_residue_compare(const struct hq_residue_mark *mark, struct hq_observations *seen)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct hq_residue *residue = &seen->residue;
	struct hq_residue_mark now;

	for (int i = 0; i < LOOKS && !compare_counts(&mark->counts, &residue->left); i++)
		nanosleep(&pause, NULL);
	memset(&now, 0, sizeof(now));
	sched_getaffinity(0, sizeof(now.affinity), &now.affinity);
	read_limits(now.limits);
	residue->affinity = !CPU_EQUAL(&mark->affinity, &now.affinity);
	residue->limits = memcmp(mark->limits, now.limits, sizeof(now.limits)) != 0;
	residue->known = true;
}
