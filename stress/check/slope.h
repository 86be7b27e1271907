/* SPDX-License-Identifier: MIT */
/*
 * How fast resident memory rises, by a line that no few wild samples can turn. Private to
 * stress/check.
 */
#ifndef HQ_STRESS_CHECK_SLOPE_H
#define HQ_STRESS_CHECK_SLOPE_H

#include "stress/check/check.h"

/* Resident memory over the second half of the work. */
struct hq_slope {
	double bytes_per_second;
	double median_bytes;
	uint64_t span_ns; /* from the first sample to the last */
	size_t samples;   /* that were looked at */
};

/* 0; -ENODATA with the reason in `error` when there are too few samples. */
int hq_slope_measure(const struct hq_observations *observations, struct hq_slope *slope,
		     struct hq_error *error);

#endif
