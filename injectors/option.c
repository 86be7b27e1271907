/* SPDX-License-Identifier: MIT */
/*
 * Option tables at work: text into the fields of a part's struct, and back.
 *
 * This file knows kinds of values and no option by name. Every refusal says what would be accepted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "injectors/option.h"
#include "injectors/units.h"

#define WORD_SIZE    512 /* one key=value */
#define CHOICES_SIZE 256
#define OPTIONS_MAX  32 /* of one table, for suggestions */

static const char *const bool_names[] = { "false", "no", "true", "yes", NULL };
static const char *const shape_names[] = { "uniform", "log", NULL };

static void *field(const struct hq_option *option, void *values)
{
	return (char *)values + option->offset;
}

static const void *field_const(const struct hq_option *option, const void *values)
{
	return (const char *)values + option->offset;
}

static size_t field_size(enum hq_option_kind kind)
{
	switch (kind) {
	case HQ_OPTION_BOOL:
		return sizeof(bool);
	case HQ_OPTION_ENUM:
		return sizeof(uint32_t);
	case HQ_OPTION_RATE:
	case HQ_OPTION_SHARE:
		return sizeof(double);
	case HQ_OPTION_TEXT:
		return HQ_OPTION_TEXT_SIZE;
	case HQ_OPTION_SIZES:
		return sizeof(struct hq_sizes);
	case HQ_OPTION_COUNT:
	case HQ_OPTION_SIZE:
	case HQ_OPTION_DURATION:
		break;
	}
	return sizeof(uint64_t);
}

/* ---- reading ---- */

static int index_of(const char *word, const char *const *list)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], word) == 0)
			return i;
	return -1;
}

/* "a, b or c" */
static void join_choices(const char *const *choices, char text[CHOICES_SIZE])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; choices[i] && used < CHOICES_SIZE; i++) {
		const char *separator = i == 0 ? "" : choices[i + 1] ? ", " : " or ";

		used += (size_t)snprintf(text + used, CHOICES_SIZE - used, "%s%s", separator,
					 choices[i]);
	}
}

static int refuse_word(const char *name, const char *word, const char *const *choices,
		       struct hq_error *error)
{
	const char *near = hq_suggest(word, choices);
	char all[CHOICES_SIZE];

	if (near)
		return hq_error_set(error, "%s: unknown value '%s'; did you mean '%s'?", name, word,
				    near);
	join_choices(choices, all);
	return hq_error_set(error, "%s: unknown value '%s'; write %s", name, word, all);
}

/* Puts the name of the option before a sentence that a parser of units wrote. */
static int name_error(const char *name, struct hq_error *error)
{
	const struct hq_error inner = *error;

	return hq_error_set(error, "%s: %.*s", name, (int)sizeof(inner.text) - 64, inner.text);
}

static const char *print_number(enum hq_option_kind kind, char text[HQ_UNITS_TEXT], uint64_t value)
{
	switch (kind) {
	case HQ_OPTION_DURATION:
		return hq_units_print_duration(text, value);
	case HQ_OPTION_COUNT:
		return hq_units_print_count(text, value);
	default:
		return hq_units_print_size(text, value);
	}
}

static int check_range(const struct hq_option *option, uint64_t value, struct hq_error *error)
{
	char got[HQ_UNITS_TEXT], min[HQ_UNITS_TEXT], max[HQ_UNITS_TEXT];

	if (value >= option->min && (option->max == 0 || value <= option->max))
		return 0;
	print_number(option->kind, got, value);
	print_number(option->kind, min, option->min);
	print_number(option->kind, max, option->max);
	if (option->max == 0)
		return hq_error_set(error, "%s: %s is too small; write at least %s", option->name,
				    got, min);
	return hq_error_set(error, "%s: %s is out of range; write %s to %s", option->name, got, min,
			    max);
}

static int set_bool(const struct hq_option *option, void *values, const char *text,
		    struct hq_error *error)
{
	const int index = index_of(text, bool_names);

	if (index < 0)
		return refuse_word(option->name, text, bool_names, error);
	*(bool *)field(option, values) = index >= 2;
	return 0;
}

static int set_number(const struct hq_option *option, void *values, const char *text,
		      struct hq_error *error)
{
	uint64_t value;
	int status;

	if (option->kind == HQ_OPTION_COUNT)
		status = hq_units_parse_count(text, &value, error);
	else if (option->kind == HQ_OPTION_SIZE)
		status = hq_units_parse_size(text, &value, error);
	else
		status = hq_units_parse_duration(text, &value, error);
	if (status)
		return name_error(option->name, error);
	status = check_range(option, value, error);
	if (status == 0)
		*(uint64_t *)field(option, values) = value;
	return status;
}

