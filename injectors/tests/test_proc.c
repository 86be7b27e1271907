/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc: keys, fields behind odd names, and processes that are no more.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "injectors/proc.h"
#include "injectors/tests/child.h"

Test(proc, a_number_is_found_by_its_whole_key_at_the_start_of_a_line)
{
	static const char text[] = "VmPeak:\t   10 kB\nVmHWM:\t   12 kB\noom 1\noom_kill 3\n"
				   "se.nr_migrations     :      5\nName:\tx\n";
	uint64_t value = 0;

	cr_expect(hq_proc_number(text, "VmPeak", &value) && value == 10);
	cr_expect(hq_proc_number(text, "VmHWM", &value) && value == 12);
	cr_expect(hq_proc_number(text, "oom", &value) && value == 1);
	cr_expect(hq_proc_number(text, "oom_kill", &value) && value == 3);
	cr_expect(hq_proc_number(text, "se.nr_migrations", &value) && value == 5);
	cr_expect_not(hq_proc_number(text, "HWM", &value));
	cr_expect_not(hq_proc_number(text, "Vm", &value));
	cr_expect_not(hq_proc_number(text, "Name", &value));
	cr_expect_not(hq_proc_number("", "Name", &value));
}

Test(proc, fields_of_stat_are_found_behind_a_name_with_parentheses)
{
	static const char text[] = "12 (a) (b c) S 34 56";

	cr_expect_eq(hq_proc_stat_field(text, 3)[0], 'S');
	cr_expect_eq(strtol(hq_proc_stat_field(text, 4), NULL, 10), 34);
	cr_expect_eq(strtol(hq_proc_stat_field(text, 5), NULL, 10), 56);
	cr_expect_null(hq_proc_stat_field(text, 6));
	cr_expect_null(hq_proc_stat_field("", 3));
}

Test(proc, a_size_from_status_is_in_bytes_and_0_for_a_process_that_is_gone)
{
	const uint64_t now = hq_proc_status_bytes(getpid(), "VmSize");

	cr_expect_gt(now, 1 << 20);
	cr_expect_leq(now, hq_proc_status_bytes(getpid(), "VmPeak"));
	cr_expect_eq(hq_proc_status_bytes(getpid(), "VmNothing"), 0);
	cr_expect_eq(hq_proc_status_bytes(0x3fffffff, "VmSize"), 0);
}

Test(proc, a_soft_limit_goes_as_far_as_the_hard_one)
{
	struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = 2 << 20 };

	cr_assert_eq(setrlimit(RLIMIT_CORE, &limit), 0);
	cr_expect_eq(hq_proc_limit(0, RLIMIT_CORE, 4096), 0);
	getrlimit(RLIMIT_CORE, &limit);
	cr_expect_eq(limit.rlim_cur, 4096);
	cr_expect_eq(hq_proc_limit(getpid(), RLIMIT_CORE, 1ull << 30), 0);
	getrlimit(RLIMIT_CORE, &limit);
	cr_expect_eq(limit.rlim_cur, 2 << 20);
	cr_expect_eq(hq_proc_limit(0x3fffffff, RLIMIT_CORE, 4096), -ESRCH);
}

Test(proc, anonymous_memory_is_resident_less_shared)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	cr_expect_eq(hq_proc_statm_anonymous_bytes("100 60 20 1 0 5 0\n"), 40 * page);
	cr_expect_eq(hq_proc_statm_anonymous_bytes("0 0 0 0 0 0 0\n"), 0);
	cr_expect_eq(hq_proc_statm_anonymous_bytes(""), 0);
}

Test(proc, a_file_longer_than_the_room_is_cut_and_ended)
{
	char text[8];

	cr_expect_eq(hq_proc_read("/proc/self/status", text, sizeof(text)), 7);
	cr_expect_eq(strlen(text), 7);
}

Test(proc, a_missing_file_reads_as_empty_with_its_errno)
{
	char text[8] = "x";

	cr_expect_eq(hq_proc_read("/proc/self/no-such-file", text, sizeof(text)), -ENOENT);
	cr_expect_str_eq(text, "");
}

static int leave(struct child *self, void *cookie)
{
	(void)self;
	(void)cookie;
	return 0;
}

Test(proc, a_reaped_process_has_no_threads_and_no_migrations)
{
	struct child child;
	pid_t tids[8];
	uint64_t count;

	child_start(&child, leave, NULL);
	cr_assert_eq(child_end(&child), 0);
	cr_expect_eq(hq_proc_threads(child.pid, tids, 8), 0);
	cr_expect_not(hq_proc_migrations(child.pid, &count));
	cr_expect_eq(count, 0);
}

static int stay(struct child *self, void *cookie)
{
	(void)cookie;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(proc, the_threads_of_a_process_are_listed)
{
	struct child child;
	pid_t tids[8];

	child_start(&child, stay, NULL);
	cr_assert(child_hear(&child));
	cr_expect_eq(hq_proc_threads(child.pid, tids, 8), 1);
	cr_expect_eq(tids[0], child.pid);
	child_kill(&child);
}
