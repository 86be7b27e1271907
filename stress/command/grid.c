/* SPDX-License-Identifier: MIT */
/*
 * Grids: read, counted out, and put into settings.
 */
#include "stress/command/grid.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/plan/words.h"

static int parse_axis(const char *text, struct hq_grid_axis *axis, struct hq_error *error)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return hq_error_set(error, "-L '%.100s': write KEY=VALUE,VALUE,...", text);
	axis->name = strndup(text, (size_t)(equals - text));
	/* Values that have commas themselves are told apart by bars. */
	if (!axis->name ||
	    hq_words_split_at(equals + 1, strchr(equals, '|') ? "|" : ",", &axis->values))
		return hq_error_set(error, "out of memory");
	axis->count = hq_words_count(axis->values);
	return axis->count ? 0 : hq_error_set(error, "-L '%.100s' has no values", text);
}

/* The later one would win, and the values of the other one mean nothing. */
static int check_new(const struct hq_grid *grid, struct hq_error *error)
{
	const char *name = grid->axes[grid->axis_count - 1].name;

	for (size_t i = 0; i + 1 < grid->axis_count; i++)
		if (!strcmp(grid->axes[i].name, name))
			return hq_error_set(error, "-L '%.100s' is given twice", name);
	return 0;
}

int hq_grid_parse(char *const *texts, struct hq_grid *grid, struct hq_error *error)
{
	int status = 0;

	*grid = (struct hq_grid){ .points = 1 };
	for (size_t i = 0; !status && texts && texts[i]; i++) {
		if (grid->axis_count == HQ_GRID_AXES)
			return hq_error_set(error, "more than %d keys", HQ_GRID_AXES);
		struct hq_grid_axis *axis = &grid->axes[grid->axis_count++];

		status = parse_axis(texts[i], axis, error);
		if (!status)
			status = check_new(grid, error);
		grid->points *= axis->count;
		if (!status && grid->points > HQ_GRID_POINTS)
			status = hq_error_set(error, "more than %d combinations", HQ_GRID_POINTS);
	}
	return status;
}

static const char *value_at(const struct hq_grid *grid, size_t point, size_t axis)
{
	for (size_t i = grid->axis_count - 1; i > axis; i--)
		point /= grid->axes[i].count;
	return grid->axes[axis].values[point % grid->axes[axis].count];
}

/* `text` with each {NAME} replaced; *used gets a bit for each axis that was. */
static char *fill_in(const struct hq_grid *grid, size_t point, const char *text, unsigned *used)
{
	char *filled = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&filled, &size);

	while (stream && *text) {
		size_t length = 0;

		for (size_t i = 0; *text == '{' && !length && i < grid->axis_count; i++) {
			const char *name = grid->axes[i].name;

			if (strncmp(text + 1, name, strlen(name)) || text[1 + strlen(name)] != '}')
				continue;
			fputs(value_at(grid, point, i), stream);
			*used |= 1u << i;
			length = strlen(name) + 2;
		}
		if (!length)
			fputc(*text, stream);
		text += length ? length : 1;
	}
	if (stream && fclose(stream)) {
		free(filled);
		return NULL;
	}
	return filled;
}

/* An axis that no setting names is a key. */
static int add_keys(const struct hq_grid *grid, size_t point, unsigned used, char ***settings)
{
	for (size_t i = 0; i < grid->axis_count; i++) {
		char *setting;

		if (used >> i & 1u)
			continue;
		if (asprintf(&setting, "%s=%s", grid->axes[i].name, value_at(grid, point, i)) < 0)
			return -ENOMEM;
		const int status = hq_words_add(settings, setting);

		free(setting);
		if (status)
			return status;
	}
	return 0;
}

char **hq_grid_settings(const struct hq_grid *grid, size_t point, char *const *common)
{
	char **settings = NULL;
	unsigned used = 0;
	int status = 0;

	for (size_t i = 0; !status && common && common[i]; i++) {
		char *setting = fill_in(grid, point, common[i], &used);

		status = setting ? hq_words_add(&settings, setting) : -ENOMEM;
		free(setting);
	}
	if (!status)
		status = add_keys(grid, point, used, &settings);
	if (!status)
		return settings;
	hq_words_free(settings);
	return NULL;
}

const char *hq_grid_name(const struct hq_grid *grid, size_t point, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < grid->axis_count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s=%s", i ? " " : "",
					   grid->axes[i].name, value_at(grid, point, i));
	return text;
}

void hq_grid_clear(struct hq_grid *grid)
{
	for (size_t i = 0; i < grid->axis_count; i++) {
		free(grid->axes[i].name);
		hq_words_free(grid->axes[i].values);
	}
	grid->axis_count = 0;
}
