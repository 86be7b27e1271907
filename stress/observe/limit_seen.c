/* SPDX-License-Identifier: MIT */
/*
 * How a limit of the program's own was kept: what the workers saw of it, put together. What is
 * about all of them is known by each at some moments only, so of that the most counts, or the
 * least; the rest adds up.
 */
#include "stress/observe/limit_seen.h"

static bool is_of_all(enum hq_limit_word word)
{
	switch (word) {
	case HQ_LIMIT_HARD_BYTES:
	case HQ_LIMIT_SOFT_BYTES:
	case HQ_LIMIT_STALE_NS:
	case HQ_LIMIT_PEAK_BYTES:
	case HQ_LIMIT_LEFT_BYTES:
	case HQ_LIMIT_QUIETS:
	case HQ_LIMIT_STEP_NS:
	case HQ_LIMIT_OLDEST_NS:
		return true;
	default:
		return false;
	}
}

/* 0 is no value. */
static uint64_t least_of(uint64_t one, uint64_t other)
{
	if (one == 0 || other == 0)
		return one + other;
	return one < other ? one : other;
}

static void add_word(enum hq_limit_word word, uint64_t value, uint64_t *total)
{
	if (word == HQ_LIMIT_EARLY_BYTES || word == HQ_LIMIT_ROW_CPU_NS)
		*total = least_of(*total, value);
	else if (!is_of_all(word))
		*total += value;
	else if (value > *total)
		*total = value;
}

void hq_limit_total(const struct hq_wire_worker *workers, uint32_t count,
		    struct hq_limit_seen *seen)
{
	*seen = (struct hq_limit_seen){ .workers = 0 };
	for (uint32_t i = 0; i < count; i++) {
		const _Atomic uint64_t *const words = workers[i].limit;
		const uint64_t admitted = hq_load_relaxed(&words[HQ_LIMIT_ADMITTED]);

		if (hq_load_relaxed(&words[HQ_LIMIT_HARD_BYTES]) == 0)
			continue;
		if (seen->workers++ == 0 || admitted < seen->admitted_least)
			seen->admitted_least = admitted;
		for (int word = 0; word < HQ_LIMIT_WORDS; word++)
			add_word((enum hq_limit_word)word, hq_load_relaxed(&words[word]),
				 &seen->words[word]);
	}
}
