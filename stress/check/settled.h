/* SPDX-License-Identifier: MIT */
/*
 * What is left when everything was freed and a while has passed: the reading that shows it, and the
 * words about it. For the contracts that judge what an idle process keeps.
 */
#ifndef HQ_STRESS_CHECK_SETTLED_H
#define HQ_STRESS_CHECK_SETTLED_H

#include "stress/check/check.h"

/*
 * The first reading at least `within_ns` after everything was freed. NULL after a gap that says why
 * there is none; NULL without one where the run did not end by itself, which others report.
 */
const struct hq_quiet *hq_settled_reading(const struct hq_observations *observations,
					  const char *checker, uint64_t within_ns,
					  struct hq_findings *findings);

/*
 * A reading that comes much later than it was due can accuse, but not acquit: adds a gap then. To
 * be called when nothing was found.
 */
void hq_settled_check_late(const struct hq_observations *observations, const char *checker,
			   uint64_t within_ns, struct hq_findings *findings);

/* Resident memory that the kernel may not take back as it likes. */
uint64_t hq_settled_kept_bytes(const struct hq_quiet *quiet);

/* "3.1 s": how long after the last free the reading was taken; returns `text`. */
const char *hq_settled_after(const struct hq_observations *observations,
			     const struct hq_quiet *quiet, char text[32]);

/* Resident memory before the work, at its peak, and in the readings since everything was freed. */
void hq_settled_evidence(const struct hq_observations *observations, struct hq_finding *finding);

#endif
