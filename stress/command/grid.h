/* SPDX-License-Identifier: MIT */
/*
 * Grids of settings: every combination of the values of some keys. "-L rows=1k,2k" has two values;
 * where a setting says {rows} it is put there, else `rows` is a key of its own.
 */
#ifndef HQ_STRESS_COMMAND_GRID_H
#define HQ_STRESS_COMMAND_GRID_H

#include <stddef.h>

#include "injectors/error.h"

#define HQ_GRID_AXES   6
#define HQ_GRID_POINTS 256

struct hq_grid_axis {
	char *name;
	char **values; /* NULL-terminated */
	size_t count;
};

struct hq_grid {
	struct hq_grid_axis axes[HQ_GRID_AXES];
	size_t axis_count;
	size_t points; /* product of the counts */
};

/* From the arguments of -L, NULL-terminated. 0 or -errno with a sentence; clear it in either case.
 */
int hq_grid_parse(char *const *texts, struct hq_grid *grid, struct hq_error *error);

/*
 * The settings of a point, with those of `common` (may be NULL): a list to be freed with
 * hq_words_free, NULL without memory. The last axis counts fastest.
 */
char **hq_grid_settings(const struct hq_grid *grid, size_t point, char *const *common);

/* "rows=1k threads=2"; returns `text`. */
const char *hq_grid_name(const struct hq_grid *grid, size_t point, char *text, size_t size);

void hq_grid_clear(struct hq_grid *grid);

#endif
