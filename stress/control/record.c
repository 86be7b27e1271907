/* SPDX-License-Identifier: MIT */
/*
 * `heapquake record`, beneath the command line: starts the program with the recorder before its
 * allocator, keeps the shared memory empty while it runs, and makes the trace when it has ended.
 */
#include "stress/control/record.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/control/spawn.h"
#include "stress/control/spool.h"
#include "stress/control/target.h"
#include "stress/trace/import.h"

#define DRAIN_NS     (5 * HQ_MS)
#define RECLAIM_EACH 20 /* drains */

/* What is recorded takes more room than what becomes of it. */
#define SPOOL_FACTOR    16u
#define SPOOL_BYTES_MIN (64ull << 20)

struct record {
	const struct hq_record_settings *settings;
	struct hq_record_outcome *outcome;
	struct hq_spool spool;
	sigset_t before, waited; /* signals: blocked before, and waited for */
	pid_t pid;
};

/* ---- the program ---- */

/* The recorder before the allocator, which is before what the environment had. */
static char **make_environment(const struct record *record, const struct hq_programs *programs,
			       char **preload, char **path)
{
	const char *const present = getenv("LD_PRELOAD");
	const char *const library = record->settings->library;

	*path = NULL;
	if (asprintf(preload, "LD_PRELOAD=%s%s%s%s%s", programs->recorder, library[0] ? ":" : "",
		     library, present && *present ? ":" : "", present ? present : "") < 0)
		*preload = NULL;
	if (asprintf(path, HQ_RAW_ENV "=/proc/%d/fd/%d", (int)getpid(), record->spool.raw_fd) < 0)
		*path = NULL;
	char *const changes[] = { *preload, *path, NULL };

	return *preload && *path ? hq_spawn_environment(changes) : NULL;
}

/* In our process group, with our files: it must not notice. Our blocked signals are not its own. */
static int spawn_in(struct record *record, char **environment)
{
	posix_spawnattr_t attributes;
	int status = posix_spawnattr_init(&attributes);

	if (status)
		return -status;
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &record->before);
	status = posix_spawnp(&record->pid, record->settings->program[0], NULL, &attributes,
			      record->settings->program, environment);
	posix_spawnattr_destroy(&attributes);
	return -status;
}

static int start(struct record *record, const struct hq_programs *programs, struct hq_error *error)
{
	char *preload = NULL, *path = NULL;
	char **environment = make_environment(record, programs, &preload, &path);
	int status = environment ? 0 : -ENOMEM;

	sigemptyset(&record->waited);
	sigaddset(&record->waited, SIGCHLD);
	sigaddset(&record->waited, SIGHUP);
	sigaddset(&record->waited, SIGINT);
	sigaddset(&record->waited, SIGQUIT);
	sigaddset(&record->waited, SIGTERM);
	sigprocmask(SIG_BLOCK, &record->waited, &record->before);
	fflush(NULL);
	if (!status)
		status = spawn_in(record, environment);
	if (status)
		hq_error_set(error, "cannot start %.300s: %s", record->settings->program[0],
			     strerror(-status));
	free(environment);
	free(preload);
	free(path);
	return status;
}

/* What a terminal sends, the program gets as well; what was sent to us alone is for it. */
static void hand_on(const struct record *record, int signal, const siginfo_t *info)
{
	const bool is_from_terminal = info->si_code > 0;

	if (signal != SIGCHLD && !is_from_terminal)
		kill(record->pid, signal);
}

static bool has_ended(const struct record *record)
{
	return waitpid(record->pid, &record->outcome->status, WNOHANG) == record->pid;
}

static int watch(struct record *record, struct hq_error *error)
{
	const struct timespec pause = { .tv_nsec = DRAIN_NS };
	siginfo_t info;
	int status = 0;

	for (uint32_t round = 1; !has_ended(record); round++) {
		const int signal = sigtimedwait(&record->waited, &info, &pause);

		if (signal > 0)
			hand_on(record, signal, &info);
		if (!status)
			status = hq_spool_drain(&record->spool);
		if (!status && round % RECLAIM_EACH == 0)
			status = hq_spool_reclaim(&record->spool, record->pid);
	}
	if (!status)
		status = hq_spool_finish(&record->spool);
	if (status)
		hq_error_set(error, "cannot keep what is recorded: %s", strerror(-status));
	return status;
}

