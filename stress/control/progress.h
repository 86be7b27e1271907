/* SPDX-License-Identifier: MIT */
/*
 * What a person sees while a suite runs, on stderr: a live line on a terminal, one plain line a
 * finished case otherwise.
 */
#ifndef HQ_STRESS_CONTROL_PROGRESS_H
#define HQ_STRESS_CONTROL_PROGRESS_H

#include "stress/control/case.h"

struct hq_progress {
	bool live; /* stderr is a terminal */
	bool color;
	bool quiet;
	size_t total;
	size_t done;
	size_t shown_lines; /* of the live table */
};

void hq_progress_start(struct hq_progress *progress, size_t total, bool quiet, bool colorless);

/* Redraws the live table: one line for each running case. */
void hq_progress_draw(struct hq_progress *progress, const struct hq_plan *const *plans,
		      const struct hq_case_progress *const *cases, size_t count);

/* One case has ended. */
void hq_progress_done(struct hq_progress *progress, const struct hq_result *result);

/* Takes the live table away. */
void hq_progress_end(struct hq_progress *progress);

/* Seconds that a case is expected to take, from its plan; an estimate for the display alone. */
double hq_progress_expected_s(const struct hq_plan *plan);

#endif
