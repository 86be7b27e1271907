/* SPDX-License-Identifier: MIT */
/*
 * The parser of options: `--key value`, `--key=value`, `-k value`, `-kvalue`, flags joined (`-xn`),
 * options and other arguments in any order, and `--` which ends the options.
 */
#include "stress/command/program_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/words.h"

#define OPTIONS_MAX 64

static bool is_among(const char *names, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length) {
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	}
	return false;
}

bool hq_command_takes(const struct hq_command *command, const struct hq_program_option *option)
{
	if (option->only)
		return is_among(option->only, command->name);
	if (!command->options || strcmp(option->name, "help") == 0)
		return true;
	for (size_t i = 0; command->options[i]; i++) {
		if (strcmp(command->options[i], option->name) == 0)
			return true;
	}
	return false;
}

const struct hq_command *hq_command_find(const char *name)
{
	for (const struct hq_command *command = hq_commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

/* ---- values ---- */

/* How a number of each kind is read and printed. */
static const struct {
	int (*parse)(const char *text, uint64_t *number, struct hq_error *error);
	const char *(*print)(char *text, uint64_t number);
} numbers[] = {
	[HQ_PROGRAM_COUNT] = { hq_units_parse_count, hq_units_print_count },
	[HQ_PROGRAM_DURATION] = { hq_units_parse_duration, hq_units_print_duration },
	[HQ_PROGRAM_SIZE] = { hq_units_parse_size, hq_units_print_size },
};

static int set_number(const struct hq_program_option *option, void *field, const char *value,
		      struct hq_error *error)
{
	char min[HQ_UNITS_TEXT], max[HQ_UNITS_TEXT];
	uint64_t number = 0;
	const int status = numbers[option->kind].parse(value, &number, error);

	if (status)
		return status;
	if (number < option->min || (option->max && number > option->max))
		return hq_error_set(error, "must be from %s to %s",
				    numbers[option->kind].print(min, option->min),
				    numbers[option->kind].print(max, option->max));
	*(uint64_t *)field = number;
	return 0;
}

static int set_choice(const struct hq_program_option *option, void *field, const char *value,
		      struct hq_error *error)
{
	for (uint32_t i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], value) == 0) {
			*(uint32_t *)field = i;
			return 0;
		}
	}
	const char *nearest = hq_suggest(value, option->choices);

	if (nearest)
		return hq_error_set(error, "did you mean '%s'?", nearest);
	return hq_error_set(error, "choose one of: %s", option->help);
}

static int set_value(const struct hq_program_option *option, struct hq_settings *settings,
		     const char *value, struct hq_error *error)
{
	void *field = (char *)settings + option->offset;

	switch (option->kind) {
	case HQ_PROGRAM_FLAG:
		*(bool *)field = true;
		return 0;
	case HQ_PROGRAM_WORD:
	case HQ_PROGRAM_OPTIONAL:
		*(const char **)field = value;
		return 0;
	case HQ_PROGRAM_LIST:
		return hq_words_add((char ***)field, value) ? hq_error_set(error, "out of memory")
							    : 0;
	case HQ_PROGRAM_COUNT:
	case HQ_PROGRAM_DURATION:
	case HQ_PROGRAM_SIZE:
		return set_number(option, field, value, error);
	case HQ_PROGRAM_CHOICE:
		return set_choice(option, field, value, error);
	}
	return -EINVAL;
}

static void set_defaults(struct hq_settings *settings)
{
	struct hq_error error;

	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->fallback)
			set_value(option, settings, option->fallback, &error);
	}
}

/* ---- finding the option ---- */

static bool is_named(const struct hq_program_option *option, const char *name, size_t length)
{
	return (strlen(option->name) == length && strncmp(option->name, name, length) == 0) ||
	       (option->alias && strlen(option->alias) == length &&
		strncmp(option->alias, name, length) == 0);
}

/* An option that only other commands have: tells which. 0 if there is none. */
static int refuse_foreign(const struct hq_command *command, const struct hq_program_option *option,
			  const char *word, struct hq_error *error)
{
	char others[200] = "";

	if (!option->name)
		return 0;
	for (const struct hq_command *other = hq_commands; other->name; other++) {
		const size_t length = strlen(others);

		if (hq_command_takes(other, option))
			snprintf(others + length, sizeof(others) - length, "%s%s",
				 length ? ", " : "", other->name);
	}
	return hq_error_set(error, "'%s' is no option of %s; it belongs to %s", word, command->name,
			    others);
}

static int refuse_letter(const struct hq_command *command, char letter, struct hq_error *error)
{
	const struct hq_program_option *option = hq_program_options;
	const char word[] = { '-', letter, '\0' };

	while (option->name && option->letter != letter)
		option++;
	return refuse_foreign(command, option, word, error)
		       ?: hq_error_set(error, "unknown option '%s'", word);
}

