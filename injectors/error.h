/* SPDX-License-Identifier: MIT */
/*
 * One error, as a sentence. Functions that can fail for a reason a person must read take a
 * `struct hq_error *`, fill it once, and return -errno; the caller prefixes position and program.
 */
#ifndef HQ_INJECTORS_ERROR_H
#define HQ_INJECTORS_ERROR_H

struct hq_error {
	char text[512];
};

/* Writes the sentence (truncating) and returns -EINVAL, so that `return hq_error_set(...)` reads
 * well. */
__attribute__((format(printf, 2, 3))) int hq_error_set(struct hq_error *error, const char *format,
						       ...);

/*
 * The entry of the NULL-terminated list that is nearest to `word` by edit distance, or NULL when
 * none is near enough to be a likely typing error.
 */
const char *hq_suggest(const char *word, const char *const *list);

#endif
