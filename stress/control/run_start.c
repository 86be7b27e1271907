/* SPDX-License-Identifier: MIT */
/*
 * The way of a run up to the open gate. What was begun here is undone in run.c, in one place,
 * whichever step failed.
 */
#include "stress/control/run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/syscall/wake.h"
#include "injectors/units.h"
#include "stress/control/spawn.h"
#include "stress/observe/usage.h"

#define READY_DEADLINE_NS (15ull * HQ_S)   /* a loaded machine may need that to start a program */
#define SILENT_START_NS   (300ull * HQ_MS) /* for programs that load no library of ours */

static uint32_t takes_of(const struct hq_plan *plan)
{
	uint32_t takes = hq_asked_takes(plan->contracts, plan->contract_count);

	for (size_t i = 0; i < plan->expectation_count; i++)
		takes |= hq_expectation_takes(&plan->expectations[i]);
	return takes;
}

static void fill_stats(const struct hq_plan *plan, struct hq_wire_config *config)
{
	const uint32_t takes = takes_of(plan);

	if (takes & HQ_TAKES_STATS)
		config->stats_period_ns = plan->stats_period_ns;
	config->releases = (takes & HQ_TAKES_RELEASE) != 0;
	config->notes_refusals = (takes & HQ_TAKES_REFUSED) != 0;
}

static void fill_config(struct hq_run_state *run)
{
	const struct hq_plan *plan = run->spec->plan;
	struct hq_wire_config *config = &run->wire->config;
	struct hq_plane *plane = &run->wire->plane;

	/* A static filter knows no gate: without faults it must not be there at all. */
	config->mechanism = run->spec->faulted || run->spec->mechanism != HQ_MECHANISM_STATIC
				    ? run->spec->mechanism
				    : HQ_MECHANISM_NONE;
	config->is_host = plan->is_host;
	config->guard_every = plan->guard_every;
	config->guard_tails = plan->guard_tails;
	config->seed = plan->seed;
	config->ns_per_tick = run->spec->context->ns_per_tick;
	config->deadline_ns = READY_DEADLINE_NS;
	plane->ns_per_tick = config->ns_per_tick;
	plane->seed = plan->seed;
	plane->rule_count = (uint32_t)plan->rule_count;
	memcpy(plane->rules, plan->rules, sizeof(plane->rules));
	if (!plan->workload)
		return;
	strncpy(config->workload, plan->workload->name, sizeof(config->workload) - 1);
	hq_options_print(plan->workload->options, plan->workload_options, config->options,
			 sizeof(config->options));
	config->worker_count = plan->workload->threads(plan->workload_options);
	fill_stats(plan, config);
}

/*
 * In the child, last before exec. The host gets the same addresses in every run, since whether a
 * call would split a mapping, and so whether it may be hit, depends on what lies beside it. Where a
 * sandbox forbids that, runs differ a little more.
 */
static int enter_child(void *cookie)
{
	struct hq_run_state *run = cookie;

	if (run->spec->plan->is_host)
		personality(ADDR_NO_RANDOMIZE);
	int result = run->spec->faulted ? hq_hurdles_enter(&run->hurdles) : 0;

	if (!result && run->spec->mechanism == HQ_MECHANISM_NOTIFY)
		result = hq_notify_install(&run->wire->plane, run->notify_sockets[1]);
	return result;
}

/* Not for nothing: each switch between threads and each thread of the target gets dearer. */
static bool is_counted(const struct hq_run_state *run)
{
	const struct hq_plan *plan = run->spec->plan;

	if (plan->counters != HQ_COUNTING_AUTO)
		return plan->counters == HQ_COUNTING_ALWAYS;
	return run->spec->context->settings->all_metrics || takes_of(plan) & HQ_TAKES_COUNTERS;
}

/* Every such call takes a microsecond more, and every other one on the machine a little. */
static bool is_traced(const struct hq_run_state *run)
{
	const struct hq_plan *plan = run->spec->plan;

	if (plan->calls != HQ_COUNTING_AUTO)
		return plan->calls == HQ_COUNTING_ALWAYS;
	return takes_of(plan) & HQ_TAKES_CALLS;
}

static void count_from_birth(pid_t pid, void *cookie)
{
	struct hq_run_state *run = cookie;

	if (is_counted(run))
		hq_counters_open(pid, &run->counters);
	if (!is_traced(run))
		return;
	run->seen->calls.status = hq_call_trace_open(pid, &run->trace);
	run->seen->calls.known = run->seen->calls.status == 0;
}

/* A terminal cannot be read from a process group of its own; a pipe or a file can. */
static int input_for(const struct hq_run_state *run)
{
	return run->spec->context->settings->program_owns_output && !isatty(STDIN_FILENO)
		       ? STDIN_FILENO
		       : -1;
}

static int spawn_target(struct hq_run_state *run, struct hq_error *error)
{
	struct hq_spawn spawn = {
		.file = run->launch.argv[0],
		.argv = run->launch.argv,
		.env = run->launch.env,
		.in_fd = input_for(run),
		.out_fd = STDOUT_FILENO,
		.err_fd = STDERR_FILENO,
		.enter = enter_child,
		.born = count_from_birth,
		.cookie = run,
	};
	const bool captured = !run->spec->context->settings->program_owns_output;
	int result = 0;

	if (captured)
		result = hq_capture_start(&run->capture, run->spec->folder, "stdout", "stderr",
					  &spawn.out_fd, &spawn.err_fd);
	if (result) {
		hq_error_set(error, "cannot keep the target's output in %s: %s", run->spec->folder,
			     strerror(-result));
		return result;
	}
	run->spawned_ns = hq_now_ns();
	result = hq_spawn(&spawn, &run->pid, error);
	if (result)
		run->pid = 0;
	run->group = run->pid;
	if (captured) {
		close(spawn.out_fd);
		close(spawn.err_fd);
	}
	return result;
}

