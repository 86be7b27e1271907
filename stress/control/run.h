/* SPDX-License-Identifier: MIT */
/*
 * One run: probe -> prepare -> spawn -> ready -> open gate -> phases -> close gate -> settle ->
 * reap -> restore. Every wait has a deadline. Gives observations and judges nothing.
 */
#ifndef HQ_STRESS_CONTROL_RUN_H
#define HQ_STRESS_CONTROL_RUN_H

#include "stress/control/case.h"
#include "stress/control/target.h"
#include "stress/observe/observation.h"

struct hq_run_spec {
	const struct hq_plan *plan;
	const struct hq_case_context *context;
	const struct hq_programs *programs;
	enum hq_mechanism mechanism; /* resolved */
	const char *folder;          /* exists; stdout, stderr and logs of helpers go there */
	bool faulted;                /* false: the clean run of a pair, no fault and no injector */
};

/* What the target said of itself. */
struct hq_run_facts {
	char provider[256]; /* object that provides malloc */
	char version[64];
};

/*
 * Runs it. 0: *seen is filled in (free with hq_observations_clear). -EOPNOTSUPP: an injector or the
 * mechanism cannot work here, the reason in *error. Any other -errno: our own fault.
 */
int hq_run(const struct hq_run_spec *spec, struct hq_run_facts *facts, struct hq_observations *seen,
	   struct hq_error *error);

#endif
