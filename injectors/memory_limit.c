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
 *           the limit. A single request larger than all the rest leaves no trace in it.
 *
 * Only the soft limit is lowered: a lowered hard one could never be raised again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "injectors/builtin.h"
#include "injectors/cgroup.h"
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
	{ .name = NULL },
};

struct state {
	struct hq_cgroup group; /* path "": RLIMIT_DATA is used */
	bool has_group;
	struct hq_cgroup_counts counts; /* the latest reading */
	uint64_t peak_bytes;
};

static int make_group(const struct settings *settings, enum hq_cgroup_version version,
		      struct hq_cgroup *group, struct hq_error *reason)
{
	const struct hq_cgroup_limits limits = {
		.max_bytes = settings->limit_bytes,
		.high_bytes = settings->high_bytes,
		.swap_bytes = settings->swap_bytes,
	};
	int status = hq_cgroup_create(group, version, reason);

	if (status)
		return status;
	status = hq_cgroup_limit(group, &limits, reason);
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

static int set_data_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return -errno;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit) ? -errno : 0;
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
	struct hq_cgroup group;

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
	const struct settings *settings = run->options;
	const struct state *state = run->state;

	return state->has_group ? hq_cgroup_enter(&state->group)
				: set_data_limit(settings->limit_bytes);
}

/* What RLIMIT_DATA is held against: VmData leaves out the stack but counts all that it limits. */
static uint64_t read_data_bytes(pid_t target)
{
	uint64_t kib = 0;
	char text[4096];

	if (hq_proc_read_of(target, 0, "status", text, sizeof(text)) <= 0 ||
	    !hq_proc_number(text, "VmData", &kib))
		return 0;
	return kib * HQ_KIB;
}

static void look(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (state->has_group)
		hq_cgroup_read(&state->group, &state->counts);
	else
		state->counts.peak_bytes = read_data_bytes(run->target);
	if (state->counts.peak_bytes > state->peak_bytes)
		state->peak_bytes = state->counts.peak_bytes;
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
	const struct settings *settings = run->options;
	const struct state *state = run->state;

	if (state->has_group)
		return (double)state->counts.failures;
	return (double)state->peak_bytes >= NEAR_SHARE * (double)settings->limit_bytes;
}

static const char *mechanism(const struct state *state)
{
	if (!state->has_group)
		return "rlimit_data";
	return state->group.version == HQ_CGROUP_V2 ? "cgroup_v2" : "cgroup_v1";
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct settings *settings = run->options;
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	if (state->has_group) /* The kernel's counters outlive the target. */
		look(run);
	count = hq_measure_add(out, room, count, "fired", "", fired(run));
	count = hq_measure_add(out, room, count, "kills", "", (double)state->counts.kills);
	count = hq_measure_add(out, room, count, "peak", "B", (double)state->peak_bytes);
	count = hq_measure_add(out, room, count, "limit", "B", (double)settings->limit_bytes);
	return hq_measure_add(out, room, count, mechanism(state), "", 1);
}

static int start(struct hq_injector_run *run)
{
	look(run);
	return 0;
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
	.tick = look,
	.stop = look,
	.restore = restore,
	.measure = measure,
};
