/* SPDX-License-Identifier: MIT */
/*
 * Sentences for people, and the guess at what a mistyped word was meant to be.
 *
 * Nothing here knows where an error is shown; the caller adds file, line and program.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "injectors/error.h"

/* Longer words are no typing errors of our keys, and the bound keeps the table on the stack. */
#define WORD_MAX 48

int hq_error_set(struct hq_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * Edit distance in which a swap of neighbours counts once (Damerau-Levenshtein, each pair swapped
 * at most once), since "trheads" is one slip of the fingers and not two. Upper and lower case are
 * equal.
 */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned rows[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_length; i++)
		rows[i][0] = (unsigned)i;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		for (size_t j = 1; j <= b_length; j++) {
			const unsigned differs = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
			unsigned best = least(rows[i - 1][j], rows[i][j - 1]) + 1;

			best = least(best, rows[i - 1][j - 1] + differs);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				best = least(best, rows[i - 2][j - 2] + 1);
			rows[i][j] = best;
		}
	}
	return rows[a_length][b_length];
}

/* One slip in four letters is likely; two letters are no help in guessing ("on" is not "no"). */
static unsigned likely_slips(size_t length)
{
	return length < 3 ? 0 : 1 + (unsigned)length / 4;
}

const char *hq_suggest(const char *word, const char *const *list)
{
	const size_t length = strlen(word);
	unsigned best = likely_slips(length) + 1;
	const char *nearest = NULL;

	if (length > WORD_MAX)
		return NULL;
	for (; *list; list++) {
		const size_t candidate_length = strlen(*list);

		if (candidate_length > WORD_MAX)
			continue;
		const unsigned distance = edit_distance(word, length, *list, candidate_length);

		/* As many slips as letters would turn any word into any other. */
		if (distance < best && distance < candidate_length) {
			best = distance;
			nearest = *list;
		}
	}
	return nearest;
}
