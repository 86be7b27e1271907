/* SPDX-License-Identifier: MIT */
/*
 * What `heapquake explain` can tell. Parts are looked up in their tables (explain_part.c);
 * everything else is a topic (explain_topic.c).
 */
#ifndef HQ_STRESS_COMMAND_EXPLAIN_H
#define HQ_STRESS_COMMAND_EXPLAIN_H

#include <stdbool.h>

#include "injectors/contract.h"
#include "injectors/option.h"

struct hq_explain_topic {
	const char *name;
	const char *help; /* one line */
	void (*print)(void);
};

/* Sorted by name, name NULL ends it. */
extern const struct hq_explain_topic hq_explain_topics[];

/* Prints what a verdict means, "PASS" or "pass"; false: there is none of that name. */
bool hq_explain_verdict(const char *name);

/* Prints what is known of a workload, injector, checker, metric, call, allocator or key; false:
 * nothing.
 */
bool hq_explain_part(const char *name);

/* Appends every name that hq_explain_part knows, up to `room` in all; returns the new count. */
size_t hq_explain_part_names(const char **names, size_t count, size_t room);

/* One line an option. `missing` is what stands for a default where the table has none. */
void hq_explain_options(const struct hq_option *table, const char *missing);
void hq_explain_contract_row(const struct hq_contract_row *row);
void hq_explain_metrics(void);
/* The keys of `run`, or one of them; false if there is none of that name. */
bool hq_explain_run_options(const char *only);

#endif
