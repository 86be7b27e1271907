/* SPDX-License-Identifier: MIT */
/*
 * Statistics by hand, for tests of the checkers that read them: a run of a good allocator that held
 * 64 MiB, of which each test spoils a record.
 */
#ifndef HQ_STRESS_TESTS_RECORDED_MOMENTS_H
#define HQ_STRESS_TESTS_RECORDED_MOMENTS_H

#include <criterion/criterion.h>

#include "stress/tests/observed.h"

enum { AT_START, AT_WORK, AT_WORKED, AT_FREED, AT_RELEASED, AT_IDLE, AT_IDLE_LATE, MOMENTS };

struct recorded {
	struct hq_stats_record moments[MOMENTS];
	struct hq_observations seen;
};

static inline struct hq_stats_record recorded_moment(uint64_t time_ns, enum hq_stats_point point,
						     uint64_t workers, uint64_t live_mib,
						     uint64_t rss_mib)
{
	struct hq_stats_record record = {
		.time_ns = time_ns,
		.point = (uint32_t)point,
		.workers = workers,
		.threads = 2 + workers,
		.live_bytes = live_mib * HQ_MIB,
		.rss_bytes = (rss_mib + 1) * HQ_MIB,
		.has_lazyfree = point != HQ_STATS_WORKING,
	};

	hq_stats_set(&record, HQ_STAT_ALLOCATED, live_mib * HQ_MIB);
	hq_stats_set(&record, HQ_STAT_ACTIVE, live_mib * HQ_MIB);
	hq_stats_set(&record, HQ_STAT_RESIDENT, rss_mib * HQ_MIB);
	hq_stats_set(&record, HQ_STAT_MAPPED, 128 * HQ_MIB);
	hq_stats_set(&record, HQ_STAT_DIRTY, (rss_mib - live_mib) * HQ_MIB);
	hq_stats_set(&record, HQ_STAT_MUZZY, 0);
	hq_stats_set(&record, HQ_STAT_BACKGROUND, 1);
	hq_stats_set(&record, HQ_STAT_CACHES, 1 + workers);
	hq_stats_set(&record, HQ_STAT_LAZY_PURGES, 0);
	return record;
}

static inline void recorded_good(struct recorded *recorded)
{
	recorded->seen = observed_good();
	recorded->moments[AT_START] = recorded_moment(0, HQ_STATS_START, 2, 0, 2);
	recorded->moments[AT_WORK] = recorded_moment(500 * HQ_MS, HQ_STATS_WORKING, 2, 32, 40);
	recorded->moments[AT_WORKED] = recorded_moment(HQ_S, HQ_STATS_WORKED, 2, 64, 72);
	recorded->moments[AT_FREED] = recorded_moment(1500 * HQ_MS, HQ_STATS_FREED, 0, 0, 60);
	recorded->moments[AT_RELEASED] = recorded_moment(1510 * HQ_MS, HQ_STATS_RELEASED, 0, 0, 3);
	recorded->moments[AT_RELEASED].release = HQ_RELEASE_BYTES;
	recorded->moments[AT_RELEASED].released_bytes = 57 * HQ_MIB;
	recorded->moments[AT_IDLE] = recorded_moment(2 * HQ_S, HQ_STATS_IDLE, 0, 0, 3);
	recorded->moments[AT_IDLE_LATE] = recorded_moment(3900 * HQ_MS, HQ_STATS_IDLE, 0, 0, 3);
	recorded->seen.stats = recorded->moments;
	recorded->seen.stats_count = MOMENTS;
	recorded->seen.stats_promises = HQ_STATS_IS_ONE_MOMENT | HQ_STATS_IS_TOUCHED;
	recorded->seen.page_bytes = 4096;
}

/* Takes a number away from every record. */
static inline void recorded_forget(struct recorded *recorded, enum hq_stat stat)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded->moments[i].known &= ~(1u << stat);
}

#define ASSERT_NOTHING(contract, recorded)                                                         \
	do {                                                                                       \
		const struct hq_findings none = observed_check(contract, &(recorded)->seen);       \
		cr_assert_eq(none.count, 0, "%s", none.list[0].text);                              \
	} while (0)

#define ASSERT_SAYS(contract, recorded, is_gap, part)                                              \
	do {                                                                                       \
		const struct hq_findings some = observed_check(contract, &(recorded)->seen);       \
		cr_assert_eq(some.count, 1, "%zu: %s", some.count, some.list[0].text);             \
		cr_assert_eq(some.list[0].gap, is_gap);                                            \
		cr_assert(strstr(some.list[0].text, part), "%s", some.list[0].text);               \
	} while (0)

#endif
