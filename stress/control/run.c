/* SPDX-License-Identifier: MIT */
/*
 * One run from probe to restore. The way in is in run_start.c, the watch in run_watch.c; here is
 * their order, and the one way out.
 */
#include "stress/control/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/child.h"
#include "injectors/clock.h"
#include "stress/plan/allocator.h"
#include "stress/control/run_state.h"
#include "stress/control/spawn.h"
#include "stress/observe/drain.h"
#include "stress/observe/residue.h"

/* A killed driver goes at once, unless the kernel holds it. */
#define DRIVER_PATIENCE_MS 2000

static bool same_file(const char *one, const char *other)
{
	char a[PATH_MAX], b[PATH_MAX];

	return realpath(one, a) && realpath(other, b) && !strcmp(a, b);
}

/* Is the allocator that was asked for the one whose malloc the target calls? */
static int check_provider(const struct hq_run_state *run, struct hq_error *error)
{
	const struct hq_plan *plan = run->spec->plan;
	const char *provider = run->wire->status.provider;

	if (!provider[0] || !plan->library[0] || same_file(provider, plan->library))
		return 0;
	hq_error_set(error, "%s is not in effect: malloc comes from %s", plan->allocator, provider);
	return -EOPNOTSUPP;
}

/*
 * A program that loads none of our libraries runs all the same, and what it did says nothing about
 * the allocator that was asked for. Only at the end is it known that none of its children did.
 */
static int check_loaded(const struct hq_run_state *run, struct hq_error *error)
{
	const struct hq_plan *plan = run->spec->plan;

	if (run->launch.preloads || !plan->library[0] || run->wire->status.provider[0])
		return 0;
	hq_error_set(error,
		     "%s is not in effect: %s loads no library of ours (static, or not glibc's)",
		     plan->allocator, plan->command[0]);
	return -EOPNOTSUPP;
}

/* The number alone, where the rest only repeats the allocator's name or names a commit. */
static void take_facts(const struct hq_run_state *run, struct hq_run_facts *facts)
{
	const char *name = run->spec->plan->allocator;
	const char *said = run->wire->status.version;
	const char *version = said[0] ? said : run->spec->plan->version;
	const size_t length = strlen(name);

	while (length && !strncmp(version, name, length) && version[length] == ' ')
		version += length + 1;
	snprintf(facts->provider, sizeof(facts->provider), "%.255s", run->wire->status.provider);
	if (!strcmp(name, HQ_ALLOCATOR_OWN) && strrchr(run->wire->status.provider, '/'))
		version = strrchr(run->wire->status.provider, '/') + 1;
	snprintf(facts->version, sizeof(facts->version), "%.63s", version);
	char *commit = strstr(facts->version, "-0-g");

	if (commit)
		*commit = '\0';
}

/* A SIGKILL that we did not send, from a group that counted a kill, was the kernel's. */
static void classify_kill(struct hq_run_state *run)
{
	struct hq_observations *seen = run->seen;

	if (seen->outcome != HQ_OUTCOME_SIGNALED || seen->status != SIGKILL || run->killed)
		return;
	for (size_t i = 0; i < seen->injection_count; i++)
		for (size_t j = 0; j < seen->injections[i].measure_count; j++)
			if (!strcmp(seen->injections[i].measures[j].name, "kills") &&
			    seen->injections[i].measures[j].value > 0)
				seen->outcome = HQ_OUTCOME_OOM_KILLED;
}

static void end_driver(struct hq_run_state *run)
{
	if (run->driver) {
		hq_child_stop(run->driver, SIGKILL, DRIVER_PATIENCE_MS);
		run->driver = 0;
	}
	hq_capture_stop(run->driver_capture);
}

/* The one way out: ends, takes the last records, puts back. Safe after any step. */
static void wind_up(struct hq_run_state *run)
{
	if (run->pid)
		hq_run_kill(run, run->seen->outcome);
	hq_run_close_gate(run);
	end_driver(run);
	if (run->sampler)
		hq_sampler_stop(run->sampler, run->go_ns, run->seen);
	hq_hurdles_measure(&run->hurdles, run->seen);
	hq_hurdles_restore(&run->hurdles);
	run->seen->residue.target_processes = (uint32_t)hq_spawn_sweep(run->group);
	hq_counters_finish(&run->counters, run->seen);
	if (run->trace)
		hq_call_trace_close(run->trace, &run->seen->calls);
	hq_capture_stop(run->capture);
	if (run->notify)
		hq_notify_stop(run->notify);
	for (int i = 0; i < 2; i++)
		if (run->notify_sockets[i] >= 0)
			close(run->notify_sockets[i]);
	if (run->wire) {
		hq_drain(run->wire, run->seen);
		hq_drain_finish(run->wire, run->go_ns, run->seen);
		hq_wire_destroy(run->wire, run->wire_fd);
	}
	hq_launch_clear(&run->launch);
	classify_kill(run);
}

/* Without rules there is nothing to be in force. */
static bool rules_are_in_force(const struct hq_run_state *run)
{
	return run->wire->config.mechanism == HQ_MECHANISM_NONE ||
	       hq_load_acquire(&run->wire->plane.armed);
}

int hq_run(const struct hq_run_spec *spec, struct hq_run_facts *facts, struct hq_observations *seen,
	   struct hq_error *error)
{
	struct hq_run_state run = {
		.spec = spec,
		.seen = seen,
		.notify_sockets = { -1, -1 },
		.hurdles = { .plan = spec->plan },
	};
	struct hq_residue_mark mark;
	int result;

	hq_residue_mark(&mark);
	memset(seen, 0, sizeof(*seen));
	seen->is_host = spec->plan->is_host;
	result = hq_run_start(&run, error);
	if (!result)
		result = hq_run_await_ready(&run, error);
	if (!result)
		result = check_provider(&run, error);
	if (!result)
		result = hq_run_open(&run, error);
	if (!result)
		hq_run_watch(&run);
	if (result >= 0)
		result = check_loaded(&run, error);
	if (run.wire) {
		take_facts(&run, facts);
		seen->armed = rules_are_in_force(&run);
	}
	wind_up(&run);
	hq_residue_compare(&mark, seen);
	/* In the clean run of a pair the rules are counted, but nothing is to fire. */
	for (size_t i = 0; !spec->faulted && i < seen->rule_count; i++)
		seen->rules[i].required = 0;
	if (result < 0)
		hq_observations_clear(seen);
	return result < 0 ? result : 0;
}
