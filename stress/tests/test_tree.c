/* SPDX-License-Identifier: MIT */
/* Resident memory of a real family of processes. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "injectors/tests/child.h"
#include "injectors/units.h"
#include "stress/observe/tree.h"

#define MEMORY (16 * HQ_MIB)
/* Counters of the kernel are kept in batches per CPU; stacks and the C library's data besides. */
#define TOLERANCE (6 * HQ_MIB)

static struct hq_observations seen;
static struct child child;

/* Holds MEMORY until it is told to end. */
static int hold(struct child *self, void *cookie)
{
	(void)cookie;
	if (!child_touch(MEMORY))
		return 1;
	child_say(self);
	child_hear(self);
	return 0;
}

/* The same, with a child of its own, that ends when it is told to for the first time. */
static int hold_with_child(struct child *self, void *cookie)
{
	struct child own;

	(void)cookie;
	if (!child_touch(MEMORY))
		return 1;
	child_start(&own, hold, NULL);
	if (!child_hear(&own))
		return 1;
	child_say(self);
	child_hear(self);
	child_say(&own);
	waitpid(own.pid, NULL, 0);
	child_say(self);
	child_hear(self);
	return 0;
}

Test(tree, a_program_alone_is_its_own_memory, .timeout = 60)
{
	child_start(&child, hold, NULL);
	cr_assert(child_hear(&child));
	const uint64_t bytes = hq_tree_read_bytes(child.pid);

	child_kill(&child);
	cr_expect_gt(bytes, MEMORY - TOLERANCE);
	cr_expect_lt(bytes, MEMORY + TOLERANCE);
}

Test(tree, a_child_counts_and_what_it_shares_counts_once, .timeout = 60)
{
	child_start(&child, hold_with_child, NULL);
	cr_assert(child_hear(&child));
	const uint64_t bytes = hq_tree_read_bytes(child.pid);

	child_kill(&child);
	cr_expect_gt(bytes, 2 * MEMORY - TOLERANCE);
	cr_expect_lt(bytes, 2 * MEMORY + TOLERANCE);
}

Test(tree, the_peak_stays_when_a_child_has_ended, .timeout = 60)
{
	struct hq_tree_pace pace = { 0 };

	child_start(&child, hold_with_child, NULL);
	cr_assert(child_hear(&child));
	hq_tree_follow(child.pid, 1, &pace, &seen);
	child_say(&child);
	cr_assert(child_hear(&child));
	hq_tree_follow(child.pid, pace.due_ns, &pace, &seen);
	cr_expect_lt(hq_tree_read_bytes(child.pid), MEMORY + TOLERANCE);
	child_kill(&child);
	cr_expect_gt(seen.tree_peak_bytes, 2 * MEMORY - TOLERANCE);
}

Test(tree, nothing_is_read_before_it_is_due, .timeout = 60)
{
	struct hq_tree_pace pace = { 0 };

	child_start(&child, hold, NULL);
	cr_assert(child_hear(&child));
	hq_tree_follow(child.pid, 0, &pace, &seen);
	cr_expect_gt(seen.tree_peak_bytes, 0);
	seen.tree_peak_bytes = 0;
	hq_tree_follow(child.pid, pace.due_ns - 1, &pace, &seen);
	child_kill(&child);
	cr_expect_eq(seen.tree_peak_bytes, 0);
	cr_expect_geq(pace.due_ns, 10 * HQ_MS);
}

Test(tree, a_program_that_is_gone_holds_nothing, .timeout = 60)
{
	child_start(&child, hold, NULL);
	child_kill(&child);
	cr_expect_eq(hq_tree_read_bytes(child.pid), 0);
}
