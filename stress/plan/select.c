/* SPDX-License-Identifier: MIT */
/*
 * A recursive descent that evaluates while it parses. Both sides of an operator are always parsed,
 * so that a wrong expression is refused whatever it is applied to.
 */
#include "stress/plan/select.h"

#include <stdio.h>
#include <string.h>

#define NESTING_MAX 32

struct selection {
	const char *at; /* behind the current token */
	char token[64]; /* "" at the end */
	unsigned nesting;
	enum hq_select_kind kind;
	const char *text;
	struct hq_error *error;
};

static int parse_or(struct selection *selection, bool *value);

static int next_token(struct selection *selection)
{
	size_t length;

	selection->at += strspn(selection->at, " \t\n");
	length = strcspn(selection->at, " \t\n(),");
	if (length == 0 && *selection->at)
		length = 1;
	if (length >= sizeof(selection->token))
		return hq_error_set(selection->error, "a word of it is longer than %zu characters",
				    sizeof(selection->token) - 1);
	memcpy(selection->token, selection->at, length);
	selection->token[length] = '\0';
	selection->at += length;
	return 0;
}

static bool is_token(const struct selection *selection, const char *word)
{
	return strcmp(selection->token, word) == 0;
}

static bool has_tag(const char *tags, const char *tag)
{
	const size_t length = strlen(tag);

	while (*tags) {
		const size_t this_length = strcspn(tags, " ");

		if (this_length == length && strncmp(tags, tag, length) == 0)
			return true;
		tags += this_length;
		tags += strspn(tags, " ");
	}
	return false;
}

static int parse_word(struct selection *selection, bool *value)
{
	static const char *const reserved[] = { "and", "or", ",", ")", NULL };

	if (selection->token[0] == '\0')
		return hq_error_set(selection->error, "it ends where a word was expected");
	for (size_t i = 0; reserved[i]; i++) {
		if (is_token(selection, reserved[i]))
			return hq_error_set(selection->error,
					    "'%s' stands where a word was expected",
					    selection->token);
	}
	*value = selection->kind == HQ_SELECT_TAG
			 ? has_tag(selection->text, selection->token)
			 : strcasestr(selection->text, selection->token) != NULL;
	return next_token(selection);
}

static int parse_group(struct selection *selection, bool *value)
{
	int status = next_token(selection);

	if (!status)
		status = parse_or(selection, value);
	if (status)
		return status;
	if (!is_token(selection, ")"))
		return hq_error_set(selection->error, "a ')' is missing");
	return next_token(selection);
}

static int parse_part(struct selection *selection, bool *value)
{
	const bool negates = is_token(selection, "not");
	int status;

	if (!negates && !is_token(selection, "("))
		return parse_word(selection, value);
	if (selection->nesting++ == NESTING_MAX)
		return hq_error_set(selection->error, "it is nested too deeply");
	if (negates) {
		status = next_token(selection);
		if (!status)
			status = parse_part(selection, value);
		*value = !*value;
	} else {
		status = parse_group(selection, value);
	}
	selection->nesting--;
	return status;
}

static int parse_and(struct selection *selection, bool *value)
{
	int status = parse_part(selection, value);

	while (!status && is_token(selection, "and")) {
		bool right = false;

		status = next_token(selection);
		if (!status)
			status = parse_part(selection, &right);
		*value = *value && right;
	}
	return status;
}

static int parse_or(struct selection *selection, bool *value)
{
	int status = parse_and(selection, value);

	while (!status && (is_token(selection, "or") || is_token(selection, ","))) {
		bool right = false;

		status = next_token(selection);
		if (!status)
			status = parse_and(selection, &right);
		*value = *value || right;
	}
	return status;
}

int hq_select(const char *expression, enum hq_select_kind kind, const char *text, bool *matches,
	      struct hq_error *error)
{
	struct hq_error why;
	struct selection selection = {
		.at = expression,
		.kind = kind,
		.text = text,
		.error = &why,
	};
	int status = next_token(&selection);

	*matches = false;
	if (!status)
		status = parse_or(&selection, matches);
	if (!status && selection.token[0])
		status = hq_error_set(&why, "'%s' stands where 'and' or 'or' was expected",
				      selection.token);
	if (status)
		hq_error_set(error, "'%.200s': %.250s", expression, why.text);
	return status;
}
