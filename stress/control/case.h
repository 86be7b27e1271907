/* SPDX-License-Identifier: MIT */
/*
 * One case from plan to result: its runs (clean and faulted, alternating), judged and written down.
 */
#ifndef HQ_STRESS_CONTROL_CASE_H
#define HQ_STRESS_CONTROL_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "stress/plan/plan.h"
#include "stress/control/suite.h"
#include "stress/report/report.h"

/* What the case shows while it runs; one writer, the case's process. Lives in shared memory. */
struct hq_case_progress {
	_Atomic uint64_t started_ns; /* CLOCK_MONOTONIC; 0: not yet */
	_Atomic uint64_t rss_bytes;
	_Atomic uint64_t fired;
	_Atomic uint32_t run; /* of how many; from 1 */
	_Atomic uint32_t runs;
	_Atomic uint32_t state; /* enum hq_target_state of the target */
	_Atomic int32_t program_status;
};

struct hq_case_context {
	const struct hq_suite_settings *settings;
	struct hq_case_progress *progress;
	const char *suite_folder; /* NULL: keep nothing */
	uint64_t ns_per_tick;     /* see hq_wire_config */
};

/* Runs the case in this process and fills in *result, whatever happens. */
void hq_case_run(const struct hq_plan *plan, struct hq_case_context *context,
		 struct hq_result *result);

/* Set by a signal handler of the case's process: wind up and report what there is. */
bool hq_case_interrupted(void);
void hq_case_handle_signals(void);

#endif
