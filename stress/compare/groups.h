/* SPDX-License-Identifier: MIT */
/*
 * Work that has parts (queries) in numbers: of each metric, how many parts changed, by how much,
 * and in which groups most; how the changes are distributed, and how steady each part is by itself.
 */
#ifndef HQ_STRESS_COMPARE_GROUPS_H
#define HQ_STRESS_COMPARE_GROUPS_H

#include "stress/compare/comparison.h"

#define HQ_GROUPS_MOST 3
#define HQ_GROUPS_MAX  64

struct hq_group {
	char name[32];
	size_t parts;
	double change; /* mean of the relative changes of its parts */
};

/* One metric over all parts. */
struct hq_part_summary {
	char metric[72];
	size_t parts;
	size_t changed, unstable;
	double min, median, max, average; /* of the relative changes */
	struct hq_group
		most[HQ_GROUPS_MOST]; /* the groups with the largest changes, largest first */
	size_t most_count;
};

/* False when the comparison has no part with that metric. */
bool hq_groups_sum(const struct hq_comparison *comparison, const char *metric,
		   struct hq_part_summary *summary);

/*
 * The relative changes of all parts in that metric, rising: the cumulative curve. Their number;
 * `changes` needs room for comparison->count.
 */
size_t hq_groups_changes(const struct hq_comparison *comparison, const char *metric,
			 double *changes);

/*
 * Of each part the relative spread of one side, (largest - smallest) / median over its runs,
 * rising.
 */
size_t hq_groups_spreads(const struct hq_comparison *comparison, const char *metric,
			 enum hq_side side, double *spreads);

#endif
