/* SPDX-License-Identifier: MIT */
/*
 * RLIMIT_AS: a limit on address space, whether it is used or only reserved. An allocator that maps
 * in large steps, or never unmaps, meets it long before its memory is used up. Needs no right.
 *
 *   from=start  set before the target is executed: does it start at all?
 *   from=ready  set when the target is ready, that much beyond what it has mapped by then: the host
 *               of the built-in workloads reserves much address space of its own
 *
 * The kernel counts no refusals here; the proof is that the address space came within a tenth of
 * the limit. A single request larger than all the rest leaves no trace in it. Only the soft limit
 * is lowered: a lowered hard one could never be raised again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "injectors/builtin.h"
#include "injectors/proc.h"
#include "injectors/rule.h"
#include "injectors/units.h"

#define NEAR_SHARE 0.9
#define LIMIT_MAX  (1ull << 46)

enum from { FROM_START, FROM_READY };
static const char *const from_names[] = { "start", "ready", NULL };

struct settings {
	uint64_t limit_bytes;
	uint32_t from; /* enum from */
};

static const struct hq_option options[] = {
	{ .name = "limit",
	  .kind = HQ_OPTION_SIZE,
	  .offset = offsetof(struct settings, limit_bytes),
	  .min = HQ_MIB,
	  .max = LIMIT_MAX,
	  .help = "most address space that the target may have" },
	{ .name = "from",
	  .kind = HQ_OPTION_ENUM,
	  .offset = offsetof(struct settings, from),
	  .fallback = "ready",
	  .choices = from_names,
	  .help = "start: all of it; ready: beyond what is mapped when the target is ready" },
	{ .name = NULL },
};

struct state {
	uint64_t before_bytes;   /* mapped before the limit began to count */
	uint64_t old_peak_bytes; /* the kernel's, which may be of before as well */
	uint64_t peak_bytes;
};

static int prepare(struct hq_injector_run *run)
{
	run->state = calloc(1, sizeof(struct state));
	return run->state ? 0 : -ENOMEM;
}

static int enter(struct hq_injector_run *run)
{
	const struct settings *settings = run->options;

	return settings->from == FROM_START ? hq_proc_limit(0, RLIMIT_AS, settings->limit_bytes)
					    : 0;
}

/*
 * The kernel keeps the peak; it is read as long as there is a process. While it has not risen under
 * the limit it says nothing of that, and what is mapped now has to do.
 */
static void look(struct hq_injector_run *run)
{
	struct state *state = run->state;
	uint64_t peak = hq_proc_status_bytes(run->target, "VmPeak");

	if (peak <= state->old_peak_bytes)
		peak = hq_proc_status_bytes(run->target, "VmSize");
	if (peak > state->before_bytes && peak - state->before_bytes > state->peak_bytes)
		state->peak_bytes = peak - state->before_bytes;
}

static int start(struct hq_injector_run *run)
{
	const struct settings *settings = run->options;
	struct state *state = run->state;
	int status;

	if (settings->from == FROM_START)
		return 0;
	state->before_bytes = hq_proc_status_bytes(run->target, "VmSize");
	state->old_peak_bytes = hq_proc_status_bytes(run->target, "VmPeak");
	if (state->before_bytes == 0)
		return hq_error_set(&run->error, "the address space of the target is not known");
	status = hq_proc_limit(run->target, RLIMIT_AS, state->before_bytes + settings->limit_bytes);
	if (status)
		hq_error_set(&run->error, "RLIMIT_AS of the target: %s", hq_errno_name(-status));
	return status;
}

static void restore(struct hq_injector_run *run)
{
	free(run->state);
	run->state = NULL;
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct settings *settings = run->options;
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	count = hq_measure_add(out, room, count, "fired", "",
			       (double)state->peak_bytes >=
				       NEAR_SHARE * (double)settings->limit_bytes);
	count = hq_measure_add(out, room, count, "peak", "B", (double)state->peak_bytes);
	return hq_measure_add(out, room, count, "limit", "B", (double)settings->limit_bytes);
}

const struct hq_injector hq_injector_address_space_limit = {
	.name = "address-space-limit",
	.help = "a limit on address space, used or not (RLIMIT_AS)",
	.options = options,
	.options_size = sizeof(struct settings),
	.prepare = prepare,
	.enter = enter,
	.start = start,
	.tick = look,
	.stop = look,
	.restore = restore,
	.measure = measure,
};
