/* SPDX-License-Identifier: MIT */
/*
 * The lists behind the names in rule.h, for suggestions after a typing error.
 */
#ifndef HQ_INJECTORS_NAMES_H
#define HQ_INJECTORS_NAMES_H

#include <stddef.h>

#include "injectors/rule.h"

extern const char *const hq_call_names[];   /* NULL-terminated */
extern const char *const hq_advice_words[]; /* without MADV_; NULL-terminated */

#define HQ_ERRNO_WORDS 64 /* room that hq_errno_words needs at most */
/* Fills in a NULL-terminated list of errno names and returns their number. */
size_t hq_errno_words(const char **words, size_t room);

#endif
