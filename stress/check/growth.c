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

/* The most of the values at times from one to the other. */
struct window {
	uint64_t from_ns, to_ns;
	uint64_t most;
	bool found;
};

static void look(struct window *window, uint64_t time_ns, uint64_t value)
{
	if (time_ns < window->from_ns || time_ns > window->to_ns)
		return;
	window->found = true;
	window->most = value > window->most ? value : window->most;
}

static struct window second_quarter(const struct hq_observations *observations)
{
	return (struct window){ .from_ns = observations->worked_ns / 4,
				.to_ns = observations->worked_ns / 2 };
}

static struct window last_quarter(const struct hq_observations *observations)
{
	return (struct window){ .from_ns = observations->worked_ns / 4 * 3,
				.to_ns = observations->worked_ns };
}

static bool compare(const struct window *early, const struct window *late, struct hq_growth *growth)
{
	*growth = (struct hq_growth){ .early = early->most, .late = late->most };
	return early->found && late->found;
}

bool hq_growth_space(const struct hq_observations *observations, size_t member,
		     struct hq_growth *growth)
{
	struct window early = second_quarter(observations), late = last_quarter(observations);

	for (size_t i = 0; i < observations->space_count; i++) {
		const struct hq_space_sample *const sample = &observations->spaces[i];
		const uint64_t value = member_of(&sample->space, member);

		look(&early, sample->time_ns, value);
		look(&late, sample->time_ns, value);
	}
	return compare(&early, &late, growth);
}

bool hq_growth_resident(const struct hq_observations *observations, struct hq_growth *growth)
{
	struct window early = second_quarter(observations), late = last_quarter(observations);

	for (size_t i = 0; i < observations->sample_count; i++) {
		const struct hq_sample *const sample = &observations->samples[i];

		look(&early, sample->time_ns, sample->rss_bytes);
		look(&late, sample->time_ns, sample->rss_bytes);
	}
	return compare(&early, &late, growth);
}
