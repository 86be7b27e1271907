/* SPDX-License-Identifier: MIT */
/* CPU numbers that a target is given by affinity: what it sees, and what is proved of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>

#include "injectors/proc.h"
#include "injectors/tests/trial.h"

/* Runs until it is killed, since a thread that sleeps proves nothing. */
static int spin_for_a_while(struct child *self, void *cookie)
{
	struct hq_injector_run *run = cookie;

	if (trial.injector->enter && trial.injector->enter(run))
		return 2;
	child_say(self);
	for (;;)
		sched_getcpu();
	return 0;
}

static int count_of(pid_t pid)
{
	cpu_set_t mask;

	cr_assert_eq(sched_getaffinity(pid, sizeof(mask), &mask), 0);
	return CPU_COUNT(&mask);
}

static void run_shape(const char *shape)
{
	choose_or_skip("cpu-numbers", shape);
	prepare();
	start_on(spin_for_a_while);
	tick_for(200);
	stop();
}

static void end(void)
{
	child_kill(&trial.child);
	restore();
}

TestSuite(cpu_numbers, .timeout = 60);

Test(cpu_numbers, gap_leaves_out_the_lowest_number)
{
	run_shape("shape=gap");
	tick_until("fired", 1);
	cr_expect_eq(measured("cpus"), count_of(trial.child.pid));
	cr_expect_geq(measured("highest"), measured("cpus"));
	cr_expect_eq(measured("fired"), 1);
	cr_expect_eq(measured("grown"), 0);
	end();
}

Test(cpu_numbers, one_leaves_a_single_cpu)
{
	run_shape("shape=one");
	tick_until("fired", 1);
	cr_expect_eq(count_of(trial.child.pid), 1);
	cr_expect_eq(measured("fired"), 1);
	end();
}

Test(cpu_numbers, grow_brings_numbers_beyond_the_count_at_the_start)
{
	run_shape("shape=grow");
	tick_until("fired", 1);
	cr_expect_eq(measured("grown"), 1);
	cr_expect_geq(measured("highest"), measured("cpus"));
	cr_expect_eq(measured("fired"), 1);
	end();
}

Test(cpu_numbers, before_its_time_nothing_has_grown_and_nothing_fired)
{
	run_shape("shape=grow after=1h");
	cr_expect_eq(measured("grown"), 0);
	cr_expect_eq(measured("fired"), 0);
	end();
}

Test(cpu_numbers, a_target_that_is_gone_is_survived)
{
	run_shape("shape=grow");
	child_kill(&trial.child);
	tick_for(40);
	stop();
	restore();
}

Test(cpu_numbers, own_mask_is_the_same_after_the_probe)
{
	const int before = count_of(0);

	choose_or_skip("cpu-numbers", "");
	cr_expect_eq(count_of(0), before);
}

Test(cpu_numbers, one_allowed_cpu_is_refused_with_the_reason)
{
	struct hq_error reason = { "" };
	cpu_set_t one;

	choose("cpu-numbers", "");
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -EOPNOTSUPP);
	cr_expect_not_null(strstr(reason.text, "only one CPU"), "%s", reason.text);
}
