/* SPDX-License-Identifier: MIT */
/*
 * Observations with a series of what is mapped: 1 s of work read every 100 ms, in which mapped
 * memory, address space and mappings grow evenly from one value to another.
 */
#ifndef HQ_STRESS_TESTS_OBSERVED_SPACE_H
#define HQ_STRESS_TESTS_OBSERVED_SPACE_H

#include "stress/tests/observed.h"

static inline struct hq_space observed_space_between(struct hq_space from, struct hq_space to,
						     uint64_t tenths)
{
	return (struct hq_space){
		.mapped_bytes =
			from.mapped_bytes + (to.mapped_bytes - from.mapped_bytes) * tenths / 10,
		.space_bytes = from.space_bytes + (to.space_bytes - from.space_bytes) * tenths / 10,
		.mappings = from.mappings + (to.mappings - from.mappings) * tenths / 10,
		.threads = to.threads,
	};
}

static inline struct hq_observations observed_growth(struct hq_space from, struct hq_space to)
{
	struct hq_observations seen = observed_good();

	for (uint64_t i = 0; i <= 10; i++)
		seen.spaces[i] =
			(struct hq_space_sample){ .time_ns = i * 100 * HQ_MS,
						  .space = observed_space_between(from, to, i) };
	seen.space_count = 11;
	seen.space_start = from;
	seen.space_peak = seen.space_end = to;
	return seen;
}

#endif
