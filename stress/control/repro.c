/* SPDX-License-Identifier: MIT */
/*
 * The one line that reproduces a case, quoted for a POSIX shell. A line without its end would
 * reproduce something else, so where the room is too small a comment takes its place.
 */
#include "stress/control/repro.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct repro_line {
	char *text;
	size_t size;
	size_t length;
	bool cut;
};

static const char too_long[] = "# too long for one line: run plan.yaml of the run's folder";

static void add_char(struct repro_line *line, char c)
{
	if (line->length + 1 < line->size)
		line->text[line->length++] = c;
	else
		line->cut = true;
	line->text[line->length] = '\0';
}

static void add_plain(struct repro_line *line, const char *text)
{
	while (*text)
		add_char(line, *text++);
}

static bool is_plain(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-+=./:,@%")];
}

/* A word in single quotes unless it is plain; a quote inside is closed, escaped and opened again.
 */
static void add_word(struct repro_line *line, const char *word)
{
	if (line->length)
		add_char(line, ' ');
	if (is_plain(word)) {
		add_plain(line, word);
		return;
	}
	add_char(line, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			add_plain(line, "'\\''");
		else
			add_char(line, *word);
	}
	add_char(line, '\'');
}

void hq_repro_add(struct hq_plan *plan, const char *option, const char *value)
{
	struct repro_line line = { .text = plan->extra_arguments,
				   .size = sizeof(plan->extra_arguments),
				   .length = strlen(plan->extra_arguments) };
	char word[sizeof(plan->extra_arguments)];

	if (!strcmp(plan->extra_arguments, too_long))
		return;
	if (snprintf(word, sizeof(word), "%s%s%s", option, value ? "=" : "", value ? value : "") >=
	    (int)sizeof(word))
		line.cut = true;
	add_word(&line, word);
	if (line.cut)
		strcpy(plan->extra_arguments, too_long);
}

static void add_what_is_run(struct repro_line *line, const struct hq_plan *plan)
{
	if (plan->path[0]) {
		add_word(line, plan->path);
		return;
	}
	add_word(line, "--");
	for (char **word = plan->command; word && *word; word++)
		add_word(line, *word);
}

const char *hq_repro_print(const struct hq_plan *plan, const char *program, char *text, size_t size)
{
	struct repro_line line = { .text = text, .size = size };
	char allocator[sizeof(plan->allocator) + 16], number[32];

	snprintf(allocator, sizeof(allocator), "--allocator=%s", plan->allocator);
	snprintf(number, sizeof(number), "--seed=%" PRIu64, plan->seed);
	add_word(&line, program);
	add_word(&line, "run");
	add_word(&line, allocator);
	add_word(&line, number);
	if (plan->extra_arguments[0])
		add_char(&line, ' ');
	add_plain(&line, plan->extra_arguments);
	add_what_is_run(&line, plan);
	if (line.cut || !strcmp(plan->extra_arguments, too_long))
		snprintf(text, size, "%s", too_long);
	return text;
}
