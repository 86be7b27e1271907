/* SPDX-License-Identifier: MIT */
/*
 * Reading the schedule of a limit that moves.
 */
#include "injectors/limit_steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/units.h"

#define STEP_TEXT 48

static int parse_step(const char *text, struct hq_limit_step *step, struct hq_error *error)
{
	const char *at = strchr(text, '@');
	char size[STEP_TEXT];
	struct hq_error why = { "" };
	int status;

	if (!at)
		return hq_error_set(error, "steps: '%s' is no step; write 64MiB@300ms", text);
	snprintf(size, sizeof(size), "%.*s", (int)(at - text), text);
	status = hq_units_parse_size(size, &step->bytes, &why);
	if (!status)
		status = hq_units_parse_duration(at + 1, &step->at_ns, &why);
	if (status)
		return hq_error_set(error, "steps: %.300s", why.text);
	if (step->bytes < HQ_MIB)
		return hq_error_set(error, "steps: %s is less than 1MiB", size);
	return 0;
}

static int add_step(const char *text, struct hq_limit_steps *steps, struct hq_error *error)
{
	struct hq_limit_step step;

	if (steps->count == HQ_LIMIT_STEPS_MAX)
		return hq_error_set(error, "steps: at most %d are possible", HQ_LIMIT_STEPS_MAX);
	const int status = parse_step(text, &step, error);

	if (status)
		return status;
	if (steps->count && step.at_ns <= steps->list[steps->count - 1].at_ns)
		return hq_error_set(error, "steps: '%s' does not come after the one before", text);
	steps->list[steps->count++] = step;
	return 0;
}

int hq_limit_steps_parse(const char *text, struct hq_limit_steps *steps, struct hq_error *error)
{
	steps->count = 0;
	if (!strcmp(text, "none"))
		return 0;
	for (;;) {
		const size_t length = strcspn(text, ",");
		char step[STEP_TEXT];

		if (length >= sizeof(step))
			return hq_error_set(error, "steps: '%.60s' is no step; write 64MiB@300ms",
					    text);
		snprintf(step, sizeof(step), "%.*s", (int)length, text);
		const int status = add_step(step, steps, error);

		if (status || !text[length])
			return status;
		text += length + 1;
	}
}

size_t hq_limit_steps_due(const struct hq_limit_steps *steps, uint64_t since_start_ns)
{
	size_t due = 0;

	while (due < steps->count && steps->list[due].at_ns <= since_start_ns)
		due++;
	return due;
}
