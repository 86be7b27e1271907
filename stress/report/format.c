/* SPDX-License-Identifier: MIT */
/*
 * The table of formats: the one place that knows which there are.
 */
#include <string.h>

#include "stress/report/format.h"

const struct hq_format *const hq_formats[] = {
	&hq_format_html,
	&hq_format_json,
	&hq_format_junit,
	&hq_format_tap,
	&hq_format_text,
	&hq_format_usage,
	NULL,
};

const struct hq_format *hq_format_find(const char *name)
{
	for (size_t i = 0; hq_formats[i]; i++) {
		if (!strcmp(hq_formats[i]->name, name))
			return hq_formats[i];
	}
	return NULL;
}
