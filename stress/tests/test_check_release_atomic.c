/* SPDX-License-Identifier: MIT */
/* release-atomic: what is still resident of the ranges that the kernel refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "stress/tests/observed.h"

#define CONTRACT "release-atomic:keep=10%:slack=1MiB:within=1s"

/* 40 MiB in four ranges were refused: 5 MiB may be resident in the end. */
static struct hq_observations observed_refusals(uint64_t resident_bytes)
{
	struct hq_observations seen = observed_good();

	strcpy(seen.rules[0].name, "refuse");
	seen.rules[0].required = 1;
	seen.rules[0].fired = 7;
	seen.rule_count = 1;
	seen.quiet[0] = (struct hq_quiet){ .time_ns = 2600 * HQ_MS, .rss_bytes = 50 * HQ_MIB };
	seen.quiet_count = 1;
	seen.refused = (struct hq_refused){
		.was_read = true,
		.calls = 7,
		.ranges = 4,
		.bytes = 40 * HQ_MIB,
		.resident_bytes = resident_bytes,
		.worst = { { .address = 0x7f0000,
			     .bytes = 10 * HQ_MIB,
			     .resident_bytes = resident_bytes,
			     .last_ns = GATE_NS + 700 * HQ_MS,
			     .call = HQ_CALL_MUNMAP } },
	};
	return seen;
}

Test(release_atomic, ranges_that_are_used_purged_or_unmapped_are_good)
{
	const struct hq_observations seen = observed_refusals(5 * HQ_MIB);

	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(release_atomic, ranges_that_stay_resident_are_a_finding_that_names_them)
{
	const struct hq_observations seen = observed_refusals(6 * HQ_MIB);
	const struct hq_findings found = observed_check(CONTRACT, &seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "6 MiB of 40 MiB still resident, 5 MiB allowed"), "%s",
		  found.list[0].text);
	cr_assert(strstr(found.list[0].evidence,
			 "0x7f0000, 10 MiB: last refused +700 ms (munmap), 6 MiB still resident"),
		  "%s", found.list[0].evidence);
}

Test(release_atomic, lazily_free_memory_is_taken_off)
{
	struct hq_observations seen = observed_refusals(30 * HQ_MIB);

	seen.quiet[0].lazyfree_bytes = 25 * HQ_MIB;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 0);
}

Test(release_atomic, nothing_refused_is_a_gap)
{
	struct hq_observations seen = observed_refusals(0);

	seen.refused.calls = 0;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen.rule_count = 0;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(release_atomic, nothing_refused_by_an_optional_rule_is_a_gap_all_the_same)
{
	struct hq_observations seen = observed_refusals(0);

	seen.refused.calls = 0;
	seen.rules[0].required = 0;
	cr_assert_eq(observed_check(CONTRACT, &seen).count, 1);
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(release_atomic, what_was_not_looked_at_is_a_gap)
{
	struct hq_observations seen = observed_refusals(0);

	seen.refused.was_read = false;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen = observed_refusals(0);
	seen.refused.bytes_unread = 4096;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen = observed_refusals(0);
	seen.faults_dropped = 1;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
	seen = observed_refusals(0);
	seen.quiet_count = 0;
	cr_assert(observed_check(CONTRACT, &seen).list[0].gap);
}

Test(release_atomic, what_was_seen_to_stay_is_a_finding_all_the_same)
{
	struct hq_observations seen = observed_refusals(30 * HQ_MIB);

	seen.refused.bytes_unread = 4096;
	cr_assert_not(observed_check(CONTRACT, &seen).list[0].gap);
}