static int refuse_unknown(const struct hq_command *command, const char *argument, size_t length,
			  struct hq_error *error)
{
	const struct hq_program_option *foreign = hq_program_options;
	const char *names[OPTIONS_MAX + 1] = { NULL };
	char word[64];
	size_t count = 0;

	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (count < OPTIONS_MAX && hq_command_takes(command, option))
			names[count++] = option->name;
	}
	snprintf(word, sizeof(word), "--%.*s", (int)length, argument + 2);
	while (foreign->name && !is_named(foreign, argument + 2, length))
		foreign++;
	if (refuse_foreign(command, foreign, word, error))
		return -EINVAL;
	const char *nearest = hq_suggest(word + 2, names);

	if (nearest)
		return hq_error_set(error, "unknown option '%s'; did you mean '--%s'?", word,
				    nearest);
	return hq_error_set(error, "unknown option '%s'", word);
}

static const struct hq_program_option *find_long(const struct hq_command *command, const char *name,
						 size_t length)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (is_named(option, name, length) && hq_command_takes(command, option))
			return option;
	}
	return NULL;
}

static const struct hq_program_option *find_letter(const struct hq_command *command, char letter)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->letter == letter && hq_command_takes(command, option))
			return option;
	}
	return NULL;
}

/* ---- the walk ---- */

struct walk {
	const struct hq_command *command;
	struct hq_invocation *invocation;
	char *const *next; /* the argument to look at next */
	struct hq_error *error;
};

/* Sets it, and puts the option in front of what is wrong with the value. */
static int set_named(struct walk *walk, const struct hq_program_option *option, const char *value)
{
	struct hq_error why;

	if (set_value(option, &walk->invocation->settings, value, &why) == 0)
		return 0;
	return hq_error_set(walk->error, "--%s '%.100s': %.300s", option->name, value, why.text);
}

static int set_from_next(struct walk *walk, const struct hq_program_option *option)
{
	if (!*walk->next)
		return hq_error_set(walk->error, "--%s needs a value: %s", option->name,
				    option->argument);
	return set_named(walk, option, *walk->next++);
}

static int take_long(struct walk *walk, const char *argument)
{
	const char *equals = strchr(argument, '=');
	const size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
	const struct hq_program_option *option = find_long(walk->command, argument + 2, length);

	if (!option)
		return refuse_unknown(walk->command, argument, length, walk->error);
	if (option->kind == HQ_PROGRAM_FLAG)
		return equals ? hq_error_set(walk->error, "--%s takes no value", option->name)
			      : set_named(walk, option, "");
	if (option->kind == HQ_PROGRAM_OPTIONAL && !equals)
		return set_named(walk, option, option->choices[0]);
	return equals ? set_named(walk, option, equals + 1) : set_from_next(walk, option);
}

static int take_letters(struct walk *walk, const char *letters)
{
	for (; *letters; letters++) {
		const struct hq_program_option *option = find_letter(walk->command, *letters);

		if (!option)
			return refuse_letter(walk->command, *letters, walk->error);
		if (option->kind != HQ_PROGRAM_FLAG)
			return letters[1] ? set_named(walk, option, letters + 1)
					  : set_from_next(walk, option);
		if (set_named(walk, option, ""))
			return -EINVAL;
	}
	return 0;
}

/* What follows `--`: a program, for the commands that run one; else words that may begin with '-'.
 */
static int take_rest(struct walk *walk)
{
	if (!walk->command->takes_program) {
		while (*walk->next) {
			if (hq_words_add(&walk->invocation->words, *walk->next++))
				return hq_error_set(walk->error, "out of memory");
		}
		return 0;
	}
	if (!*walk->next)
		return hq_error_set(walk->error, "a program must follow '--'");
	walk->invocation->program = walk->next;
	return 0;
}

static int take(struct walk *walk)
{
	const char *argument = *walk->next++;

	if (strncmp(argument, "--", 2) == 0)
		return take_long(walk, argument);
	if (argument[0] == '-' && argument[1])
		return take_letters(walk, argument + 1);
	if (hq_words_add(&walk->invocation->words, argument))
		return hq_error_set(walk->error, "out of memory");
	return 0;
}

int hq_invocation_parse(const struct hq_command *command, char *const *arguments,
			struct hq_invocation *invocation, struct hq_error *error)
{
	struct walk walk = {
		.command = command,
		.invocation = invocation,
		.next = arguments,
		.error = error,
	};
	int status = 0;

	*invocation = (struct hq_invocation){ .command = command };
	set_defaults(&invocation->settings);
	while (!status && *walk.next) {
		if (strcmp(*walk.next, "--") == 0) {
			walk.next++;
			return take_rest(&walk);
		}
		status = take(&walk);
	}
	return status;
}

void hq_invocation_clear(struct hq_invocation *invocation)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->kind == HQ_PROGRAM_LIST)
			hq_words_free(*(char ***)((char *)&invocation->settings + option->offset));
	}
	hq_words_free(invocation->words);
	*invocation = (struct hq_invocation){ .command = NULL };
}
