/* SPDX-License-Identifier: MIT */
/*
 * Complaints about a scenario file are kept sorted by place, since sections are not read in the
 * order in which they stand in the file.
 */
#include "stress/plan/complaint.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static bool is_before(struct hq_yaml_place a, struct hq_yaml_place b)
{
	return a.line != b.line ? a.line < b.line : a.column < b.column;
}

static void insert(struct hq_complaints *complaints, struct hq_yaml_place place, const char *format,
		   va_list arguments)
{
	if (complaints->count == HQ_COMPLAINTS_MAX) {
		complaints->left_out++;
		return;
	}
	size_t at = complaints->count;

	while (at > 0 && is_before(place, complaints->list[at - 1].place))
		at--;
	memmove(&complaints->list[at + 1], &complaints->list[at],
		(complaints->count - at) * sizeof(complaints->list[0]));
	complaints->count++;
	complaints->list[at].place = place;
	vsnprintf(complaints->list[at].text, sizeof(complaints->list[at].text), format, arguments);
}

void hq_complain_at(struct hq_complaints *complaints, struct hq_yaml_place place,
		    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	insert(complaints, place, format, arguments);
	va_end(arguments);
}

void hq_complain(struct hq_complaints *complaints, const struct hq_yaml *node, const char *format,
		 ...)
{
	struct hq_yaml_place place = { 0 };
	va_list arguments;

	if (node)
		place = (struct hq_yaml_place){ .line = node->line, .column = node->column };
	va_start(arguments, format);
	insert(complaints, place, format, arguments);
	va_end(arguments);
}

void hq_complaints_print(const struct hq_complaints *complaints, FILE *stream)
{
	for (size_t i = 0; i < complaints->count; i++) {
		const struct hq_complaint *one = &complaints->list[i];

		fprintf(stream, "heapquake: %s:", complaints->path);
		if (one->place.line)
			fprintf(stream, "%u:%u:", one->place.line, one->place.column);
		fprintf(stream, " %s\n", one->text);
	}
	if (complaints->left_out)
		fprintf(stream, "heapquake: %s: %zu more errors are not shown\n", complaints->path,
			complaints->left_out);
}