static int set_real(const struct hq_option *option, void *values, const char *text,
		    struct hq_error *error)
{
	double *value = field(option, values);
	const int status = option->kind == HQ_OPTION_RATE
				   ? hq_units_parse_rate(text, value, error)
				   : hq_units_parse_share(text, value, error);

	return status ? name_error(option->name, error) : 0;
}

static int set_enum(const struct hq_option *option, void *values, const char *text,
		    struct hq_error *error)
{
	const int index = index_of(text, option->choices);

	if (index < 0)
		return refuse_word(option->name, text, option->choices, error);
	*(uint32_t *)field(option, values) = (uint32_t)index;
	return 0;
}

static int set_text(const struct hq_option *option, void *values, const char *text,
		    struct hq_error *error)
{
	if (strlen(text) >= HQ_OPTION_TEXT_SIZE)
		return hq_error_set(error, "%s: the text is too long; write at most %d characters",
				    option->name, HQ_OPTION_TEXT_SIZE - 1);
	if (text[strcspn(text, " \t\r\n")] != '\0')
		return hq_error_set(error, "%s: '%s' has a space in it; write one word",
				    option->name, text);
	/* The whole field, so that equal values are equal bytes. */
	strncpy(field(option, values), text, HQ_OPTION_TEXT_SIZE);
	return 0;
}

static int parse_bound(const struct hq_option *option, const char *text, uint64_t *bytes,
		       struct hq_error *error)
{
	if (hq_units_parse_size(text, bytes, error))
		return name_error(option->name, error);
	return check_range(option, *bytes, error);
}

/* SIZE | SIZE..SIZE [uniform|log], where '_' may stand for the space. Splits `word` in place. */
static int set_sizes(const struct hq_option *option, void *values, char *word,
		     struct hq_error *error)
{
	struct hq_sizes sizes = { .shape = HQ_SIZES_UNIFORM };
	char *shape = strpbrk(word, " _");
	char *dots = strstr(word, "..");
	int status;

	if (shape)
		*shape++ = '\0';
	if (dots)
		*dots = '\0';
	status = parse_bound(option, word, &sizes.min_bytes, error);
	if (status)
		return status;
	sizes.max_bytes = sizes.min_bytes;
	status = dots ? parse_bound(option, dots + 2, &sizes.max_bytes, error) : 0;
	if (status)
		return status;
	if (sizes.max_bytes < sizes.min_bytes)
		return hq_error_set(error, "%s: %s is less than %s; write the smaller size first",
				    option->name, dots + 2, word);
	if (shape) {
		const int index = index_of(shape, shape_names);

		if (index < 0)
			return refuse_word(option->name, shape, shape_names, error);
		sizes.shape = (uint32_t)index;
	}
	/* One size has no shape: equal values are equal bytes. */
	if (sizes.min_bytes == sizes.max_bytes)
		sizes.shape = HQ_SIZES_UNIFORM;
	*(struct hq_sizes *)field(option, values) = sizes;
	return 0;
}

static int set_sizes_of(const struct hq_option *option, void *values, const char *text,
			struct hq_error *error)
{
	char word[WORD_SIZE];

	if (snprintf(word, sizeof(word), "%s", text) >= (int)sizeof(word))
		return hq_error_set(error, "%s: the text is too long; write 16B..4KiB log",
				    option->name);
	return set_sizes(option, values, word, error);
}

static int set_value(const struct hq_option *option, void *values, const char *text,
		     struct hq_error *error)
{
	switch (option->kind) {
	case HQ_OPTION_BOOL:
		return set_bool(option, values, text, error);
	case HQ_OPTION_COUNT:
	case HQ_OPTION_SIZE:
	case HQ_OPTION_DURATION:
		return set_number(option, values, text, error);
	case HQ_OPTION_RATE:
	case HQ_OPTION_SHARE:
		return set_real(option, values, text, error);
	case HQ_OPTION_ENUM:
		return set_enum(option, values, text, error);
	case HQ_OPTION_TEXT:
		return set_text(option, values, text, error);
	case HQ_OPTION_SIZES:
		return set_sizes_of(option, values, text, error);
	}
	return hq_error_set(error, "%s: unknown kind of option", option->name);
}

int hq_options_default(const struct hq_option *table, void *values, struct hq_error *error)
{
	for (const struct hq_option *option = table; option && option->name; option++) {
		memset(field(option, values), 0, field_size(option->kind));
		if (!option->fallback)
			continue;
		const int status = set_value(option, values, option->fallback, error);

		if (status)
			return status;
	}
	return 0;
}

