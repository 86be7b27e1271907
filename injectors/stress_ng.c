/* SPDX-License-Identifier: MIT */
/*
 * A noisy neighbour: stress-ng, beside the target, in a process group of its own.
 *
 * What it leaves (its log and its metrics) is in a folder of its own in the run's folder. What it
 * may take is bounded for every stressor, also for those that by themselves would grow until the
 * machine is out of memory: its processes have an RLIMIT_DATA. Proof of pressure: its own count of
 * operations, and the memory that its processes really held.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/builtin.h"
#include "injectors/child.h"
#include "injectors/proc.h"
#include "injectors/units.h"

#define STOP_PATIENCE_MS  3000
#define PROBE_PATIENCE_MS 5000
#define OWN_DATA_BYTES    (64 * HQ_MIB) /* what a process of stress-ng needs besides */
#define MALLOC_BLOCKS     1024
#define FOLDER_TRIES      100
#define FOLDER_SIZE       (PATH_MAX / 4)
#define PROCESSES_MAX     256

enum stressor { STRESSOR_BIGHEAP, STRESSOR_BRK, STRESSOR_MALLOC, STRESSOR_MMAP, STRESSOR_VM };
static const char *const stressor_names[] = { "bigheap", "brk", "malloc", "mmap", "vm", NULL };

struct settings {
	uint32_t stressor; /* enum stressor */
	uint64_t workers;
	uint64_t bytes;
};

static const struct hq_option options[] = {
	{ .name = "stressor",
	  .kind = HQ_OPTION_ENUM,
	  .offset = offsetof(struct settings, stressor),
	  .fallback = "vm",
	  .choices = stressor_names,
	  .help = "what it does" },
	{ .name = "workers",
	  .kind = HQ_OPTION_COUNT,
	  .offset = offsetof(struct settings, workers),
	  .fallback = "1",
	  .min = 1,
	  .max = 64,
	  .help = "processes that do it" },
	{ .name = "bytes",
	  .kind = HQ_OPTION_SIZE,
	  .offset = offsetof(struct settings, bytes),
	  .fallback = "64MiB",
	  .min = HQ_MIB,
	  .max = 1ull << 46,
	  .help = "memory of all workers together" },
	{ .name = NULL },
};

struct state {
	pid_t pid; /* 0: not started, or stopped */
	bool owns_folder;
	char folder[FOLDER_SIZE];
	double ops;
	double ops_per_second;
	uint64_t peak_bytes;
};

/* ---- probe ---- */

/* True if `word` is one of the words in `text`. */
static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || strchr(" \n", at[-1])) && strchr(" \n", at[length]))
			return true;
	return false;
}

