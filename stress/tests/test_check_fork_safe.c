/* SPDX-License-Identifier: MIT */
/* fork-safe: children that ended well, and each kind of trouble in words. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "stress/tests/observed.h"

static void expect_words(struct hq_event event, const char *words)
{
	struct hq_observations seen = observed_good();

	event.kind = HQ_EVENT_FORK;
	event.time_ns = GATE_NS;
	seen.events = &event;
	seen.event_count = 1;
	const struct hq_findings found = observed_check("fork-safe", &seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_expect(strstr(found.list[0].evidence, words), "%s", found.list[0].evidence);
}

Test(fork_safe, children_that_ended_well_are_good)
{
	struct hq_observations seen = observed_good();

	seen.children = 50;
	cr_assert_eq(observed_check("fork-safe", &seen).count, 0);
}

Test(fork_safe, a_run_without_children_is_quiet)
{
	const struct hq_observations seen = observed_good();

	cr_assert_eq(observed_check("fork-safe", &seen).count, 0);
}

Test(fork_safe, a_child_that_hung_is_a_finding)
{
	expect_words((struct hq_event){ .expected = HQ_FORK_HUNG, .got = 7 }, "hung after 7 steps");
}

Test(fork_safe, a_child_that_was_killed_is_a_finding_with_the_signal)
{
	expect_words((struct hq_event){ .expected = HQ_FORK_DIED, .got = SIGSEGV },
		     "killed by SIGSEGV");
	expect_words((struct hq_event){ .expected = HQ_FORK_DIED, .got = 3 << 8 },
		     "wait status 768");
}

Test(fork_safe, changed_data_are_a_finding_with_the_place)
{
	expect_words((struct hq_event){ .expected = HQ_FORK_PARENTS_DATA,
					.address = 0x1000,
					.size = 64,
					.offset = 3,
					.got = 0xee },
		     "its parent's data had changed: block 0x1000 of 64 bytes, offset 3, got 0xee");
	expect_words((struct hq_event){ .expected = HQ_FORK_OWN_DATA }, "its own data had changed");
}
