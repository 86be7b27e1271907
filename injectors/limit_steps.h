/* SPDX-License-Identifier: MIT */
/*
 * A limit that moves: "64MiB@300ms,80MiB@1s" sets it to 64 MiB 300 ms after the start, and to
 * 80 MiB after a second.
 */
#ifndef HQ_INJECTORS_LIMIT_STEPS_H
#define HQ_INJECTORS_LIMIT_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

#define HQ_LIMIT_STEPS_MAX 8

struct hq_limit_step {
	uint64_t bytes;
	uint64_t at_ns; /* after the start; each later than the one before */
};

struct hq_limit_steps {
	struct hq_limit_step list[HQ_LIMIT_STEPS_MAX];
	size_t count;
};

/* "none" is no step. 0, or -EINVAL with a sentence. */
int hq_limit_steps_parse(const char *text, struct hq_limit_steps *steps, struct hq_error *error);

/* How many steps are due that long after the start. */
size_t hq_limit_steps_due(const struct hq_limit_steps *steps, uint64_t since_start_ns);

#endif
