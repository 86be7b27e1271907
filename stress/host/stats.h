/* SPDX-License-Identifier: MIT */
/*
 * The allocator's own statistics, and its call for giving memory back. Which allocators are known
 * is one table (stats_family.c); a new one is a row there.
 */
#ifndef HQ_STRESS_HOST_STATS_H
#define HQ_STRESS_HOST_STATS_H

#include <stdint.h>

#include "stress/wire/wire.h"

#define HQ_STATS_FUNCTIONS 4

struct hq_stats_family;

/* The functions that were found, in the order in which their family names them. */
struct hq_stats_source {
	const struct hq_stats_family *family; /* NULL: this allocator offers nothing */
	void *functions[HQ_STATS_FUNCTIONS];
};

struct hq_stats_family {
	const char *name;
	const char *const *symbols; /* NULL-terminated; each must be there */
	uint32_t promises;          /* enum hq_stats_promise */
	/* Both are called between calls of the allocator under test and must not allocate. */
	void (*read)(const struct hq_stats_source *source, struct hq_stats_record *record);
	void (*release)(const struct hq_stats_source *source, struct hq_stats_record *record);
};

/* NULL-terminated. */
extern const struct hq_stats_family *const hq_stats_families[];

/* Before the host is ready: looking for symbols may allocate. */
void hq_stats_find(struct hq_stats_source *source, struct hq_wire *wire);

/*
 * Writes one record for the point that was reached; for RELEASED the allocator is first asked to
 * give everything back. `workers` are the host's threads that exist besides the calling one.
 */
void hq_stats_take(const struct hq_stats_source *source, struct hq_wire *wire,
		   enum hq_stats_point point, uint32_t workers);

#endif