/* ---- the trace ---- */

static void tell_built(const struct hq_trace_builder *builder, struct hq_record_outcome *outcome)
{
	outcome->info = builder->writer.info;
	outcome->repairs = builder->repairs;
	outcome->refused = builder->refused;
	outcome->closed = builder->closed;
	outcome->bytes = builder->writer.bytes;
}

/* Fills a builder; -errno with a sentence. */
typedef int fill_function(void *cookie, struct hq_trace_builder *builder, struct hq_error *error);

static int make_trace(const struct hq_record_settings *settings, struct hq_record_outcome *outcome,
		      fill_function *fill, void *cookie, struct hq_error *error)
{
	struct hq_trace_builder builder;
	struct hq_record_file file;
	int status = hq_record_file_open(&file, settings->output, error);

	if (status)
		return status;
	status = hq_trace_builder_open(&builder, file.fd, settings->bytes_max, HQ_US);
	if (status)
		hq_error_set(error, "out of memory");
	else
		status = fill(cookie, &builder, error);
	if (!status)
		status = hq_record_file_keep(&file, error);
	tell_built(&builder, outcome);
	hq_trace_builder_close(&builder);
	hq_record_file_close(&file);
	return status;
}

static int fill_from_spool(void *cookie, struct hq_trace_builder *builder, struct hq_error *error)
{
	struct record *const record = cookie;
	const struct hq_raw *const raw = record->spool.raw;
	const int status = hq_spool_merge(&record->spool, builder);

	record->outcome->processes = hq_load_relaxed(&raw->spaces);
	record->outcome->strangers = hq_load_relaxed(&raw->refused);
	record->outcome->was_stopped = record->spool.is_full;
	if (status)
		hq_error_set(error, "cannot write %.300s: %s", record->settings->output,
			     strerror(-status));
	return status;
}

struct import {
	const struct hq_import_format *format;
	const char *path;
};

static int fill_from_file(void *cookie, struct hq_trace_builder *builder, struct hq_error *error)
{
	const struct import *const import = cookie;
	int status = hq_import_file(import->format, import->path, builder, error);

	if (status)
		return status;
	status = hq_trace_builder_finish(builder, 0);
	if (status)
		hq_error_set(error, "cannot write the trace: %s", strerror(-status));
	return status;
}

int hq_record_import(const char *format, const char *path,
		     const struct hq_record_settings *settings, struct hq_record_outcome *outcome,
		     struct hq_error *error)
{
	struct import import = { .format = hq_import_find(format), .path = path };

	*outcome = (struct hq_record_outcome){ .status = 0 };
	if (!import.format)
		return hq_error_set(error, "unknown format '%.100s'", format);
	return make_trace(settings, outcome, fill_from_file, &import, error);
}

static uint64_t spool_bytes(const struct hq_record_settings *settings)
{
	const uint64_t bytes = settings->bytes_max * SPOOL_FACTOR;

	return bytes > SPOOL_BYTES_MIN ? bytes : SPOOL_BYTES_MIN;
}

int hq_record(const struct hq_record_settings *settings, struct hq_record_outcome *outcome,
	      struct hq_error *error)
{
	struct record record = { .settings = settings, .outcome = outcome };
	const uint64_t began_ns = hq_raw_clock_ns();
	struct hq_programs programs;
	char folder[4096];
	int status = hq_programs_find(&programs, error);

	*outcome = (struct hq_record_outcome){ .status = 0 };
	if (status)
		return status;
	if (access(programs.recorder, R_OK))
		return hq_error_set(error, "%.400s is missing; run make", programs.recorder);
	hq_record_folder(settings->output, folder, sizeof(folder));
	status = hq_spool_open(&record.spool, folder, spool_bytes(settings),
			       settings->with_children);
	if (status)
		hq_error_set(error, "cannot record into %.300s: %s", folder, strerror(-status));
	if (!status) {
		status = start(&record, &programs, error);
		if (!status)
			status = watch(&record, error);
		outcome->wall_ns = hq_raw_clock_ns() - began_ns;
		if (!status)
			status = make_trace(settings, outcome, fill_from_spool, &record, error);
		sigprocmask(SIG_SETMASK, &record.before, NULL);
	}
	hq_spool_close(&record.spool);
	return status;
}
