/* SPDX-License-Identifier: MIT */
/* What a run would leave behind, left behind on purpose and by an injector of this test. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "injectors/cgroup.h"
#include "injectors/injector.h"
#include "injectors/tests/child.h"
#include "stress/observe/residue.h"

static struct hq_residue_mark mark;
static struct hq_observations seen;

TestSuite(residue, .timeout = 60);

static int stay(struct child *self, void *cookie)
{
	(void)cookie;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(residue, nothing_done_leaves_nothing)
{
	hq_residue_mark(&mark);
	hq_residue_compare(&mark, &seen);
	cr_assert(seen.residue.known);
	cr_expect_eq(seen.residue.left.processes, 0);
	cr_expect_eq(seen.residue.left.threads, 0);
	cr_expect_eq(seen.residue.left.descriptors, 0);
	cr_expect_eq(seen.residue.left.groups, 0);
	cr_expect_not(seen.residue.affinity || seen.residue.limits);
}

Test(residue, a_process_and_its_descriptor_are_counted)
{
	struct child child;

	hq_residue_mark(&mark);
	child_start(&child, stay, NULL);
	cr_assert(child_hear(&child));
	hq_residue_compare(&mark, &seen);
	child_kill(&child);
	cr_expect_eq(seen.residue.left.processes, 1);
	cr_expect_eq(seen.residue.left.descriptors, 1);
}

static void *sleep_for_long(void *unused)
{
	sleep(60);
	return unused;
}

Test(residue, a_thread_that_was_not_joined_is_counted)
{
	pthread_t thread;

	hq_residue_mark(&mark);
	cr_assert_eq(pthread_create(&thread, NULL, sleep_for_long, NULL), 0);
	hq_residue_compare(&mark, &seen);
	cr_expect_eq(seen.residue.left.threads, 1);
}

/* An injector that puts nothing back, as none of ours may be. */
static int confine(struct hq_injector_run *run)
{
	struct rlimit limit;
	cpu_set_t one;

	(void)run;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_cur == 0 ? 0 : limit.rlim_cur - 1;
	setrlimit(RLIMIT_CORE, &limit);
	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur -= 4096;
	setrlimit(RLIMIT_STACK, &limit);
	return sched_setaffinity(0, sizeof(one), &one);
}

static const struct hq_injector careless = { .name = "careless", .start = confine };

Test(residue, what_a_careless_injector_changed_is_told)
{
	cpu_set_t allowed;

	cr_assert_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	hq_residue_mark(&mark);
	cr_assert_eq(careless.start(NULL), 0);
	hq_residue_compare(&mark, &seen);
	cr_expect(seen.residue.limits);
	cr_expect_eq(seen.residue.affinity, CPU_COUNT(&allowed) > 1);
}

Test(residue, a_group_that_was_not_removed_is_counted)
{
	struct hq_cgroup group;
	struct hq_error reason = { "" };

	hq_residue_mark(&mark);
	if (hq_cgroup_create(&group, HQ_CGROUP_V2, &reason) &&
	    hq_cgroup_create(&group, HQ_CGROUP_V1, &reason))
		cr_skip_test("%s", reason.text);
	hq_residue_compare(&mark, &seen);
	hq_cgroup_destroy(&group);
	cr_expect_eq(seen.residue.left.groups, 1);
}
