/* SPDX-License-Identifier: MIT */
/* The one line that reproduces a case, quoted for a POSIX shell. */
#include "stress/control/repro.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct repro_line {
	char *text;
	size_t size;
	size_t length;
};

static void add_char(struct repro_line *line, char c)
{
	if (line->length + 1 < line->size)
		line->text[line->length++] = c;
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

	snprintf(word, sizeof(word), "%s%s%s", option, value ? "=" : "", value ? value : "");
	add_word(&line, word);
}

const char *hq_repro_print(const struct hq_plan *plan, const char *program, char *text, size_t size)
{
	struct repro_line line = { .text = text, .size = size };
	char number[32];

	snprintf(number, sizeof(number), "--seed=%" PRIu64, plan->seed);
	add_plain(&line, program);
	add_plain(&line, " run");
	add_plain(&line, " --allocator=");
	add_plain(&line, plan->allocator);
	add_word(&line, number);
	add_plain(&line, plan->extra_arguments);
	if (plan->path[0]) {
		add_word(&line, plan->path);
		return text;
	}
	add_word(&line, "--");
	for (char **word = plan->command; word && *word; word++)
		add_word(&line, *word);
	return text;
}
