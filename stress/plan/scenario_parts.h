/* SPDX-License-Identifier: MIT */
/*
 * What the files that read the sections of a scenario share. Each section reader complains and goes
 * on; the scenario counts as read when nobody complained.
 */
#ifndef HQ_STRESS_PLAN_SCENARIO_PARTS_H
#define HQ_STRESS_PLAN_SCENARIO_PARTS_H

#include <stdbool.h>

#include "stress/plan/scenario.h"

struct hq_reading {
	struct hq_scenario *scenario;
	struct hq_complaints *complaints;
};

/* One key of a map: how its value is read. */
struct hq_section {
	const char *name; /* NULL ends a table */
	void (*read)(struct hq_reading *reading, const struct hq_yaml *value);
};

/*
 * Reads the keys that `sections` names, in the order of that table; complains about all others.
 * `where` completes "unknown key 'x' in ...".
 */
void hq_read_sections(struct hq_reading *reading, const struct hq_yaml *map, const char *where,
		      const struct hq_section *sections);

/* The text of a single value, or NULL after a complaint that calls it `what`. */
const char *hq_read_text(struct hq_reading *reading, const struct hq_yaml *value, const char *what);
/* The same, for text that must fit; false after a complaint. */
bool hq_read_text_into(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		       char *text, size_t size);
bool hq_read_map(struct hq_reading *reading, const struct hq_yaml *value, const char *what);
bool hq_read_bool(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		  bool *result);

/* One value, or a list of values joined with commas: `call: [mmap, brk]`. */
bool hq_read_joined(struct hq_reading *reading, const struct hq_yaml *value, const char *what,
		    char *text, size_t size);

/* A list of values, or one of them. NULL after a complaint. */
char **hq_read_words(struct hq_reading *reading, const struct hq_yaml *value, const char *what);

/*
 * Sets options from a map (an empty value: none) and complains about unknown keys and bad values;
 * keys in `others` (NULL-terminated, may be NULL) are left to the caller.
 */
void hq_read_options(struct hq_reading *reading, const struct hq_yaml *map, const char *where,
		     const struct hq_option *table, void *values, const char *const *others);

/* "; did you mean 'x'?" or "", in `text`. */
const char *hq_did_you_mean(const char *word, const char *const *list, char *text, size_t size);

/* An expectation names only rules and injectors that exist. 0 or -EINVAL with a sentence. */
int hq_check_expectation_names(const struct hq_plan *plan, const struct hq_expectation *expectation,
			       struct hq_error *error);

/* ---- the sections ---- */

void hq_read_target(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_workload(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_inject(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_contracts(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_known(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_compare(struct hq_reading *reading, const struct hq_yaml *value);
void hq_read_run(struct hq_reading *reading, const struct hq_yaml *value);

#endif
