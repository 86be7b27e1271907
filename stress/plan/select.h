/* SPDX-License-Identifier: MIT */
/*
 * The expressions of -k and --tags:
 *
 *   EXPR = TERM { ('or' | ',') TERM }
 *   TERM = PART { 'and' PART }
 *   PART = 'not' PART | '(' EXPR ')' | word
 *
 * A word is true for -k if it is part of the name, upper and lower case alike, and for --tags if it
 * is one of the tags.
 */
#ifndef HQ_STRESS_PLAN_SELECT_H
#define HQ_STRESS_PLAN_SELECT_H

#include <stdbool.h>

#include "injectors/error.h"

enum hq_select_kind { HQ_SELECT_PART_OF_NAME, HQ_SELECT_TAG };

/* 0 with *matches, or -EINVAL with a sentence. `text` is the name, or the tags with blanks between.
 */
int hq_select(const char *expression, enum hq_select_kind kind, const char *text, bool *matches,
	      struct hq_error *error);

#endif
