/* SPDX-License-Identifier: MIT */
/*
 * Names in the order of their first result, and the verdict of a cell.
 */
#include "stress/report/axes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stress/report/clean.h"

static size_t add_once(const char **list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(list[i], name))
			return count;
	}
	list[count] = name;
	return count + 1;
}

int hq_axes_make(struct hq_axes *axes, const struct hq_suite *suite)
{
	const size_t room = suite->count ? suite->count : 1;

	*axes = (struct hq_axes){ .scenarios = calloc(room, sizeof(*axes->scenarios)),
				  .allocators = calloc(room, sizeof(*axes->allocators)) };
	if (!axes->scenarios || !axes->allocators)
		return -ENOMEM;
	for (size_t i = 0; i < suite->count; i++) {
		const struct hq_result *result = &suite->results[i];

		axes->scenario_count =
			add_once(axes->scenarios, axes->scenario_count, result->scenario);
		axes->allocator_count =
			add_once(axes->allocators, axes->allocator_count, result->allocator);
	}
	return 0;
}

void hq_axes_clear(struct hq_axes *axes)
{
	free(axes->scenarios);
	free(axes->allocators);
	*axes = (struct hq_axes){ NULL };
}

int hq_axes_width(const char *const *names, size_t count, int least)
{
	int width = least;

	for (size_t i = 0; i < count; i++) {
		char clean[300];
		const int length =
			(int)strlen(hq_clean(names[i], HQ_CLEAN_LINE, clean, sizeof(clean)));

		width = length > width ? length : width;
	}
	return width;
}

bool hq_axes_verdict(const struct hq_suite *suite, const char *scenario, const char *allocator,
		     enum hq_verdict *verdict)
{
	size_t count = 0;

	*verdict = HQ_VERDICT_PASS;
	for (size_t i = 0; i < suite->count; i++) {
		const struct hq_result *result = &suite->results[i];

		if (strcmp(result->scenario, scenario) || strcmp(result->allocator, allocator))
			continue;
		count++;
		*verdict = result->verdict > *verdict ? result->verdict : *verdict;
	}
	return count > 0;
}
