/* SPDX-License-Identifier: MIT */
/*
 * Watching a target from the open gate to its end. Each turn takes what it wrote, looks whether it
 * ended, moves on or is stuck, and moves the run to its next phase. There is no wait without a
 * deadline: progress within hang_ns, all of it within timeout_ns.
 */
#include "stress/control/run_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/units.h"
#include "stress/control/folder.h"
#include "stress/control/spawn.h"
#include "stress/observe/drain.h"
#include "stress/observe/refused.h"
#include "stress/observe/space.h"
#include "stress/observe/stuck.h"
#include "stress/observe/tree.h"
#include "stress/observe/usage.h"

#define TURN_US        5000
#define SLOW_TURN_NS   (100ull * HQ_MS) /* injectors' ticks, readings of /proc */
#define QUIET_EVERY_NS (500ull * HQ_MS) /* quiet readings while the target settles */
#define LEAVE_NS       (5ull * HQ_S)    /* how long an interrupted target may take to leave */

struct watch {
	struct hq_run_state *run;
	uint64_t slow_ns;       /* last slow turn */
	uint64_t quiet_ns;      /* last quiet reading, since go */
	uint64_t freed_ns;      /* since go; 0: not yet */
	uint64_t finish_ns;     /* when the target was told to leave; 0: not yet */
	uint64_t ready_file_ns; /* the program's file was seen; 0: not yet */
	struct hq_space_pace space_pace;
	struct hq_tree_pace tree_pace; /* of programs: our host is alone, or forks on purpose */
	bool worked_seen;
	bool over;
};

static void take_status(struct hq_run_state *run, int status)
{
	struct hq_observations *seen = run->seen;

	if (WIFEXITED(status)) {
		seen->outcome = HQ_OUTCOME_EXITED;
		seen->status = WEXITSTATUS(status);
	} else {
		seen->outcome = HQ_OUTCOME_SIGNALED;
		seen->status = WTERMSIG(status);
	}
	/* A program that we asked to end by a signal, and that ended by it, did as it was told. */
	if (run->stopping && seen->outcome == HQ_OUTCOME_SIGNALED &&
	    seen->status == run->spec->plan->stop_signal) {
		seen->outcome = HQ_OUTCOME_EXITED;
		seen->status = 0;
	}
}

bool hq_run_reap(struct hq_run_state *run)
{
	struct rusage rusage;
	int status;

	if (!run->pid)
		return true;
	const pid_t gone = wait4(run->pid, &status, WNOHANG, &rusage);

	if (gone != run->pid)
		return false;
	hq_usage_finish(&rusage, run->seen);
	run->seen->wall_ns = hq_now_ns() - run->spawned_ns;
	run->seen->end_ns = run->go_ns ? hq_now_ns() - run->go_ns : 0;
	take_status(run, status);
	run->pid = 0;
	return true;
}

void hq_run_kill(struct hq_run_state *run, enum hq_outcome outcome)
{
	/* The gate goes first: a supervisor lets every call through while its target dies. */
	hq_run_close_gate(run);
	if (run->pid) {
		run->killed = true;
		kill(-run->group, SIGKILL);
		kill(run->pid, SIGKILL);
		for (int i = 0; i < 2000 && !hq_run_reap(run); i++)
			usleep(TURN_US);
	}
	run->seen->outcome = outcome;
}

static uint64_t since_go_ns(const struct hq_run_state *run)
{
	return hq_now_ns() - run->go_ns;
}

static void show(const struct hq_run_state *run, uint32_t state)
{
	struct hq_case_progress *progress = run->spec->context->progress;

	hq_store_relaxed(&progress->state, state);
	hq_store_relaxed(&progress->rss_bytes, hq_sampler_latest_bytes(run->sampler));
	hq_store_relaxed(&progress->fired, hq_drain_fired(run->wire));
}

