/* SPDX-License-Identifier: MIT */
/*
 * What rule.c, rule_print.c and names.c share: the lists behind the names in rule.h, for
 * suggestions after a typing error, and the name that a rule gets by default.
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

/* "madvise-EAGAIN", "brk-mmap-ENOMEM", "4-calls-delay". */
void hq_rule_make_name(const struct hq_rule *rule, char name[HQ_RULE_NAME_SIZE]);

#define HQ_RULE_TWO_TO_64 18446744073709551616.0 /* a probability of 1, in units of the field */

#endif
