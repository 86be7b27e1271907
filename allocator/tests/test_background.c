/* SPDX-License-Identifier: MIT */
/*
 * The background thread: it comes when there is work, does it, and goes; with real time.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/living.h"

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = true;
	bedrock_heap.options.dirty_decay_ms = 100;
	fault_install();
}

TestSuite(background, .init = setup, .timeout = 30);

static bool is_running(void)
{
	return bedrock_load_acquire(&bedrock_heap.background.is_running);
}

/* Wait until a condition holds, but not for ever. */
static bool within_ms(long ms, bool (*holds)(void))
{
	for (long waited = 0; waited < ms; waited += 10) {
		if (holds())
			return true;
		sleep_ms(10);
	}
	return holds();
}

static bool is_clean(void)
{
	return stats_now().dirty_bytes == 0;
}

static bool is_gone(void)
{
	return !is_running();
}

Test(background, idle_program_gets_clean_and_the_thread_then_ends)
{
	make_dirty(200, 100000);
	cr_assert(is_running());
	cr_assert_gt(stats_now().dirty_bytes, 1 << 20);
	cr_assert(within_ms(20000, is_clean));
	cr_assert(within_ms(5000, is_gone));
	cr_assert_eq(faults.thread.seen, 1);
}

Test(background, statistics_count_the_thread_while_it_is_there)
{
	cr_assert_eq(stats_now().background_thread_count, 0);
	make_dirty(200, 100000);
	cr_assert_eq(stats_now().background_thread_count, 1);
	cr_assert(within_ms(7000, is_gone));
	cr_assert_eq(stats_now().background_thread_count, 0);
}

Test(background, little_memory_starts_no_thread)
{
	make_dirty(5, 100000);
	make_dirty(5, 100000);
	cr_assert_not(is_running());
	cr_assert_eq(faults.thread.seen, 0);
}

Test(background, thread_comes_back_for_new_work)
{
	make_dirty(100, 100000);
	cr_assert(within_ms(6000, is_gone));
	make_dirty(100, 100000);
	cr_assert(is_running());
	cr_assert(within_ms(20000, is_clean));
}

Test(background, thread_that_may_not_name_itself_works_without_name)
{
	faults.prctl.error = EPERM;
	make_dirty(200, 100000);
	cr_assert(within_ms(20000, is_clean));
	cr_assert_eq(faults.prctl.hit, 1);
}

Test(background, waits_that_are_cut_short_do_not_keep_it_from_its_work)
{
	faults.futex.error = EINTR;
	faults.futex.most = 20;
	make_dirty(200, 100000);
	cr_assert(within_ms(20000, is_clean));
	cr_assert_gt(faults.futex.hit, 0);
}

Test(background, files_that_are_refused_are_asked_for_once_and_decay_goes_on)
{
	faults.open.error = EMFILE;
	make_dirty(200, 100000);
	cr_assert(within_ms(20000, is_clean));
	cr_assert_gt(faults.open.hit, 0);
	cr_assert_leq(faults.open.seen, 4, "%u calls", faults.open.seen);
}

/* Pressure stall information in which somebody waits all the time. */
static int pressure_open(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	return 1000;
}

static ssize_t pressure_read(int fd, void *out, size_t bytes)
{
	struct timespec now;

	(void)fd;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return snprintf(out, bytes, "some avg10=99.00 total=%lld\n",
			(long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

static int pressure_close(int fd)
{
	(void)fd;
	return 0;
}

static void make_dirty_under_pressure(void)
{
	bedrock_heap.options.dirty_decay_ms = 100000;
	bedrock_os_table.open = pressure_open;
	bedrock_os_table.read = pressure_read;
	bedrock_os_table.close = pressure_close;
	make_dirty(200, 100000);
	cr_assert_gt(stats_now().dirty_bytes, 1 << 20);
}

Test(background, under_pressure_what_is_not_due_yet_goes_as_well)
{
	make_dirty_under_pressure();
	cr_assert(within_ms(20000, is_clean));
}

Test(background, option_can_turn_the_look_at_pressure_off)
{
	bedrock_heap.options.is_pressure = false;
	make_dirty_under_pressure();
	sleep_ms(2500);
	cr_assert_not(is_clean());
}

Test(background, option_false_starts_none)
{
	bedrock_heap.options.is_background_thread = false;
	make_dirty(200, 100000);
	cr_assert_eq(faults.thread.seen, 0);
}

Test(background, before_the_constructor_no_thread_is_started)
{
	bedrock_store_relaxed(&bedrock_heap.is_constructed, false);
	make_dirty(200, 100000);
	cr_assert_eq(faults.thread.seen, 0);
}

Test(background, child_of_a_fork_starts_its_own)
{
#ifdef __SANITIZE_ADDRESS__
	/* The parent's thread may be in it at the fork; the child's then waits for ever. */
	cr_skip_test("the sanitizer's own allocator does not look after its locks at a fork");
#endif
	make_dirty(200, 100000);
	cr_assert(is_running());
	pid_t child = fork();

	if (child == 0) {
		bool was_running = is_running();

		alarm(20);
		make_dirty(200, 100000);
		_exit(!was_running && is_running() && within_ms(20000, is_clean) ? 0 : 1);
	}
	int status = 1;

	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
}

static void *make_dirty_and_end(void *argument)
{
	(void)argument;
	make_dirty(200, 100000);
	return is_running() ? argument : NULL;
}

Test(background, thread_ends_with_the_last_user_of_the_allocator)
{
	pthread_t thread;
	void *result = NULL;
	int token;

	/* Minutes of work left, which must not matter. */
	bedrock_heap.options.dirty_decay_ms = 200000;
	pthread_create(&thread, NULL, make_dirty_and_end, &token);
	pthread_join(thread, &result);
	cr_assert_eq(result, &token, "the thread was started");
	cr_assert(within_ms(3000, is_gone));
}