static void slow_turn(struct watch *watch)
{
	struct hq_run_state *run = watch->run;
	const uint64_t now_ns = hq_now_ns();

	if (now_ns - watch->slow_ns < SLOW_TURN_NS)
		return;
	watch->slow_ns = now_ns;
	hq_hurdles_tick(&run->hurdles);
	hq_usage_update(run->pid, run->seen);
	hq_space_follow(run->pid, since_go_ns(run), &watch->space_pace, run->seen);
}

/* Operations advance, or the target has nothing to do: neither is a hang. */
static bool makes_progress(struct watch *watch, uint32_t state)
{
	struct hq_run_state *run = watch->run;
	const uint64_t ops = hq_drain_ops(run->wire);

	const bool idle = state == HQ_TARGET_FREED && !watch->finish_ns;

	if (!run->spec->plan->is_host || ops != run->progress_ops || idle) {
		run->progress_ops = ops;
		run->progress_ns = hq_now_ns();
	}
	return hq_now_ns() - run->progress_ns < run->spec->plan->hang_ns;
}

static void end_stuck(struct watch *watch, enum hq_outcome outcome)
{
	hq_stuck_look(watch->run->pid, watch->run->wire, watch->run->seen);
	hq_run_kill(watch->run, outcome);
	watch->over = true;
}

static void take_quiet(struct watch *watch, enum hq_quiet_point point)
{
	watch->quiet_ns = since_go_ns(watch->run);
	hq_usage_quiet(watch->run->pid, point, watch->quiet_ns, watch->run->seen);
}

/* Tells the target that it may leave. */
static void finish(struct watch *watch)
{
	if (watch->finish_ns)
		return;
	/* An injector may take its time to stop; the target's own begins afterwards. */
	hq_run_close_gate(watch->run);
	watch->finish_ns = hq_now_ns();
	watch->run->progress_ns = watch->finish_ns;
	/* Pairs with the host's acquire. */
	hq_store_release(&watch->run->wire->finish, 1);
}

/* The phases of our host. */
static void host_turn(struct watch *watch, uint32_t state)
{
	const uint64_t settle_ns = watch->run->spec->plan->settle_ns;

	if (state >= HQ_TARGET_WORKED && !watch->worked_seen) {
		watch->worked_seen = true;
		take_quiet(watch, HQ_QUIET_WORKED);
	}
	if (state != HQ_TARGET_FREED || watch->finish_ns)
		return;
	if (!watch->freed_ns) {
		watch->freed_ns = since_go_ns(watch->run);
		take_quiet(watch, HQ_QUIET_FREED);
	}
	const uint64_t settled_ns = since_go_ns(watch->run) - watch->freed_ns;

	if (settled_ns >= settle_ns + 2 * TURN_US * 1000ull) {
		take_quiet(watch, HQ_QUIET_IDLE);
		hq_refused_read(watch->run->pid, watch->run->seen);
		finish(watch);
	} else if (since_go_ns(watch->run) - watch->quiet_ns >= QUIET_EVERY_NS) {
		take_quiet(watch, HQ_QUIET_IDLE);
	}
}

static void start_driver(struct watch *watch)
{
	struct hq_run_state *run = watch->run;
	struct hq_spawn spawn = { .file = run->launch.driver[0],
				  .argv = run->launch.driver,
				  .in_fd = -1 };
	struct hq_error error = { "" };
	char **env = hq_spawn_environment(NULL);

	run->seen->driver_used = true;
	run->seen->driver_status = -1;
	spawn.env = env;
	if (!hq_capture_start(&run->driver_capture, run->spec->folder, "driver.stdout",
			      "driver.stderr", &spawn.out_fd, &spawn.err_fd)) {
		if (!env || hq_spawn(&spawn, &run->driver, &error)) {
			run->driver = 0;
			snprintf(run->seen->failure, sizeof(run->seen->failure), "%.250s",
				 error.text);
		}
		close(spawn.out_fd);
		close(spawn.err_fd);
	}
	free(env);
	if (!run->driver)
		end_stuck(watch, HQ_OUTCOME_NOT_STARTED);
}

