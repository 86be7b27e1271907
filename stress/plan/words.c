/* SPDX-License-Identifier: MIT */
/*
 * Lists of strings. They are short (arguments, tags, allocators), so each addition reallocates.
 */
#include "stress/plan/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t hq_words_count(char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

bool hq_words_have(char *const *words, const char *text)
{
	for (size_t i = 0; words && words[i]; i++) {
		if (strcmp(words[i], text) == 0)
			return true;
	}
	return false;
}

int hq_words_add(char ***words, const char *text)
{
	const size_t count = hq_words_count(*words);
	char *copy = strdup(text);
	char **grown = copy ? reallocarray(*words, count + 2, sizeof(*grown)) : NULL;

	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	grown[count] = copy;
	grown[count + 1] = NULL;
	*words = grown;
	return 0;
}

int hq_words_copy(char *const *words, char ***copy)
{
	*copy = NULL;
	for (size_t i = 0; words && words[i]; i++) {
		if (hq_words_add(copy, words[i])) {
			hq_words_free(*copy);
			*copy = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

void hq_words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

struct splitter {
	const char *at;
	char *word; /* room for the whole text */
	size_t length;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The rest of a quoted part; false if it is not closed. */
static bool take_quoted(struct splitter *splitter, char quote)
{
	for (; *splitter->at; splitter->at++) {
		if (*splitter->at == quote) {
			splitter->at++;
			return true;
		}
		if (quote == '"' && *splitter->at == '\\' &&
		    (splitter->at[1] == '"' || splitter->at[1] == '\\'))
			splitter->at++;
		splitter->word[splitter->length++] = *splitter->at;
	}
	return false;
}

/* One word, which begins at a character that is no blank. */
static int take_word(struct splitter *splitter, struct hq_error *error)
{
	splitter->length = 0;
	while (*splitter->at && !is_blank(*splitter->at)) {
		const char c = *splitter->at++;

		if (c == '\'' || c == '"') {
			if (!take_quoted(splitter, c))
				return hq_error_set(error, "the quote %c is not closed", c);
			continue;
		}
		if (c == '\\' && *splitter->at == '\0')
			return hq_error_set(error, "nothing follows the last backslash");
		splitter->word[splitter->length++] = c == '\\' ? *splitter->at++ : c;
	}
	splitter->word[splitter->length] = '\0';
	return 0;
}

static int take_words(struct splitter *splitter, char ***words, struct hq_error *error)
{
	int status = 0;

	while (!status) {
		while (is_blank(*splitter->at))
			splitter->at++;
		if (*splitter->at == '\0')
			return 0;
		status = take_word(splitter, error);
		if (!status && hq_words_add(words, splitter->word)) {
			hq_error_set(error, "out of memory");
			status = -ENOMEM;
		}
	}
	return status;
}

int hq_words_split(const char *text, char ***words, struct hq_error *error)
{
	struct splitter splitter = { .at = text, .word = malloc(strlen(text) + 1) };
	int status;

	*words = NULL;
	if (!splitter.word) {
		hq_error_set(error, "out of memory");
		return -ENOMEM;
	}
	status = take_words(&splitter, words, error);
	free(splitter.word);
	if (status) {
		hq_words_free(*words);
		*words = NULL;
	}
	return status;
}

int hq_words_split_at(const char *text, const char *separators, char ***words)
{
	char *copy = strdup(text);
	char *rest = copy, *part;
	int status = copy ? 0 : -ENOMEM;

	*words = NULL;
	while (!status && (part = strsep(&rest, separators))) {
		if (*part)
			status = hq_words_add(words, part);
	}
	free(copy);
	if (status) {
		hq_words_free(*words);
		*words = NULL;
	}
	return status;
}

static bool needs_quotes(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_{}";

	return word[0] == '\0' || word[strspn(word, plain)] != '\0';
}

static void quote_word(const char *word, FILE *stream)
{
	if (!needs_quotes(word)) {
		fputs(word, stream);
		return;
	}
	fputc('\'', stream);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stream);
		else
			fputc(*word, stream);
	}
	fputc('\'', stream);
}

const char *hq_words_quote(char *const *words, char *text, size_t size)
{
	char *whole = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&whole, &length);

	text[0] = '\0';
	if (!stream)
		return text;
	for (size_t i = 0; words && words[i]; i++) {
		if (i > 0)
			fputc(' ', stream);
		quote_word(words[i], stream);
	}
	if (fclose(stream) == 0)
		snprintf(text, size, "%s", whole);
	if (length >= size && size > 4)
		strcpy(text + size - 4, "...");
	free(whole);
	return text;
}
