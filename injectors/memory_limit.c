/* SPDX-License-Identifier: MIT */
/*
 * A memory limit that closes in. Two ways:
 *
 *   cgroup  a control group of its own: memory that is resident is limited, the kernel reclaims,
 *           and in the end it kills. Proof: charges that met the limit and kills, counted by the
 *           group.
 *
 *   data    RLIMIT_DATA: memory that is promised (private and writable) is limited, and the call
 *           that asks for more fails with ENOMEM. Needs no right at all. The kernel counts no
 *           failures here, so the proof is weaker: that the promised memory came within a tenth of
 *           the limit, from below. A single request larger than all the rest leaves no trace in it,
 *           nor does one refused to a target that held more than that when the limit was lowered.
 *
 * Only the soft limit is lowered: a lowered hard one could never be raised again.
 *
 * The limit may move (`steps`, to about a tenth of a second). Below what is in use and cannot be
 * reclaimed cgroup v2 kills, and RLIMIT_DATA refuses what is asked for next; cgroup v1 refuses to
 * be lowered at all, which is counted and tried again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "injectors/builtin.h"
#include "injectors/cgroup.h"
#include "injectors/clock.h"
#include "injectors/limit_steps.h"
#include "injectors/proc.h"
#include "injectors/units.h"

#define NEAR_SHARE 0.9
#define LIMIT_MAX  (1ull << 50)

enum via { VIA_AUTO, VIA_CGROUP, VIA_DATA };
static const char *const via_names[] = { "auto", "cgroup", "data", NULL };

struct settings {
	uint64_t limit_bytes;
	uint64_t high_bytes;
	uint64_t swap_bytes;
	uint32_t via; /* enum via */
	char steps[HQ_OPTION_TEXT_SIZE];
};

static const struct hq_option options[] = {
	{ .name = "limit",
	  .kind = HQ_OPTION_SIZE,
	  .offset = offsetof(struct settings, limit_bytes),
	  .min = HQ_MIB,
	  .max = LIMIT_MAX,
	  .help = "most memory that the target may have" },
	{ .name = "high",
	  .kind = HQ_OPTION_SIZE,
	  .offset = offsetof(struct settings, high_bytes),
	  .fallback = "0",
	  .max = LIMIT_MAX,
	  .help = "throttle from this size on (cgroup v2); 0: do not" },
	{ .name = "swap",
	  .kind = HQ_OPTION_SIZE,
	  .offset = offsetof(struct settings, swap_bytes),
	  .fallback = "0",
	  .max = LIMIT_MAX,
	  .help = "swap that the target may use besides (cgroup)" },
	{ .name = "via",
	  .kind = HQ_OPTION_ENUM,
	  .offset = offsetof(struct settings, via),
	  .fallback = "auto",
	  .choices = via_names,
	  .help = "auto: a cgroup if one can be made, else RLIMIT_DATA" },
	{ .name = "steps",
	  .kind = HQ_OPTION_TEXT,
	  .offset = offsetof(struct settings, steps),
	  .fallback = "none",
	  .help = "how the limit moves after the start, as in 64MiB@300ms,80MiB@1s" },
	{ .name = NULL },
};

struct state {
	struct hq_cgroup group; /* path "": RLIMIT_DATA is used */
	bool has_group;
	struct hq_cgroup_counts counts; /* the latest reading */
	uint64_t peak_bytes;
	uint64_t limit_bytes; /* in force */
	bool is_below;        /* RLIMIT_DATA: the promised memory was less, under this limit */
	bool was_near;        /* RLIMIT_DATA: it came near the limit from there */
	struct hq_limit_steps steps;
	size_t taken; /* steps that are in force, or were passed over */
	uint64_t applied;
	uint64_t refused;    /* times that a step could not be taken */
	uint64_t started_ns; /* 0: not yet */
};

static int limit_group(const struct settings *settings, const struct hq_cgroup *group,
		       uint64_t bytes, struct hq_error *reason)
{
	const struct hq_cgroup_limits limits = {
		.max_bytes = bytes,
		.high_bytes = settings->high_bytes,
		.swap_bytes = settings->swap_bytes,
	};

	return hq_cgroup_limit(group, &limits, reason);
}

static int make_group(const struct settings *settings, enum hq_cgroup_version version,
		      struct hq_cgroup *group, struct hq_error *reason)
{
	int status = hq_cgroup_create(group, version, reason);

	if (status)
		return status;
	status = limit_group(settings, group, settings->limit_bytes, reason);
	if (status)
		hq_cgroup_destroy(group);
	return status;
}

/* The better interface first. */
static int make_any_group(const struct settings *settings, struct hq_cgroup *group,
			  struct hq_error *reason)
{
	struct hq_error reasons[2];

	if (make_group(settings, HQ_CGROUP_V2, group, &reasons[0]) == 0)
		return 0;
	const int status = make_group(settings, HQ_CGROUP_V1, group, &reasons[1]);

	if (status)
		hq_error_set(reason, "no memory cgroup can be made: v2: %.220s; v1: %.220s",
			     reasons[0].text, reasons[1].text);
	return status;
}

/* RLIMIT_DATA always works, but it can neither throttle nor limit swap. */
static bool may_use_data(const struct settings *settings)
{
	return settings->via == VIA_DATA ||
	       (settings->via == VIA_AUTO && !settings->high_bytes && !settings->swap_bytes);
}