const struct hq_option *hq_option_find(const struct hq_option *table, const char *name)
{
	for (const struct hq_option *option = table; option && option->name; option++)
		if (strcmp(option->name, name) == 0)
			return option;
	return NULL;
}

static int refuse_key(const struct hq_option *table, const char *key, struct hq_error *error)
{
	const char *names[OPTIONS_MAX + 1];
	char all[CHOICES_SIZE];
	size_t count = 0;

	for (const struct hq_option *option = table; option && option->name && count < OPTIONS_MAX;
	     option++)
		names[count++] = option->name;
	names[count] = NULL;
	if (count == 0)
		return hq_error_set(error, "unknown key '%s'; there are no options", key);
	const char *near = hq_suggest(key, names);

	if (near)
		return hq_error_set(error, "unknown key '%s'; did you mean '%s'?", key, near);
	join_choices(names, all);
	return hq_error_set(error, "unknown key '%s'; write %s", key, all);
}

int hq_options_set(const struct hq_option *table, void *values, const char *key, const char *value,
		   struct hq_error *error)
{
	const struct hq_option *option = hq_option_find(table, key);

	return option ? set_value(option, values, value, error) : refuse_key(table, key, error);
}

int hq_options_parse(const struct hq_option *table, void *values, const char *text,
		     struct hq_error *error)
{
	char word[WORD_SIZE];

	for (;;) {
		text += strspn(text, " ");
		const size_t length = strcspn(text, " ");

		if (length == 0)
			return 0;
		if (length >= sizeof(word))
			return hq_error_set(error, "'%.32s...' is too long; write key=value", text);
		memcpy(word, text, length);
		word[length] = '\0';
		text += length;
		char *value = strchr(word, '=');

		if (!value)
			return hq_error_set(error, "'%s' has no value; write %s=VALUE", word, word);
		*value++ = '\0';
		const int status = hq_options_set(table, values, word, value, error);

		if (status)
			return status;
	}
}

/* ---- printing ---- */

static void print_sizes(const struct hq_sizes *sizes, char *text, size_t size)
{
	char min[HQ_UNITS_TEXT], max[HQ_UNITS_TEXT];

	hq_units_print_size(min, sizes->min_bytes);
	hq_units_print_size(max, sizes->max_bytes);
	if (sizes->min_bytes == sizes->max_bytes)
		snprintf(text, size, "%s", min);
	else
		snprintf(text, size, "%s..%s %s", min, max,
			 shape_names[sizes->shape == HQ_SIZES_LOG ? 1 : 0]);
}

const char *hq_option_print(const struct hq_option *option, const void *values, char *text,
			    size_t size)
{
	const void *value = field_const(option, values);
	char number[HQ_UNITS_TEXT];

	switch (option->kind) {
	case HQ_OPTION_BOOL:
		snprintf(text, size, "%s", *(const bool *)value ? "true" : "false");
		break;
	case HQ_OPTION_COUNT:
	case HQ_OPTION_SIZE:
	case HQ_OPTION_DURATION:
		snprintf(text, size, "%s",
			 print_number(option->kind, number, *(const uint64_t *)value));
		break;
	case HQ_OPTION_RATE:
		snprintf(text, size, "%s", hq_units_print_rate(number, *(const double *)value));
		break;
	case HQ_OPTION_SHARE:
		snprintf(text, size, "%s", hq_units_print_share(number, *(const double *)value));
		break;
	case HQ_OPTION_ENUM:
		snprintf(text, size, "%s", option->choices[*(const uint32_t *)value]);
		break;
	case HQ_OPTION_TEXT:
		snprintf(text, size, "%s", (const char *)value);
		break;
	case HQ_OPTION_SIZES:
		print_sizes(value, text, size);
		break;
	}
	return text;
}

int hq_options_print(const struct hq_option *table, const void *values, char *text, size_t size)
{
	char word[WORD_SIZE];
	size_t used = 0;

	if (size)
		text[0] = '\0';
	for (const struct hq_option *option = table; option && option->name; option++) {
		hq_option_print(option, values, word, sizeof(word));
		for (char *space = word; (space = strchr(space, ' '));)
			*space = '_';
		const int length = snprintf(text + used, size - used, "%s%s=%s", used ? " " : "",
					    option->name, word);

		if (length < 0 || (size_t)length >= size - used)
			return -ENOSPC;
		used += (size_t)length;
	}
	return 0;
}
