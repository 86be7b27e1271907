/* SPDX-License-Identifier: MIT */
/*
 * The kernel's counters of a real child: peak since the start and not before it, lazily freed
 * memory at a quiet point, and the sums of wait4.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <sys/mman.h>

#include "injectors/tests/child.h"
#include "injectors/units.h"
#include "stress/observe/usage.h"

#define MEMORY (16 * HQ_MIB)
/* VmHWM is kept in batches per CPU: low by up to 32 pages a CPU and counter. */
#define TOLERANCE (4 * HQ_MIB)

static struct hq_observations seen;
static struct child child;

/* Touches and gives back MEMORY, each time it is told to. */
static int breathe(struct child *self, void *cookie)
{
	(void)cookie;
	while (child_hear(self)) {
		char *memory = child_touch(MEMORY);

		if (!memory)
			return 1;
		munmap(memory, MEMORY);
		child_say(self);
	}
	return 0;
}

static void breathe_once(void)
{
	child_say(&child);
	cr_assert(child_hear(&child));
}

Test(usage, the_peak_counts_from_the_start, .timeout = 60)
{
	child_start(&child, breathe, NULL);
	breathe_once();
	hq_usage_start(child.pid, &seen);
	hq_usage_update(child.pid, &seen);
	cr_expect_gt(seen.rss_start_bytes, 0);
	cr_expect_lt(seen.rss_peak_bytes, seen.rss_start_bytes + MEMORY / 2,
		     "what was before the start does not count");
	breathe_once();
	hq_usage_update(child.pid, &seen);
	cr_expect_gt(seen.rss_peak_bytes, seen.rss_start_bytes + MEMORY - TOLERANCE);
	child_kill(&child);
}

/* Holds MEMORY, half of it lazily freed. */
static int hold_lazily(struct child *self, void *cookie)
{
	char *memory = child_touch(MEMORY);

	(void)cookie;
	if (!memory || madvise(memory, MEMORY / 2, MADV_FREE))
		return 1;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(usage, a_quiet_reading_tells_lazily_freed_memory, .timeout = 60)
{
	child_start(&child, hold_lazily, NULL);
	cr_assert(child_hear(&child));
	hq_usage_quiet(child.pid, HQ_QUIET_IDLE, 123, &seen);
	child_kill(&child);
	cr_assert_eq(seen.quiet_count, 1);
	cr_expect_eq(seen.quiet[0].time_ns, 123);
	cr_expect_eq(seen.quiet[0].point, HQ_QUIET_IDLE);
	cr_expect_geq(seen.quiet[0].space.mapped_bytes, MEMORY);
	cr_expect_gt(seen.quiet[0].rss_bytes, MEMORY / 2);
	if (seen.quiet[0].rss_bytes < MEMORY)
		cr_skip_test("the machine reclaimed lazily freed memory at once");
	cr_expect_gt(seen.quiet[0].lazyfree_bytes, MEMORY / 4);
	cr_expect_leq(seen.quiet[0].lazyfree_bytes, MEMORY / 2);
}

Test(usage, quiet_readings_beyond_the_room_are_left_out)
{
	for (int i = 0; i < HQ_QUIET_MAX + 3; i++)
		hq_usage_quiet(getpid(), HQ_QUIET_IDLE, (uint64_t)i, &seen);
	cr_expect_eq(seen.quiet_count, HQ_QUIET_MAX);
}

Test(usage, a_target_that_is_gone_changes_nothing)
{
	child_start(&child, breathe, NULL);
	child_kill(&child);
	hq_usage_start(child.pid, &seen);
	hq_usage_update(child.pid, &seen);
	hq_usage_quiet(child.pid, HQ_QUIET_IDLE, 1, &seen);
	cr_expect_eq(seen.rss_start_bytes, 0);
	cr_expect_eq(seen.rss_peak_bytes, 0);
	cr_expect_eq(seen.quiet_count, 0);
}

Test(usage, faults_and_switches_come_from_wait4, .timeout = 60)
{
	struct rusage rusage;
	int status;

	child_start(&child, breathe, NULL);
	breathe_once();
	kill(child.pid, SIGKILL);
	cr_assert_eq(wait4(child.pid, &status, 0, &rusage), child.pid);
	cr_expect_not(seen.has_usage);
	hq_usage_finish(&rusage, &seen);
	cr_expect(seen.has_usage);
	cr_expect_geq(seen.minor_faults, MEMORY / (uint64_t)sysconf(_SC_PAGESIZE) / 2);
	cr_expect_geq(seen.voluntary_switches, 1);
	cr_expect_gt(seen.user_ns + seen.system_ns, 0);
}
