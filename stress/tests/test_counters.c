/* SPDX-License-Identifier: MIT */
/* Counters of perf_event_open: what they count, and that whatever is refused has its reason. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/control/spawn.h"
#include "stress/observe/counters.h"

#define CHILD_FAULTS 1000

Test(counters, names_are_sorted_and_found_again)
{
	for (int i = 0; i < HQ_COUNTER_COUNT; i++) {
		const char *metric = hq_counter_metric((enum hq_counter)i);

		cr_assert_eq(hq_counter_find(metric), i, "%s", metric);
		if (i > 0)
			cr_assert_lt(strcmp(hq_counter_metric((enum hq_counter)(i - 1)), metric), 0,
				     "%s", metric);
	}
	cr_assert_eq(hq_counter_find("hardware.miracles"), HQ_COUNTER_COUNT);
	cr_assert(hq_counter_is_hardware(HQ_COUNTER_DTLB_MISSES));
	cr_assert_not(hq_counter_is_hardware(HQ_COUNTER_TASK_CLOCK));
}

Test(counters, one_that_had_the_processor_to_itself_is_left_as_it_is)
{
	const struct hq_counted counted = hq_counter_scale(12345, 1000, 1000);

	cr_assert(counted.known);
	cr_assert_eq(counted.value, 12345);
	cr_assert_eq(counted.running, 1.0);
	/* The two times are read one after the other. */
	cr_assert_eq(hq_counter_scale(12345, 1000, 1001).value, 12345);
}

Test(counters, one_that_shared_it_is_scaled_and_says_so)
{
	const struct hq_counted counted = hq_counter_scale(100, 1000, 250);

	cr_assert(counted.known);
	cr_assert_float_eq(counted.value, 400, 1e-9);
	cr_assert_float_eq(counted.running, 0.25, 1e-9);
}

Test(counters, one_that_never_ran_is_not_0_but_unknown)
{
	const struct hq_counted counted = hq_counter_scale(0, 1000, 0);

	cr_assert_not(counted.known);
	cr_assert_eq(counted.status, -EBUSY);
}

Test(counters, nothing_is_read_from_what_was_not_opened)
{
	static struct hq_observations seen;
	struct hq_counters counters = { 0 };

	hq_counters_finish(&counters, &seen);
	for (int i = 0; i < HQ_COUNTER_COUNT; i++)
		cr_assert_not(seen.counted[i].known);
	/* Descriptor 0 is still ours. */
	cr_assert_geq(fcntl(0, F_GETFD), 0);
}

Test(counters, without_descriptors_each_has_its_reason)
{
	struct rlimit before, none = { 0, 0 };
	static struct hq_observations seen;
	struct hq_counters counters = { 0 };

	if (hq_counter_probe(HQ_COUNTER_TASK_CLOCK) < 0)
		cr_skip_test("perf_event_open is refused here for another reason");
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	hq_counters_open(0, &counters);
	setrlimit(RLIMIT_NOFILE, &before);
	hq_counters_finish(&counters, &seen);
	cr_assert_not(seen.counted[HQ_COUNTER_TASK_CLOCK].known);
	cr_assert_eq(seen.counted[HQ_COUNTER_TASK_CLOCK].status, -EMFILE);
	cr_assert(strstr(hq_counter_why(-EMFILE), "ulimit -n"));
}

Test(counters, a_process_that_is_gone_has_its_reason)
{
	static struct hq_observations seen;
	struct hq_counters counters = { 0 };
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	hq_counters_open(pid, &counters);
	hq_counters_finish(&counters, &seen);
	for (int i = 0; i < HQ_COUNTER_COUNT; i++) {
		cr_assert_not(seen.counted[i].known);
		cr_assert_lt(seen.counted[i].status, 0);
	}
}

Test(counters, every_reason_is_a_sentence)
{
	static const int reasons[] = { ENOENT, EACCES, EPERM, ENOSYS, EMFILE, EBUSY, ESRCH };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		cr_assert(hq_counter_why(-reasons[i])[0]);
}

static void count(pid_t pid, void *counters)
{
	hq_counters_open(pid, counters);
}

/* Runs a shell command to its end under the counters. */
static void run_counted(const char *command, struct hq_observations *seen)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	struct hq_counters counters = { 0 };
	struct hq_spawn spawn = { .file = "sh",
				  .argv = argv,
				  .in_fd = -1,
				  .out_fd = -1,
				  .err_fd = -1,
				  .born = count,
				  .cookie = &counters };
	struct hq_error error = { "" };
	pid_t pid;

	spawn.env = hq_spawn_environment(NULL);
	cr_assert_eq(hq_spawn(&spawn, &pid, &error), 0, "%s", error.text);
	waitpid(pid, NULL, 0);
	hq_counters_finish(&counters, seen);
	free((void *)spawn.env);
}

Test(counters, children_of_children_are_counted_with_the_target)
{
	static struct hq_observations one, many;

	if (hq_counter_probe(HQ_COUNTER_MINOR_FAULTS) || hq_counter_probe(HQ_COUNTER_TASK_CLOCK))
		cr_skip_test("this machine does not count page faults");
	run_counted(":", &one);
	run_counted("for i in 1 2 3 4 5 6 7 8; do (sh -c : ; :); done", &many);
	cr_assert(one.counted[HQ_COUNTER_MINOR_FAULTS].known);
	cr_assert_gt(one.counted[HQ_COUNTER_MINOR_FAULTS].value, 0);
	cr_assert_gt(one.counted[HQ_COUNTER_TASK_CLOCK].value, 0);
	/* Each of the eight shells faults about as often as the first one. */
	cr_assert_gt(many.counted[HQ_COUNTER_MINOR_FAULTS].value,
		     4 * one.counted[HQ_COUNTER_MINOR_FAULTS].value);
}

Test(counters, the_driver_of_the_run_is_not_counted)
{
	static struct hq_observations seen;
	struct hq_counters counters = { 0 };

	if (hq_counter_probe(HQ_COUNTER_MINOR_FAULTS))
		cr_skip_test("this machine does not count page faults");
	/* Nobody execs: it stays as it was opened. */
	hq_counters_open(0, &counters);
	char *memory = mmap(NULL, CHILD_FAULTS * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	memset(memory, 1, CHILD_FAULTS * 4096);
	hq_counters_finish(&counters, &seen);
	cr_assert_not(seen.counted[HQ_COUNTER_MINOR_FAULTS].known);
}
