/* SPDX-License-Identifier: MIT */
/* cpu-identity: arenas that exist, arenas that do not, and allocators that do not say. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

static struct hq_event beyond = {
	.kind = HQ_EVENT_ARENA, .expected = 2, .got = 7, .time_ns = GATE_NS + HQ_MS
};

Test(cpu_identity, arenas_below_the_count_are_good)
{
	struct hq_observations seen = observed_good();

	seen.arena_looks = 50;
	cr_assert_eq(observed_check("cpu-identity", &seen).count, 0);
}

Test(cpu_identity, arena_beyond_the_count_is_a_finding_with_both_numbers)
{
	struct hq_observations seen = observed_good();

	seen.arena_looks = 50;
	seen.events = &beyond;
	seen.event_count = 1;
	const struct hq_findings found = observed_check("cpu-identity", &seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].evidence, "arena 7, and the allocator says it has 2"), "%s",
		  found.list[0].evidence);
}

Test(cpu_identity, allocator_that_does_not_say_is_a_gap)
{
	const struct hq_observations seen = observed_good();
	const struct hq_findings found = observed_check("cpu-identity", &seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
}
