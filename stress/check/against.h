/* SPDX-License-Identifier: MIT */
/*
 * What a series of runs says of a bound that comes from clean runs. Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_AGAINST_H
#define HQ_STRESS_CHECK_AGAINST_H

#include "stress/check/check.h"

enum hq_answer {
	HQ_ANSWER_OPEN, /* the series overlap too much to say */
	HQ_ANSWER_HOLDS,
	HQ_ANSWER_BROKEN,
};

/* One metric in both kinds of runs. */
struct hq_against {
	const double *values;
	size_t count;
	const double *clean;
	size_t clean_count;
};

/* True for what can be judged so: a comparison with `clean` by order, not by equality. */
bool hq_against_applies(const struct hq_expectation *expectation);

/* *chance: how often so much against the bound would come where nothing is wrong. */
enum hq_answer hq_against_clean(const struct hq_expectation *expectation,
				const struct hq_against *against,
				const struct hq_confidence *confidence, double *chance);

#endif