static void end_driver(struct watch *watch, int status)
{
	struct hq_run_state *run = watch->run;

	run->driver = 0;
	run->seen->driver_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	run->seen->worked_ns = since_go_ns(run);
	take_quiet(watch, HQ_QUIET_WORKED);
	hq_run_close_gate(run);
	run->stopping = true;
	watch->finish_ns = hq_now_ns();
	kill(run->pid, run->spec->plan->stop_signal);
}

/* A program with a driver: wait for its file, drive it, stop it. */
static void driver_turn(struct watch *watch)
{
	struct hq_run_state *run = watch->run;
	const char *file = run->spec->plan->ready_file;
	char path[HQ_FOLDER_SIZE + sizeof(run->spec->plan->ready_file)];
	int status;

	if (!run->launch.driver || watch->finish_ns)
		return;
	if (run->driver) {
		if (waitpid(run->driver, &status, WNOHANG) == run->driver)
			end_driver(watch, status);
		return;
	}
	if (file[0] && !strncmp(file, "{run}", 5))
		snprintf(path, sizeof(path), "%s%s", run->spec->folder, file + 5);
	else
		snprintf(path, sizeof(path), "%s", file);
	if (!file[0] || !access(path, F_OK))
		start_driver(watch);
}

static void program_turn(struct watch *watch)
{
	struct hq_run_state *run = watch->run;

	hq_tree_follow(run->pid, since_go_ns(run), &watch->tree_pace, run->seen);
	driver_turn(watch);
}

static void interrupt_turn(struct watch *watch)
{
	if (!hq_case_interrupted())
		return;
	finish(watch);
	if (!watch->run->spec->plan->is_host && !watch->run->stopping) {
		watch->run->stopping = true;
		kill(-watch->run->group, SIGTERM);
	}
	if (hq_now_ns() - watch->finish_ns > LEAVE_NS)
		end_stuck(watch, HQ_OUTCOME_INTERRUPTED);
}

static void end_late(struct watch *watch)
{
	struct hq_run_state *run = watch->run;

	if (run->launch.driver && !run->seen->driver_used)
		snprintf(run->seen->failure, sizeof(run->seen->failure),
			 "the driver was not started: '%.200s' never appeared",
			 run->spec->plan->ready_file);
	end_stuck(watch, HQ_OUTCOME_TIMEOUT);
}

static void deadline_turn(struct watch *watch, uint32_t state)
{
	const struct hq_run_state *run = watch->run;
	const struct hq_plan *plan = run->spec->plan;

	if (watch->over)
		return;
	if (!makes_progress(watch, state))
		end_stuck(watch, HQ_OUTCOME_HUNG);
	else if (plan->memory_cap_bytes &&
		 hq_sampler_latest_bytes(run->sampler) > plan->memory_cap_bytes)
		end_stuck(watch, HQ_OUTCOME_OVER_CAP);
	else if (since_go_ns(run) > plan->timeout_ns)
		end_late(watch);
	else if (run->stopping && hq_now_ns() - watch->finish_ns > plan->hang_ns)
		end_stuck(watch, HQ_OUTCOME_HUNG);
}

void hq_run_watch(struct hq_run_state *run)
{
	struct watch watch = { .run = run };

	while (!watch.over) {
		/* Pairs with the target's release: what it wrote before is whole. */
		const uint32_t state = hq_load_acquire(&run->wire->status.state);

		hq_drain(run->wire, run->seen);
		if (run->trace)
			hq_call_trace_drain(run->trace, &run->seen->calls);
		show(run, state);
		if (hq_run_reap(run))
			break;
		slow_turn(&watch);
		if (run->spec->plan->is_host)
			host_turn(&watch, state);
		else
			program_turn(&watch);
		interrupt_turn(&watch);
		deadline_turn(&watch, state);
		usleep(TURN_US);
	}
	if (hq_case_interrupted())
		run->seen->outcome = HQ_OUTCOME_INTERRUPTED;
}
