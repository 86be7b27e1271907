/* SPDX-License-Identifier: MIT */
/*
 * Contracts as a scenario asks for them: a checker with the values of its options. Checkers that
 * are not `on_request` hold always; a scenario may still set their options.
 */
#ifndef HQ_STRESS_CHECK_ASKED_H
#define HQ_STRESS_CHECK_ASKED_H

#include "stress/check/check.h"

#define HQ_CHECK_OPTIONS_MAX 256 /* no checker's option struct is larger */

struct hq_asked {
	const struct hq_checker *checker;
	_Alignas(16) unsigned char options[HQ_CHECK_OPTIONS_MAX];
};

/* The checker whose name is the first `length` characters; NULL with a sentence: there is none. */
const struct hq_checker *hq_checker_find(const char *name, size_t length, struct hq_error *error);

/* The table of its options; one without entries for a checker that has none. */
const struct hq_option *hq_checker_options(const struct hq_checker *checker);

/* Asks for a checker with its defaults. 0 or -EINVAL. */
int hq_asked_init(struct hq_asked *asked, const struct hq_checker *checker, struct hq_error *error);

/* Sets options from "key=value{:key=value}"; "" sets none. 0 or -EINVAL with a sentence. */
int hq_asked_set(struct hq_asked *asked, const char *words, struct hq_error *error);

/* How long the target must be left idle for it. */
uint64_t hq_asked_idle_ns(const struct hq_asked *asked);

/* What the host has to do for all of them: enum hq_takes. */
uint32_t hq_asked_takes(const struct hq_asked *asked, size_t count);

/*
 * One run before all checkers: those in `asked` with these options, the others with their defaults
 * unless they run on request only. A clean run has no faults by intent, so those that need some do
 * not look at it.
 */
void hq_asked_check(const struct hq_asked *asked, size_t count, bool is_clean,
		    const struct hq_observations *observations, struct hq_findings *findings);

#endif
