/* SPDX-License-Identifier: MIT */
/* What the parts of one run (run.c, run_start.c, run_watch.c) share. */
#ifndef HQ_STRESS_CONTROL_RUN_STATE_H
#define HQ_STRESS_CONTROL_RUN_STATE_H

#include "injectors/syscall/notify.h"
#include "stress/control/capture.h"
#include "stress/control/hurdles.h"
#include "stress/control/run.h"
#include "stress/observe/call_trace.h"
#include "stress/observe/counters.h"
#include "stress/observe/sampler.h"

struct hq_run_state {
	const struct hq_run_spec *spec;
	struct hq_observations *seen;
	struct hq_wire *wire;
	int wire_fd;
	struct hq_launch launch;
	struct hq_hurdles hurdles;
	struct hq_notify *notify;
	int notify_sockets[2]; /* [0] ours, [1] the child's; -1 when closed */
	struct hq_sampler *sampler;
	struct hq_counters counters;
	struct hq_call_trace *trace; /* NULL: system calls are not traced */
	struct hq_capture *capture;
	struct hq_capture *driver_capture;
	pid_t pid;     /* 0: none, or reaped */
	pid_t group;   /* of the target, kept after it was reaped */
	pid_t driver;  /* 0: none, or reaped */
	bool stopping; /* we sent the stop signal */
	bool killed;   /* we killed it */
	uint64_t spawned_ns, go_ns;
	uint64_t progress_ns, progress_ops; /* when operations last advanced */
};

/* run_start.c: wire, injectors, process, supervisor, sampler. 0 or -errno with a sentence. */
int hq_run_start(struct hq_run_state *run, struct hq_error *error);
/* Waits until the target is ready. 0; 1: it ended before (outcome is set); -errno. */
int hq_run_await_ready(struct hq_run_state *run, struct hq_error *error);
/* Opens the gate: from here on the run's clock runs. 0 or -errno with a sentence. */
int hq_run_open(struct hq_run_state *run, struct hq_error *error);
void hq_run_close_gate(struct hq_run_state *run);

/* run_watch.c: until the target has ended, whatever it does. */
void hq_run_watch(struct hq_run_state *run);
/* Takes the target's exit into the observations; true once it has ended. */
bool hq_run_reap(struct hq_run_state *run);
/* Kills the target, reaps it, and gives the run that outcome. */
void hq_run_kill(struct hq_run_state *run, enum hq_outcome outcome);

#endif