static int start_supervisor(struct hq_run_state *run, struct hq_error *error)
{
	const struct hq_plan *plan = run->spec->plan;

	if (run->spec->mechanism != HQ_MECHANISM_NOTIFY)
		return 0;
	close(run->notify_sockets[1]);
	run->notify_sockets[1] = -1;
	return hq_notify_start(&run->notify, &run->wire->plane, run->notify_sockets[0],
			       plan->is_host ? run->spec->programs->host : NULL, error);
}

static int make_wire(struct hq_run_state *run, struct hq_error *error)
{
	int result = hq_wire_create(&run->wire, &run->wire_fd);

	if (result) {
		hq_error_set(error, "cannot make the shared memory: %s", strerror(-result));
		return result;
	}
	fill_config(run);
	return hq_wire_populate(run->wire, run->wire->config.worker_count);
}

int hq_run_start(struct hq_run_state *run, struct hq_error *error)
{
	char wire_path[64];
	int result = make_wire(run, error);

	if (result)
		return result;
	snprintf(wire_path, sizeof(wire_path), "/proc/%d/fd/%d", (int)getpid(), run->wire_fd);
	result = hq_launch_build(&run->launch, run->spec->plan, run->spec->programs,
				 run->spec->folder, wire_path);
	if (!result && run->spec->mechanism == HQ_MECHANISM_NOTIFY) {
		if (hq_notify_probe(error))
			return -EOPNOTSUPP;
		result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, run->notify_sockets)
				 ? -errno
				 : 0;
	}
	if (!result && run->spec->faulted)
		result = hq_hurdles_prepare(&run->hurdles, run->spec->plan, run->spec->folder,
					    error);
	if (!result)
		result = spawn_target(run, error);
	if (!result)
		result = start_supervisor(run, error);
	if (!result)
		result = hq_sampler_start(&run->sampler, run->pid,
					  run->spec->plan->sample_period_ns);
	return result;
}

/* Ended or gave up before it was ready: says so, and keeps what it said itself. */
static int not_started(struct hq_run_state *run, const char *why)
{
	struct hq_observations *seen = run->seen;

	if (seen->outcome == HQ_OUTCOME_EXITED)
		seen->outcome = HQ_OUTCOME_NOT_STARTED;
	snprintf(seen->failure, sizeof(seen->failure), "%.250s",
		 run->wire->status.failure[0] ? run->wire->status.failure : why);
	return 1;
}

int hq_run_await_ready(struct hq_run_state *run, struct hq_error *error)
{
	const uint64_t deadline_ns =
		run->spawned_ns + (run->launch.preloads ? READY_DEADLINE_NS : SILENT_START_NS);
	(void)error;
	for (;;) {
		/* Pairs with the target's release: what it wrote before is whole. */
		const uint32_t state = hq_load_acquire(&run->wire->status.state);

		if (hq_case_interrupted()) {
			hq_run_kill(run, HQ_OUTCOME_INTERRUPTED);
			return 1;
		}
		if (hq_run_reap(run)) {
			/* A static program may simply be done; it has no way to tell that it was
			 * ready. */
			return run->launch.preloads
				       ? not_started(run, "it ended before it was ready")
				       : 1;
		}
		if (state == HQ_TARGET_FAILED) {
			hq_run_kill(run, HQ_OUTCOME_NOT_STARTED);
			return not_started(run, "it gave no reason");
		}
		if (state >= HQ_TARGET_READY)
			return 0;
		if (hq_now_ns() > deadline_ns && !run->launch.preloads)
			return 0;
		if (hq_now_ns() > deadline_ns) {
			hq_run_kill(run, HQ_OUTCOME_NOT_STARTED);
			return not_started(run, "it was not ready within 15 s");
		}
		usleep(500);
	}
}

/* An injector, and a filter that answers by itself, are at work from the beginning to the end. */
static uint64_t faulted_from_start(const struct hq_run_state *run)
{
	const bool always = run->spec->plan->injection_count > 0 ||
			    run->wire->config.mechanism == HQ_MECHANISM_STATIC;

	return run->spec->faulted && always ? HQ_WAKE_ALWAYS : 0;
}

int hq_run_open(struct hq_run_state *run, struct hq_error *error)
{
	struct hq_plane *plane = &run->wire->plane;

	hq_usage_start(run->pid, run->seen);
	if (run->spec->faulted) {
		const int result = hq_hurdles_start(&run->hurdles, run->pid, error);

		if (result)
			return result;
	}
	if (run->trace)
		hq_call_trace_start(run->trace);
	run->go_ns = run->progress_ns = hq_now_ns();
	hq_store_relaxed(&plane->gate_open_ns, run->go_ns);
	hq_store_relaxed(&plane->faulted_until, faulted_from_start(run));
	/* Pairs with the decider's acquire: whoever sees the gate open sees since when. */
	hq_store_release(&plane->gate, run->spec->faulted ? 1 : 0);
	/* Pairs with the host's acquire: the gate stands before the work begins. */
	hq_store_release(&run->wire->go, 1);
	return 0;
}

void hq_run_close_gate(struct hq_run_state *run)
{
	if (run->wire)
		hq_store_release(&run->wire->plane.gate, 0);
	hq_hurdles_stop(&run->hurdles);
}
