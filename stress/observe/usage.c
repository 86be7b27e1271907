/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own counters. What the kernel keeps per thread is lost with the thread, so those
 * sums are read several times and the largest one stays.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/proc.h"
#include "stress/observe/space.h"
#include "stress/observe/usage.h"

#define KIB 1024u

uint64_t hq_usage_rss_bytes(pid_t process)
{
	char text[128];

	if (hq_proc_read_of(process, 0, "statm", text, sizeof(text)) <= 0)
		return 0;
	return hq_proc_statm_anonymous_bytes(text);
}

/* So far, of all threads. */
static uint64_t minor_faults(pid_t target)
{
	char text[1024];

	if (hq_proc_read_of(target, 0, "stat", text, sizeof(text)) <= 0)
		return 0;
	const char *field = hq_proc_stat_field(text, 10);

	return field ? strtoull(field, NULL, 10) : 0;
}

/* Restarts VmHWM from the present resident memory. */
static void reset_peak(pid_t target)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)target);
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* A kernel that refuses leaves a peak that includes the start-up, which is still a peak. */
	const ssize_t written = write(fd, "5", 1);

	(void)written;
	close(fd);
}

void hq_usage_start(pid_t target, struct hq_observations *seen)
{
	struct hq_space space;

	reset_peak(target);
	seen->minor_faults_start = minor_faults(target);
	if (hq_space_read(target, &space))
		hq_space_enter(&space, seen);
	seen->rss_start_bytes = hq_usage_rss_bytes(target);
	hq_raise_to(&seen->rss_peak_bytes, seen->rss_start_bytes);
}

void hq_usage_quiet(pid_t target, enum hq_quiet_point point, uint64_t time_ns,
		    struct hq_observations *seen)
{
	struct hq_quiet quiet = { .time_ns = time_ns, .point = point };
	char text[2048];

	if (seen->quiet_count == HQ_QUIET_MAX)
		return;
	if (hq_proc_read_of(target, 0, "smaps_rollup", text, sizeof(text)) > 0 &&
	    hq_proc_number(text, "Anonymous", &quiet.rss_bytes)) {
		quiet.rss_bytes *= KIB;
		if (hq_proc_number(text, "LazyFree", &quiet.lazyfree_bytes))
			quiet.lazyfree_bytes *= KIB;
	} else {
		quiet.rss_bytes = hq_usage_rss_bytes(target);
	}
	if (hq_space_read(target, &quiet.space))
		hq_space_enter(&quiet.space, seen);
	if (quiet.rss_bytes)
		seen->quiet[seen->quiet_count++] = quiet;
}

uint64_t hq_usage_peak_bytes(pid_t process)
{
	uint64_t peak_kib, file_kib, shared_kib;
	char text[4096];

	if (hq_proc_read_of(process, 0, "status", text, sizeof(text)) <= 0 ||
	    !hq_proc_number(text, "VmHWM", &peak_kib) ||
	    !hq_proc_number(text, "RssFile", &file_kib) ||
	    !hq_proc_number(text, "RssShmem", &shared_kib))
		return 0;
	return peak_kib > file_kib + shared_kib ? (peak_kib - file_kib - shared_kib) * KIB : 0;
}

void hq_usage_update(pid_t target, struct hq_observations *seen)
{
	uint64_t migrations;

	hq_raise_to(&seen->rss_peak_bytes, hq_usage_peak_bytes(target));
	if (!hq_proc_migrations(target, &migrations))
		return;
	hq_raise_to(&seen->migrations, migrations);
	seen->has_migrations = true;
}

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

void hq_usage_finish(const struct rusage *rusage, struct hq_observations *seen)
{
	seen->minor_faults = (uint64_t)rusage->ru_minflt;
	seen->major_faults = (uint64_t)rusage->ru_majflt;
	seen->voluntary_switches = (uint64_t)rusage->ru_nvcsw;
	seen->involuntary_switches = (uint64_t)rusage->ru_nivcsw;
	seen->user_ns = timeval_ns(&rusage->ru_utime);
	seen->system_ns = timeval_ns(&rusage->ru_stime);
	seen->has_usage = true;
}
