/* SPDX-License-Identifier: MIT */
/*
 * Lists of strings, NULL-terminated as exec wants them, and the splitting of a command line into
 * one.
 */
#ifndef HQ_STRESS_PLAN_WORDS_H
#define HQ_STRESS_PLAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "injectors/error.h"

/* Appends a copy of `text`; *words may be NULL. 0 or -ENOMEM, the list unchanged. */
int hq_words_add(char ***words, const char *text);

/* A copy of the list; a NULL list copies to NULL. 0 or -ENOMEM. */
int hq_words_copy(char *const *words, char ***copy);

void hq_words_free(char **words);
bool hq_words_have(char *const *words, const char *text);
size_t hq_words_count(char *const *words);

/*
 * Splits as a shell would, without any expansion: blanks separate, '...' "..." and \ quote.
 * 0, -EINVAL (a quote is not closed) or -ENOMEM, with a sentence.
 */
int hq_words_split(const char *text, char ***words, struct hq_error *error);

/* Writes the words quoted so that a shell reads them back; cut short with "..." when they are too
 * long. */
const char *hq_words_quote(char *const *words, char *text, size_t size);

/* Splits at one of `separators`, leaving out empty parts. 0 or -ENOMEM. */
int hq_words_split_at(const char *text, const char *separators, char ***words);

#endif
