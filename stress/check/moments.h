/* SPDX-License-Identifier: MIT */
/*
 * What checkers of an allocator's statistics share: looking at records, and saying which moment and
 * which number is meant. Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_MOMENTS_H
#define HQ_STRESS_CHECK_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stress/check/evidence.h"

/* True where the allocator said this number. */
bool hq_moment_knows(const struct hq_stats_record *record, enum hq_stat stat);

/* Nobody calls the allocator but the host's first thread. */
bool hq_moment_is_quiet(const struct hq_stats_record *record);

/* The first record of that point, or NULL. */
const struct hq_stats_record *hq_moment_at(const struct hq_observations *observations,
					   enum hq_stats_point point);

/*
 * What the kernel shows of the allocator at that moment: anonymous resident memory, without what it
 * may take back (where that is known), and without what the process had besides the allocator
 * before the work.
 */
uint64_t hq_moment_rss_bytes(const struct hq_observations *observations,
			     const struct hq_stats_record *record);

/* "allocated", "resident". */
const char *hq_moment_stat_name(enum hq_stat stat);

/* One line of evidence: the time, the point, and whatever is known. */
void hq_moment_show(const struct hq_stats_record *record, struct hq_finding *finding);

/* A gap and false if there are no records, or some were lost. */
bool hq_moments_are_there(const struct hq_observations *observations, const char *checker,
			  struct hq_findings *findings);

#endif
