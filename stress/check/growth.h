/* SPDX-License-Identifier: MIT */
/*
 * Growth in steady state: what was mapped or resident in the last quarter of the work against its
 * second quarter. The first quarter is for warming up. Maxima are compared, so that a decay that
 * happens to fall into one of the two does not look like growth.
 */
#ifndef HQ_STRESS_CHECK_GROWTH_H
#define HQ_STRESS_CHECK_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

#include "stress/check/check.h"

struct hq_growth {
	uint64_t early; /* most in the second quarter */
	uint64_t late;  /* most in the last one */
};

/* A member of struct hq_space by its offset. False: the work was too short to be read in both. */
bool hq_growth_space(const struct hq_observations *observations, size_t member,
		     struct hq_growth *growth);

/* Resident memory, from the samples. */
bool hq_growth_resident(const struct hq_observations *observations, struct hq_growth *growth);

#endif