static int probe(const void *values, struct hq_error *reason)
{
	const struct settings *settings = values;
	struct hq_limit_steps steps;
	struct hq_cgroup group;

	if (hq_limit_steps_parse(settings->steps, &steps, reason))
		return -EINVAL;
	if (settings->via == VIA_DATA && (settings->high_bytes || settings->swap_bytes)) {
		hq_error_set(reason, "high and swap need via=cgroup");
		return -EINVAL;
	}
	if (settings->via == VIA_DATA)
		return 0;
	const int status = make_any_group(settings, &group, reason);

	if (status)
		return may_use_data(settings) ? 0 : status;
	return hq_cgroup_destroy(&group);
}

static int prepare(struct hq_injector_run *run)
{
	const struct settings *settings = run->options;
	struct state *state = calloc(1, sizeof(*state));
	int status = 0;

	if (!state)
		return -ENOMEM;
	run->state = state;
	state->group.procs_fd = -1;
	state->limit_bytes = settings->limit_bytes;
	state->is_below = true; /* a target that begins has nothing yet */
	if (hq_limit_steps_parse(settings->steps, &state->steps, &run->error))
		return -EINVAL;
	if (settings->via != VIA_DATA)
		status = make_any_group(settings, &state->group, &run->error);
	state->has_group = settings->via != VIA_DATA && status == 0;
	if (status && may_use_data(settings)) {
		run->error.text[0] = '\0';
		status = 0;
	}
	return status;
}

static int enter(struct hq_injector_run *run)
{
	const struct state *state = run->state;

	return state->has_group ? hq_cgroup_enter(&state->group)
				: hq_proc_limit(0, RLIMIT_DATA, state->limit_bytes);
}

/* What a target held when its limit was lowered came near nothing. */
static void look_how_near(struct state *state)
{
	if ((double)state->counts.peak_bytes < NEAR_SHARE * (double)state->limit_bytes)
		state->is_below = true;
	else if (state->is_below)
		state->was_near = true;
}

static void look(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (state->has_group)
		hq_cgroup_read(&state->group, &state->counts);
	else /* VmData leaves out the stack, but counts all that RLIMIT_DATA limits. */
		state->counts.peak_bytes = hq_proc_status_bytes(run->target, "VmData");
	if (state->counts.peak_bytes > state->peak_bytes)
		state->peak_bytes = state->counts.peak_bytes;
	if (!state->has_group)
		look_how_near(state);
}

static int set_limit(struct hq_injector_run *run, uint64_t bytes)
{
	const struct state *state = run->state;

	return state->has_group ? limit_group(run->options, &state->group, bytes, &run->error)
				: hq_proc_limit(run->target, RLIMIT_DATA, bytes);
}

/* Of several steps that are due the last one counts. */
static void take_steps(struct hq_injector_run *run)
{
	struct state *state = run->state;
	const size_t due = hq_limit_steps_due(&state->steps, hq_now_ns() - state->started_ns);

	if (due <= state->taken)
		return;
	if (set_limit(run, state->steps.list[due - 1].bytes)) {
		state->refused++;
		return;
	}
	state->limit_bytes = state->steps.list[due - 1].bytes;
	state->is_below = false;
	state->taken = due;
	state->applied++;
}

static void restore(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (!state)
		return;
	/* A group that does not go now is found again by sweep. */
	if (state->has_group)
		hq_cgroup_destroy(&state->group);
	free(state);
	run->state = NULL;
}

static double fired(const struct hq_injector_run *run)
{
	const struct state *state = run->state;

	return state->has_group ? (double)state->counts.failures : state->was_near;
}

static const char *mechanism(const struct state *state)
{
	if (!state->has_group)
		return "rlimit_data";
	return state->group.version == HQ_CGROUP_V2 ? "cgroup_v2" : "cgroup_v1";
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	if (state->has_group) /* The kernel's counters outlive the target. */
		look(run);
	count = hq_measure_add(out, room, count, "fired", "", fired(run));
	count = hq_measure_add(out, room, count, "kills", "", (double)state->counts.kills);
	count = hq_measure_add(out, room, count, "peak", "B", (double)state->peak_bytes);
	count = hq_measure_add(out, room, count, "limit", "B", (double)state->limit_bytes);
	count = hq_measure_add(out, room, count, "steps", "", (double)state->applied);
	count = hq_measure_add(out, room, count, "refused", "", (double)state->refused);
	return hq_measure_add(out, room, count, mechanism(state), "", 1);
}

static int start(struct hq_injector_run *run)
{
	struct state *state = run->state;

	state->started_ns = hq_now_ns();
	look(run);
	return 0;
}

/* What was used under the old limit is looked at first. */
static void tick(struct hq_injector_run *run)
{
	look(run);
	take_steps(run);
}

const struct hq_injector hq_injector_memory_limit = {
	.name = "memory-limit",
	.help = "a memory limit: the kernel reclaims and kills (cgroup) or refuses (RLIMIT_DATA)",
	.options = options,
	.options_size = sizeof(struct settings),
	.sweep = hq_cgroup_sweep,
	.probe = probe,
	.prepare = prepare,
	.enter = enter,
	.start = start,
	.tick = tick,
	.stop = look,
	.restore = restore,
	.measure = measure,
};
