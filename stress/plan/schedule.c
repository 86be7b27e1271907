/* SPDX-License-Identifier: MIT */
/*
 * Reading a run's folder back. Lines that are not as we write them are errors: a comparison with
 * half of a schedule would say "different" for the wrong reason.
 */
#include "stress/plan/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct hq_schedule *schedule, char *fault)
{
	if ((schedule->count & (schedule->count - 1)) == 0) {
		const size_t room = schedule->count ? schedule->count * 2 : 1;
		char **grown = reallocarray(schedule->faults, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		schedule->faults = grown;
	}
	schedule->faults[schedule->count++] = fault;
	return 0;
}

static int add_line(struct hq_schedule *schedule, const char *line)
{
	const char *thread, *rule, *call;
	json_t *object = json_loads(line, 0, NULL);
	json_int_t n;
	char *fault = NULL;
	int status = -EINVAL;

	if (object && json_unpack(object, "{s:s, s:s, s:I, s:s}", "thread", &thread, "rule", &rule,
				  "n", &n, "call", &call) == 0)
		status = asprintf(&fault, "%s %s %" PRIdMAX " %s", thread, rule, (intmax_t)n,
				  call) < 0
				 ? -ENOMEM
				 : add(schedule, fault);
	json_decref(object);
	return status;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_lines(FILE *file, struct hq_schedule *schedule)
{
	char *line = NULL;
	size_t room = 0;
	int status = 0;

	while (!status && getline(&line, &room, file) >= 0)
		status = add_line(schedule, line);
	free(line);
	return status ? status : ferror(file) ? -EIO : 0;
}

int hq_schedule_read(const char *folder, struct hq_schedule *schedule, struct hq_error *error)
{
	char path[PATH_MAX];
	FILE *file;
	int status;

	*schedule = (struct hq_schedule){ .count = 0 };
	snprintf(path, sizeof(path), "%s/faults.jsonl", folder);
	file = fopen(path, "re");
	status = file ? read_lines(file, schedule) : -errno;
	if (file)
		fclose(file);
	if (status)
		hq_error_set(error, "%.400s: %s", path,
			     status == -EINVAL ? "a line is no fault" : strerror(-status));
	if (schedule->count)
		qsort(schedule->faults, schedule->count, sizeof(char *), compare);
	return status;
}

void hq_schedule_clear(struct hq_schedule *schedule)
{
	for (size_t i = 0; i < schedule->count; i++)
		free(schedule->faults[i]);
	free(schedule->faults);
	*schedule = (struct hq_schedule){ .count = 0 };
}

struct hq_schedule_difference hq_schedule_compare(const struct hq_schedule *a,
						  const struct hq_schedule *b)
{
	struct hq_schedule_difference difference = { .common = 0 };
	size_t i = 0, j = 0;

	while (i < a->count || j < b->count) {
		const int order = i == a->count   ? 1
				  : j == b->count ? -1
						  : strcmp(a->faults[i], b->faults[j]);

		if (order < 0 && difference.only_in_a++ == 0)
			difference.first_only_in_a = a->faults[i];
		if (order > 0 && difference.only_in_b++ == 0)
			difference.first_only_in_b = b->faults[j];
		difference.common += order == 0;
		i += order <= 0;
		j += order >= 0;
	}
	return difference;
}

int hq_schedule_read_verdict(const char *folder, char *verdict, size_t size, struct hq_error *error)
{
	char path[PATH_MAX];
	json_error_t why;
	const char *text;
	int status = 0;

	snprintf(path, sizeof(path), "%s/verdict.json", folder);
	json_t *object = json_load_file(path, 0, &why);

	if (!object)
		status = hq_error_set(error, "%.300s: %.150s", path, why.text);
	else if (json_unpack(object, "{s:s}", "verdict", &text))
		status = hq_error_set(error, "%.400s: has no verdict", path);
	else
		snprintf(verdict, size, "%s", text);
	json_decref(object);
	return status;
}
