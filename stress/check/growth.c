/* SPDX-License-Identifier: MIT */
/*
 * Quarters of the work, and the most that was read in each.
 */
#include "stress/check/growth.h"

#include <string.h>

static uint64_t member_of(const struct hq_space *space, size_t member)
{
	uint64_t value;

	memcpy(&value, (const char *)space + member, sizeof(value));
	return value;
}

/* The most among the readings between two times; false without any. */
static bool most_between(const struct hq_observations *observations, size_t member,
			 uint64_t from_ns, uint64_t to_ns, uint64_t *most)
{
	bool found = false;

	*most = 0;
	for (size_t i = 0; i < observations->space_count; i++) {
		const struct hq_space_sample *const sample = &observations->spaces[i];
		const uint64_t value = member_of(&sample->space, member);

		if (sample->time_ns < from_ns || sample->time_ns > to_ns)
			continue;
		found = true;
		*most = value > *most ? value : *most;
	}
	return found;
}

bool hq_growth_space(const struct hq_observations *observations, size_t member,
		     struct hq_growth *growth)
{
	const uint64_t worked_ns = observations->worked_ns;

	return most_between(observations, member, worked_ns / 4, worked_ns / 2, &growth->early) &&
	       most_between(observations, member, worked_ns / 4 * 3, worked_ns, &growth->late);
}
