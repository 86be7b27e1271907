/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's evidence on real children: one that sleeps in a call, one that computes, one that
 * spins through a call that the plane counts, and one of several threads.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "injectors/clock.h"
#include "injectors/tests/child.h"
#include "stress/observe/stuck.h"
#include "stress/observe/stuck_trace.h"

static struct hq_wire *wire;
static struct hq_observations seen;
static struct child child;
static int fd = -1;

static void make(void)
{
	cr_assert_eq(hq_wire_create(&wire, &fd), 0);
}

static void drop(void)
{
	child_kill(&child);
	hq_wire_destroy(wire, fd);
}

TestSuite(stuck, .init = make, .fini = drop, .timeout = 60);

static void look(int (*body)(struct child *self, void *cookie))
{
	child_start(&child, body, NULL);
	cr_assert(child_hear(&child));
	hq_stuck_look(child.pid, wire, &seen);
	cr_assert_geq(seen.stuck_count, 1);
}

static int sleep_in_poll(struct child *self, void *cookie)
{
	(void)cookie;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(stuck, a_sleeper_is_found_in_its_call)
{
	look(sleep_in_poll);
	if (strcmp(seen.stuck[0].call, "unknown") == 0)
		cr_skip_test("/proc/PID/syscall cannot be read here");
	cr_expect_eq(seen.stuck[0].tid, child.pid);
	cr_expect_eq(seen.stuck[0].state, 'S');
	cr_expect_not_null(strstr(seen.stuck[0].call, "poll"), "%s", seen.stuck[0].call);
	cr_expect_lt(seen.stuck[0].calls_per_second, 0, "nobody counts this call");
	cr_expect_neq(seen.stuck[0].comm[0], '\0');
}

static int compute(struct child *self, void *cookie)
{
	(void)cookie;
	child_say(self);
	for (volatile unsigned long i = 0;; i++)
		;
	return 0;
}

Test(stuck, a_thread_that_computes_is_in_user_code)
{
	look(compute);
	if (strcmp(seen.stuck[0].call, "unknown") == 0)
		cr_skip_test("/proc/PID/syscall cannot be read here");
	cr_expect_str_eq(seen.stuck[0].call, "user code");
	cr_expect_eq(seen.stuck[0].state, 'R');
}

/* Spins through madvise, counting as the trap does. */
static int spin(struct child *self, void *cookie)
{
	struct hq_plane_thread *slot = &wire->plane.threads[3];

	(void)cookie;
	hq_store_relaxed(&slot->tid, (uint32_t)getpid());
	hq_store_relaxed(&slot->process, (uint32_t)getpid());
	child_say(self);
	for (;;) {
		madvise(NULL, 0, MADV_DONTNEED);
		hq_count_own(&slot->counts[1].seen, 1);
	}
	return 0;
}

Test(stuck, a_thread_that_spins_through_a_counted_call_is_named_with_its_rate)
{
	wire->plane.rule_count = 2;
	wire->plane.rules[0].calls = 1u << HQ_CALL_MMAP;
	wire->plane.rules[1].calls = 1u << HQ_CALL_MADVISE;
	look(spin);
	cr_expect_str_eq(seen.stuck[0].call, "madvise");
	cr_expect_gt(seen.stuck[0].calls_per_second, 100);
}

/* Makes calls that nobody counts until it is told, and for 20 ms more: it ends in a close look. */
static int call_until_told(struct child *self, void *cookie)
{
	struct pollfd told = { .fd = self->socket, .events = POLLIN };

	(void)cookie;
	child_say(self);
	while (poll(&told, 1, 0) == 0)
		;
	for (const uint64_t end_ns = hq_now_ns() + 20000000; hq_now_ns() < end_ns;)
		poll(NULL, 0, 0);
	return 7;
}

Test(stuck, a_target_that_ends_under_a_close_look_is_left_for_its_parent_to_take)
{
	double per_second;
	long number;

	child_start(&child, call_until_told, NULL);
	cr_assert(child_hear(&child));
	if (!hq_stuck_trace(child.pid, &number, &per_second))
		cr_skip_test("ptrace is not allowed here");
	cr_expect_geq(number, 0);
	child_say(&child);
	hq_stuck_trace(child.pid, &number, &per_second);
	cr_expect_eq(child_end(&child), 7 << 8);
	child_start(&child, sleep_in_poll, NULL);
}

static void *idle_thread(void *argument)
{
	child_hear(argument);
	return NULL;
}

/* One thread sleeps, the first one computes. */
static int compute_beside_a_sleeper(struct child *self, void *cookie)
{
	pthread_t thread;

	(void)cookie;
	if (pthread_create(&thread, NULL, idle_thread, self))
		return 1;
	return compute(self, NULL);
}

Test(stuck, the_busiest_thread_comes_first)
{
	look(compute_beside_a_sleeper);
	cr_assert_eq(seen.stuck_count, 2);
	cr_expect_eq(seen.stuck[0].tid, child.pid);
	cr_expect_neq(seen.stuck[1].tid, child.pid);
}

Test(stuck, a_target_that_is_gone_leaves_no_evidence)
{
	child_start(&child, sleep_in_poll, NULL);
	child_kill(&child);
	seen.stuck_count = 5;
	hq_stuck_look(child.pid, NULL, &seen);
	cr_expect_eq(seen.stuck_count, 0);
	child_start(&child, sleep_in_poll, NULL);
}
