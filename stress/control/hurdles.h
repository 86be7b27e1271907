/* SPDX-License-Identifier: MIT */
/*
 * A run's injections as one: every hook of every injector of the plan, in order on the way in and
 * in reverse on the way out, with whatever was prepared put back on every path.
 */
#ifndef HQ_STRESS_CONTROL_HURDLES_H
#define HQ_STRESS_CONTROL_HURDLES_H

#include <sys/types.h>

#include "stress/plan/plan.h"
#include "stress/observe/observation.h"

struct hq_hurdles {
	const struct hq_plan *plan;
	struct hq_injector_run runs[HQ_PLAN_INJECTIONS];
	size_t prepared; /* the first so many are to be restored */
	size_t started;  /* the first so many are to be stopped */
};

/* 0, or -errno with which injector cannot work here and why. */
int hq_hurdles_probe(const struct hq_plan *plan, struct hq_error *reason);

/* 0 or -errno with a sentence; hq_hurdles_restore is safe after either. */
int hq_hurdles_prepare(struct hq_hurdles *hurdles, const struct hq_plan *plan, const char *folder,
		       struct hq_error *error);
/* In the child, before exec; async-signal-safe. */
int hq_hurdles_enter(struct hq_hurdles *hurdles);
int hq_hurdles_start(struct hq_hurdles *hurdles, pid_t target, struct hq_error *error);
void hq_hurdles_tick(struct hq_hurdles *hurdles);
/* Stops what was started; may be called twice. */
void hq_hurdles_stop(struct hq_hurdles *hurdles);
/* What each achieved, into the observations. */
void hq_hurdles_measure(struct hq_hurdles *hurdles, struct hq_observations *seen);
void hq_hurdles_restore(struct hq_hurdles *hurdles);

#endif