static int probe(const void *values, struct hq_error *reason)
{
	const struct settings *settings = values;
	const char *wanted = stressor_names[settings->stressor];
	char *const list[] = { "stress-ng", "--stressors", NULL };
	char *const version[] = { "stress-ng", "--version", NULL };
	char path[HQ_CHILD_PATH_SIZE];
	char text[16384] = "";

	if (hq_child_find("stress-ng", path)) {
		hq_error_set(reason, "stress-ng is not in PATH; install the package stress-ng");
		return -ENOENT;
	}
	if (hq_child_capture(path, list, PROBE_PATIENCE_MS, text, sizeof(text)) != 0) {
		hq_error_set(reason, "%s --stressors failed: %.200s", path, text);
		return -EOPNOTSUPP;
	}
	if (has_word(text, wanted))
		return 0;
	hq_child_capture(path, version, PROBE_PATIENCE_MS, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	hq_error_set(reason, "%.200s has no stressor '%s'", text, wanted);
	return -EOPNOTSUPP;
}

/* ---- its folder ---- */

static bool path_in(const struct state *state, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", state->folder, name) < PATH_MAX;
}

/* In the run's folder, numbered since a scenario may have several; else one of our own in /tmp. */
static int make_folder(struct state *state, const char *run_folder)
{
	if (!run_folder) {
		snprintf(state->folder, sizeof(state->folder), "/tmp/heapquake-stress-ng-XXXXXX");
		state->owns_folder = true;
		return mkdtemp(state->folder) ? 0 : -errno;
	}
	for (int n = 1; n < FOLDER_TRIES; n++) {
		if (snprintf(state->folder, sizeof(state->folder), "%s/stress-ng-%d", run_folder,
			     n) >= (int)sizeof(state->folder))
			return -ENAMETOOLONG;
		if (mkdir(state->folder, 0755) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *position)
{
	(void)status;
	(void)kind;
	(void)position;
	return remove(path) && errno != ENOENT;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int prepare(struct hq_injector_run *run)
{
	struct state *state = calloc(1, sizeof(*state));
	char temporary[PATH_MAX];
	int status;

	if (!state)
		return -ENOMEM;
	status = make_folder(state, run->folder);
	if (status) {
		hq_error_set(&run->error, "cannot make a folder for stress-ng in %s: %s",
			     run->folder ? run->folder : "/tmp", strerror(-status));
		free(state);
		return status;
	}
	run->state = state;
	if (!path_in(state, "tmp", temporary))
		return -ENAMETOOLONG;
	return mkdir(temporary, 0755) ? -errno : 0;
}

/* ---- its life ---- */

#define ARGUMENTS_MAX 24
#define ARGUMENT_SIZE (PATH_MAX + 16)

/* A command line under construction. */
struct command {
	char text[ARGUMENTS_MAX][ARGUMENT_SIZE];
	char *argv[ARGUMENTS_MAX + 1];
	size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct command *command, const char *format,
						      ...)
{
	va_list arguments;

	if (command->count == ARGUMENTS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(command->text[command->count], ARGUMENT_SIZE, format, arguments);
	va_end(arguments);
	command->argv[command->count] = command->text[command->count];
	command->argv[++command->count] = NULL;
}

static void add_stressor(struct command *command, const struct settings *settings)
{
	const char *name = stressor_names[settings->stressor];

	add(command, "--%s", name);
	add(command, "%" PRIu64, settings->workers);
	switch ((enum stressor)settings->stressor) {
	case STRESSOR_VM:
	case STRESSOR_MMAP: /* stress-ng shares it out among the workers. */
		add(command, "--%s-bytes", name);
		add(command, "%" PRIu64, settings->bytes);
		break;
	case STRESSOR_MALLOC: /* Blocks are half as large as this on average. */
		add(command, "--malloc-bytes");
		add(command, "%" PRIu64,
		    2 * settings->bytes / settings->workers / MALLOC_BLOCKS + 64);
		add(command, "--malloc-max");
		add(command, "%d", MALLOC_BLOCKS);
		break;
	case STRESSOR_BIGHEAP:
	case STRESSOR_BRK: /* These know no bound but RLIMIT_DATA. */
		break;
	}
}

static void build_command(struct command *command, const struct state *state,
			  const struct settings *settings, uint64_t seed)
{
	command->count = 0;
	add(command, "stress-ng");
	add_stressor(command, settings);
	add(command, "--metrics-brief");
	add(command, "--seed");
	add(command, "%" PRIu64, seed);
	add(command, "--temp-path");
	add(command, "%s/tmp", state->folder);
	add(command, "--yaml");
	add(command, "%s/metrics.yaml", state->folder);
}

static int start_at(struct state *state, const char *path, struct command *command,
		    const struct settings *settings)
{
	char log[PATH_MAX];

	if (!path_in(state, "log", log))
		return -ENAMETOOLONG;
	const int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	const struct hq_child child = {
		.path = path,
		.argv = command->argv,
		.out_fd = fd,
		.data_limit_bytes = settings->bytes / settings->workers + OWN_DATA_BYTES,
	};
	const int status = hq_child_start(&child, &state->pid);

	close(fd);
	if (status)
		state->pid = 0;
	return status;
}

static int start(struct hq_injector_run *run)
{
	char path[HQ_CHILD_PATH_SIZE];
	int status = hq_child_find("stress-ng", path);
	struct command *command = status ? NULL : malloc(sizeof(*command));

	if (status == 0 && !command)
		status = -ENOMEM;
	if (status == 0) {
		build_command(command, run->state, run->options, run->seed);
		status = start_at(run->state, path, command, run->options);
	}
	free(command);
	if (status)
		hq_error_set(&run->error, "cannot start stress-ng: %s", strerror(-status));
	return status;
}

/* Adds the children of a process to the list. */
static size_t append_children(pid_t pid, pid_t *list, size_t count)
{
	char text[4096];
	char *at = text;

	if (hq_proc_read_of(pid, pid, "children", text, sizeof(text)) <= 0)
		return count;
	while (count < PROCESSES_MAX) {
		char *rest;
		const long child = strtol(at, &rest, 10);

		if (rest == at)
			break;
		list[count++] = (pid_t)child;
		at = rest;
	}
	return count;
}

static void tick(struct hq_injector_run *run)
{
	struct state *state = run->state;
	pid_t list[PROCESSES_MAX] = { state->pid };
	uint64_t sum = 0;
	char text[128];

	if (!state->pid)
		return;
	for (size_t i = 0, count = 1; i < count; i++) {
		if (hq_proc_read_of(list[i], 0, "statm", text, sizeof(text)) > 0)
			sum += hq_proc_statm_anonymous_bytes(text);
		count = append_children(list[i], list, count);
	}
	if (sum > state->peak_bytes)
		state->peak_bytes = sum;
}

/* The number behind the key in its YAML; 0 if it wrote none. */
static double yaml_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) : 0;
}

static void read_metrics(struct state *state)
{
	char path[PATH_MAX];
	char text[16384];

	if (!path_in(state, "metrics.yaml", path) || hq_proc_read(path, text, sizeof(text)) <= 0)
		return;
	state->ops = yaml_number(text, "bogo-ops: ");
	state->ops_per_second = yaml_number(text, "bogo-ops-per-second-real-time: ");
}

static void stop(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (!state->pid)
		return;
	tick(run);
	hq_child_stop(state->pid, SIGINT, STOP_PATIENCE_MS);
	state->pid = 0;
	read_metrics(state);
}

static void restore(struct hq_injector_run *run)
{
	struct state *state = run->state;
	char temporary[PATH_MAX];

	if (!state)
		return;
	stop(run);
	if (state->owns_folder)
		remove_tree(state->folder);
	else if (path_in(state, "tmp", temporary))
		remove_tree(temporary);
	free(state);
	run->state = NULL;
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	count = hq_measure_add(out, room, count, "fired", "", state->ops);
	count = hq_measure_add(out, room, count, "ops_per_second", "/s", state->ops_per_second);
	return hq_measure_add(out, room, count, "peak", "B", (double)state->peak_bytes);
}

const struct hq_injector hq_injector_stress_ng = {
	.name = "stress-ng",
	.help = "a noisy neighbour that maps, allocates and touches memory",
	.options = options,
	.options_size = sizeof(struct settings),
	.probe = probe,
	.prepare = prepare,
	.start = start,
	.tick = tick,
	.stop = stop,
	.restore = restore,
	.measure = measure,
};
