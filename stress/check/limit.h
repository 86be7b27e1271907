/* SPDX-License-Identifier: MIT */
/*
 * A limit that a program keeps by a tracker of its own: what the checkers of it have in common.
 * Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_LIMIT_H
#define HQ_STRESS_CHECK_LIMIT_H

#include "stress/check/evidence.h"

/* False, with a gap: there was no such limit, or nothing was refused for it. */
bool hq_limit_was_kept(const struct hq_observations *observations, const char *checker,
		       struct hq_findings *findings);

/*
 * By how much what is held may have changed since the figure was taken that is gone by now, at
 * `window_bytes` a window: for as long as a figure is gone by, and while whoever takes it and
 * whoever goes by it is off its CPU.
 */
uint64_t hq_limit_drift_bytes(const struct hq_limit_seen *limit, uint64_t window_bytes);

/* A line of evidence: the limits, what was admitted and refused, the most that was held. */
void hq_limit_show(const struct hq_limit_seen *limit, struct hq_finding *finding);

#endif
