/* SPDX-License-Identifier: MIT */
/*
 * Which checkers look at a run, and with which options. The words of a contract are read here, so
 * that scenario files, the command line and tests write them alike.
 */
#include "stress/check/asked.h"

#include <stdio.h>
#include <string.h>

#define CHECKERS_MAX 96 /* for suggestions */
#define WORD_SIZE    256

static const struct hq_checker *refuse_name(const char *word, struct hq_error *error)
{
	const char *names[CHECKERS_MAX + 1];
	size_t count = 0;

	for (; hq_checkers[count] && count < CHECKERS_MAX; count++)
		names[count] = hq_checkers[count]->name;
	names[count] = NULL;
	const char *near = hq_suggest(word, names);

	if (near)
		hq_error_set(error, "unknown contract '%s'; did you mean '%s'?", word, near);
	else
		hq_error_set(error, "unknown contract '%s'; see heapquake list checkers", word);
	return NULL;
}

const struct hq_checker *hq_checker_find(const char *name, size_t length, struct hq_error *error)
{
	char word[WORD_SIZE];

	for (size_t i = 0; hq_checkers[i]; i++) {
		if (strlen(hq_checkers[i]->name) == length &&
		    memcmp(hq_checkers[i]->name, name, length) == 0)
			return hq_checkers[i];
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	return refuse_name(word, error);
}

const struct hq_option *hq_checker_options(const struct hq_checker *checker)
{
	static const struct hq_option none[] = { { .name = NULL } };

	return checker->options ? checker->options : none;
}

int hq_asked_init(struct hq_asked *asked, const struct hq_checker *checker, struct hq_error *error)
{
	*asked = (struct hq_asked){ .checker = checker };
	return hq_options_default(hq_checker_options(checker), asked->options, error);
}

static int set_word(struct hq_asked *asked, char *word, struct hq_error *error)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	return hq_options_set(hq_checker_options(asked->checker), asked->options, word,
			      value ? value : "true", error);
}

int hq_asked_set(struct hq_asked *asked, const char *words, struct hq_error *error)
{
	char word[WORD_SIZE];

	while (*words) {
		const size_t length = strcspn(words, ":");

		if (length >= sizeof(word))
			return hq_error_set(error, "'%.32s...' is too long; write key=value",
					    words);
		memcpy(word, words, length);
		word[length] = '\0';
		const int status = set_word(asked, word, error);

		if (status)
			return status;
		words += length;
		words += *words == ':';
	}
	return 0;
}

uint64_t hq_asked_idle_ns(const struct hq_asked *asked)
{
	return asked->checker->idle_ns ? asked->checker->idle_ns(asked->options) : 0;
}

uint32_t hq_asked_takes(const struct hq_asked *asked, size_t count)
{
	uint32_t takes = 0;

	for (size_t i = 0; i < count; i++)
		takes |= asked[i].checker->takes;
	return takes;
}

static const struct hq_asked *find(const struct hq_asked *asked, size_t count,
				   const struct hq_checker *checker)
{
	for (size_t i = 0; i < count; i++) {
		if (asked[i].checker == checker)
			return &asked[i];
	}
	return NULL;
}

void hq_asked_check(const struct hq_asked *asked, size_t count, bool is_clean,
		    const struct hq_observations *observations, struct hq_findings *findings)
{
	for (size_t i = 0; hq_checkers[i]; i++) {
		const struct hq_checker *checker = hq_checkers[i];
		const struct hq_asked *one = find(asked, count, checker);
		struct hq_asked defaults;
		struct hq_error ignored;

		if ((!one && checker->on_request) || (is_clean && checker->needs_faults))
			continue;
		/* Fallbacks that do not parse are what the test of the table looks for. */
		if (!one && hq_asked_init(&defaults, checker, &ignored) == 0)
			one = &defaults;
		if (one)
			checker->check(observations, checker->options ? one->options : NULL,
				       findings);
	}
}
