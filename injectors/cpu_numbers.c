/* SPDX-License-Identifier: MIT */
/*
 * CPU numbers that do not begin at 0, or are larger than the count that was read at the start. Both
 * are the kernel's own doing, by affinity: sched_getcpu, getcpu, rseq and sched_getaffinity all say
 * the same and all of it is true. What comes from sysfs (sysconf, get_nprocs) keeps its value, as
 * it does in a container.
 *
 *   gap   only every second CPU, beginning with the second: on two CPUs number 1 alone
 *   grow  only the lowest half at the start; `after` that long only the other ones
 *   one   only the highest: every thread sees the same number
 *
 * What it cannot do: a number that no CPU of this machine has, and one that changes from a call to
 * the next without a move (the migrate injector does that with real moves).
 *
 * What counts as fired is a thread that ran on a CPU whose number is not below the count at the
 * start: the kernel tells where a thread ran last. Of what grows, only the other half counts, where
 * no thread could be before.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/builtin.h"
#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/units.h"

#define THREADS_MAX     256
#define FIELD_PROCESSOR 39 /* of /proc/PID/task/TID/stat: the CPU it ran on last */

enum shape { SHAPE_GAP, SHAPE_GROW, SHAPE_ONE };
static const char *const shape_names[] = { "gap", "grow", "one", NULL };

struct settings {
	uint32_t shape; /* enum shape */
	uint64_t after_ns;
};

static const struct hq_option options[] = {
	{ .name = "shape",
	  .kind = HQ_OPTION_ENUM,
	  .offset = offsetof(struct settings, shape),
	  .fallback = "grow",
	  .choices = shape_names,
	  .help = "gap: every second CPU; grow: the lower half, later the other; one: the "
		  "highest" },
	{ .name = "after",
	  .kind = HQ_OPTION_DURATION,
	  .offset = offsetof(struct settings, after_ns),
	  .fallback = "0",
	  .help = "grow: how long after the start of the work" },
	{ .name = NULL },
};

struct state {
	cpu_set_t at_start, later; /* equal unless it grows */
	uint64_t started_ns;
	bool has_grown;
	int count;               /* CPUs at the start */
	int highest;             /* number seen; -1: none */
	pid_t seen[THREADS_MAX]; /* threads that ran beyond the count */
	size_t fired;
};

/* ---- masks ---- */

/* The n-th allowed CPU belongs to the target at the start. */
static bool begins_with(enum shape shape, int n, int count)
{
	if (shape == SHAPE_GAP)
		return n % 2 == 1;
	return shape == SHAPE_GROW ? n < count / 2 : n == count - 1;
}

/* 0, or -EOPNOTSUPP where fewer than two CPUs are left to choose from. */
static int divide(enum shape shape, const cpu_set_t *allowed, struct state *state)
{
	const int count = CPU_COUNT(allowed);
	int n = 0;

	CPU_ZERO(&state->at_start);
	CPU_ZERO(&state->later);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed))
			continue;
		const bool first = begins_with(shape, n++, count);

		if (first)
			CPU_SET(cpu, &state->at_start);
		if (first == (shape != SHAPE_GROW))
			CPU_SET(cpu, &state->later);
	}
	state->count = CPU_COUNT(&state->at_start);
	state->highest = -1;
	return count < 2 ? -EOPNOTSUPP : 0;
}

static int read_masks(const struct settings *settings, cpu_set_t *allowed, struct state *state,
		      struct hq_error *error)
{
	if (sched_getaffinity(0, sizeof(*allowed), allowed)) {
		const int status = -errno;

		hq_error_set(error, "sched_getaffinity: %s", strerror(errno));
		return status;
	}
	const int status = divide((enum shape)settings->shape, allowed, state);

	if (status)
		hq_error_set(error, "only one CPU may be used here (taskset, cpuset); two are "
				    "needed");
	return status;
}

static int probe(const void *values, struct hq_error *reason)
{
	struct state state;
	cpu_set_t allowed;
	int status = read_masks(values, &allowed, &state, reason);

	if (status)
		return status;
	if (sched_setaffinity(0, sizeof(state.later), &state.later))
		status = -errno;
	sched_setaffinity(0, sizeof(allowed), &allowed);
	if (status)
		hq_error_set(reason, "sched_setaffinity: %s", strerror(-status));
	return status;
}

/* ---- the target's threads ---- */

static int processor_of(pid_t pid, pid_t tid)
{
	char text[1024];
	const char *field;

	if (hq_proc_read_of(pid, tid, "stat", text, sizeof(text)) <= 0)
		return -1;
	field = hq_proc_stat_field(text, FIELD_PROCESSOR);
	return field ? atoi(field) : -1;
}

static void remember(struct state *state, pid_t tid)
{
	for (size_t i = 0; i < state->fired; i++)
		if (state->seen[i] == tid)
			return;
	if (state->fired < THREADS_MAX)
		state->seen[state->fired++] = tid;
}

static void look(struct hq_injector_run *run)
{
	struct state *state = run->state;
	pid_t tids[THREADS_MAX];
	const size_t found = hq_proc_threads(run->target, tids, THREADS_MAX);

	for (size_t i = 0; i < found; i++) {
		const int cpu = processor_of(run->target, tids[i]);

		if (cpu > state->highest)
			state->highest = cpu;
		if (cpu >= state->count && CPU_ISSET(cpu, &state->later))
			remember(state, tids[i]);
	}
}

/* A thread that is born meanwhile has inherited either mask: each look moves who is left. */
static void grow(struct hq_injector_run *run)
{
	const struct settings *settings = run->options;
	struct state *state = run->state;
	pid_t tids[THREADS_MAX];

	if (settings->shape != SHAPE_GROW || hq_now_ns() < state->started_ns + settings->after_ns)
		return;
	const size_t found = hq_proc_threads(run->target, tids, THREADS_MAX);

	for (size_t i = 0; i < found; i++)
		if (sched_setaffinity(tids[i], sizeof(state->later), &state->later) == 0)
			state->has_grown = true;
}

/* ---- hooks ---- */

static int prepare(struct hq_injector_run *run)
{
	struct state *state = calloc(1, sizeof(*state));
	cpu_set_t allowed;

	if (!state)
		return -ENOMEM;
	run->state = state;
	return read_masks(run->options, &allowed, state, &run->error);
}

static int enter(struct hq_injector_run *run)
{
	const struct state *state = run->state;

	return sched_setaffinity(0, sizeof(state->at_start), &state->at_start) ? -errno : 0;
}

static int start(struct hq_injector_run *run)
{
	struct state *state = run->state;

	state->started_ns = hq_now_ns();
	grow(run);
	return 0;
}

static void tick(struct hq_injector_run *run)
{
	grow(run);
	look(run);
}

static void restore(struct hq_injector_run *run)
{
	free(run->state);
	run->state = NULL;
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	count = hq_measure_add(out, room, count, "fired", "", (double)state->fired);
	count = hq_measure_add(out, room, count, "cpus", "", state->count);
	count = hq_measure_add(out, room, count, "highest", "", state->highest);
	return hq_measure_add(out, room, count, "grown", "", state->has_grown);
}

const struct hq_injector hq_injector_cpu_numbers = {
	.name = "cpu-numbers",
	.help = "CPU numbers with gaps, or beyond the count at the start, by real affinity",
	.options = options,
	.options_size = sizeof(struct settings),
	.probe = probe,
	.prepare = prepare,
	.enter = enter,
	.start = start,
	.tick = tick,
	.stop = look,
	.restore = restore,
	.measure = measure,
};
