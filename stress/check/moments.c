/* SPDX-License-Identifier: MIT */
/*
 * Records of statistics, as checkers look at them.
 */
#include "stress/check/moments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/metric.h"
#include "stress/check/value.h"

static const struct {
	const char *name;
	bool is_bytes;
} stats[] = {
	[HQ_STAT_ALLOCATED] = { "allocated", true },
	[HQ_STAT_ACTIVE] = { "active", true },
	[HQ_STAT_RESIDENT] = { "resident", true },
	[HQ_STAT_MAPPED] = { "mapped", true },
	[HQ_STAT_DIRTY] = { "dirty", true },
	[HQ_STAT_MUZZY] = { "muzzy", true },
	[HQ_STAT_CACHED] = { "cached", true },
	[HQ_STAT_ARENAS] = { "arenas", false },
	[HQ_STAT_BACKGROUND] = { "background threads", false },
	[HQ_STAT_CACHES] = { "thread caches", false },
	[HQ_STAT_LAZY_PURGES] = { "lazy purges", false },
	[HQ_STAT_METADATA] = { "metadata", true },
	[HQ_STAT_RETAINED] = { "retained", true },
	[HQ_STAT_PURGES] = { "purges", false },
	[HQ_STAT_PURGED] = { "purged", true },
	[HQ_STAT_LOCK_WAITS] = { "lock_waits", false },
	[HQ_STAT_LOCK_WAIT_NS] = { "lock_wait_time", false },
};

static const char *const points[] = {
	[HQ_STATS_START] = "before the work",
	[HQ_STATS_WORKING] = "at work",
	[HQ_STATS_WORKED] = "when the work was done",
	[HQ_STATS_FREED] = "when everything was freed",
	[HQ_STATS_RELEASED] = "after it was asked to give memory back",
	[HQ_STATS_IDLE] = "idle",
};

bool hq_moment_knows(const struct hq_stats_record *record, enum hq_stat stat)
{
	return (record->known & 1u << stat) != 0;
}

bool hq_moment_is_quiet(const struct hq_stats_record *record)
{
	return record->point != HQ_STATS_WORKING;
}

const struct hq_stats_record *hq_moment_at(const struct hq_observations *observations,
					   enum hq_stats_point point)
{
	for (size_t i = 0; i < observations->stats_count; i++) {
		if (observations->stats[i].point == (uint32_t)point)
			return &observations->stats[i];
	}
	return NULL;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

uint64_t hq_moment_rss_bytes(const struct hq_observations *observations,
			     const struct hq_stats_record *record)
{
	const struct hq_stats_record *start = hq_moment_at(observations, HQ_STATS_START);
	uint64_t others_bytes = 0;

	if (start)
		others_bytes = less(start->rss_bytes, hq_moment_knows(start, HQ_STAT_RESIDENT)
							      ? start->values[HQ_STAT_RESIDENT]
							      : 0);
	return less(less(record->rss_bytes, record->lazyfree_bytes), others_bytes);
}

const char *hq_moment_stat_name(enum hq_stat stat)
{
	return stats[stat].name;
}

/* A number that went below zero is shown so, and not as what it wrapped to. */
static size_t add_number(char *line, size_t room, const char *name, bool is_bytes, uint64_t value)
{
	const bool below = (int64_t)value < 0;
	char text[HQ_UNITS_TEXT];

	hq_value_print(text, sizeof(text), is_bytes ? HQ_UNIT_BYTES : HQ_UNIT_COUNT,
		       (double)(below ? -value : value));
	const int length = snprintf(line, room, ", %s %s%s", name, below ? "-" : "", text);

	return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

void hq_moment_show(const struct hq_stats_record *record, struct hq_finding *finding)
{
	char line[520] = "", when[HQ_UNITS_TEXT];
	size_t used = 0;

	for (int i = 0; i < HQ_STAT_COUNT; i++) {
		if (hq_moment_knows(record, (enum hq_stat)i))
			used += add_number(line + used, sizeof(line) - used, stats[i].name,
					   stats[i].is_bytes, record->values[i]);
	}
	used += add_number(line + used, sizeof(line) - used, "by the kernel", true,
			   record->rss_bytes);
	if (record->lazyfree_bytes != 0)
		used += add_number(line + used, sizeof(line) - used, "LazyFree", true,
				   record->lazyfree_bytes);
	add_number(line + used, sizeof(line) - used, "requested", true, record->live_bytes);
	hq_value_print(when, sizeof(when), HQ_UNIT_NS, (double)record->time_ns);
	hq_evidence_line(finding, "+%s, %s%s", when, points[record->point], line);
}

bool hq_moments_are_there(const struct hq_observations *observations, const char *checker,
			  struct hq_findings *findings)
{
	if (observations->stats_count == 0) {
		hq_gap_add(findings, checker, "no statistics were recorded");
		return false;
	}
	if (observations->stats_dropped == 0)
		return true;
	hq_gap_add(findings, checker, "%" PRIu64 " records of statistics were lost",
		   observations->stats_dropped);
	return false;
}

int hq_metric_get_stat(const struct hq_observations *observations,
		       const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const char *const word = hq_metrics[name->row].pattern + strlen("stats.");
	const struct hq_stats_record *const record = hq_moment_at(observations, HQ_STATS_WORKED);

	if (!record)
		return hq_metric_no_data(error, "there is no record of the moment at which the "
						"data are held");
	for (int i = 0; i < HQ_STAT_COUNT; i++) {
		if (strcmp(stats[i].name, word) != 0 || !hq_moment_knows(record, (enum hq_stat)i))
			continue;
		*value = (double)record->values[i];
		return 0;
	}
	return hq_metric_no_data(error, "this allocator does not say it");
}
