/* SPDX-License-Identifier: MIT */
/*
 * The two axes of a table of results: scenarios and allocators, each once, in the order in which
 * they came. Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_AXES_H
#define HQ_STRESS_REPORT_AXES_H

#include "stress/report/report.h"

struct hq_axes {
	const char **scenarios; /* names in the results, not copies */
	const char **allocators;
	size_t scenario_count, allocator_count;
};

/* 0 or -ENOMEM; clear it in either case. */
int hq_axes_make(struct hq_axes *axes, const struct hq_suite *suite);
void hq_axes_clear(struct hq_axes *axes);

/* How wide a column of these names is, `least` at least. */
int hq_axes_width(const char *const *names, size_t count, int least);

/* Several seeds share a cell: the verdict that wins when they are joined. False: no such case. */
bool hq_axes_verdict(const struct hq_suite *suite, const char *scenario, const char *allocator,
		     enum hq_verdict *verdict);

#endif
