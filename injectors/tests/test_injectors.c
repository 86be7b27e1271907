/* SPDX-License-Identifier: MIT */
/*
 * Every injector on a small child: what it claims to have done it did, and everything is put back
 * on every way out.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "injectors/builtin.h"
#include "injectors/proc.h"
#include "injectors/tests/child.h"
#include "injectors/tests/trial.h"
#include "injectors/units.h"

/* ---- the table ---- */

Test(injectors, the_table_is_sorted_and_every_row_is_found)
{
	for (size_t i = 0; hq_injectors[i]; i++) {
		cr_expect_eq(hq_injector_find(hq_injectors[i]->name), hq_injectors[i]);
		if (i)
			cr_expect_lt(strcmp(hq_injectors[i - 1]->name, hq_injectors[i]->name), 0);
	}
	cr_expect_null(hq_injector_find("memory-limits"));
	cr_expect_null(hq_injector_find(""));
}

Test(injectors, every_row_has_help_measures_and_defaults_that_parse)
{
	for (size_t i = 0; hq_injectors[i]; i++) {
		const struct hq_injector *one = hq_injectors[i];
		struct hq_error error = { "" };

		cr_expect_not_null(one->help);
		cr_expect_not_null(one->measure);
		cr_expect_leq(one->options_size, HQ_OPTION_STRUCT_MAX);
		cr_expect_eq(hq_options_default(one->options, trial.options, &error), 0, "%s: %s",
			     one->name, error.text);
	}
}

Test(injectors, restore_without_prepare_is_harmless)
{
	for (size_t i = 0; hq_injectors[i]; i++) {
		trial.injector = hq_injectors[i];
		restore();
	}
}

Test(injectors, none_claims_to_have_fired)
{
	choose("none", "");
	cr_expect_eq(measured("fired"), 1);
}

/* ---- memory-limit ---- */

#define LIMIT  "limit=32MiB"
#define EXCESS (64 * HQ_MIB)

/* Enters and touches more than it may; what the kernel does about it is the answer. */
static int take_too_much(struct child *self, void *cookie)
{
	struct hq_injector_run *run = cookie;

	if (trial.injector->enter(run))
		return 2;
	child_say(self);
	child_hear(self);
	return child_touch(EXCESS) ? 0 : 1;
}

/* Stays below the limit. */
static int take_little(struct child *self, void *cookie)
{
	struct hq_injector_run *run = cookie;

	if (trial.injector->enter(run) || !child_touch(HQ_MIB))
		return 2;
	child_say(self);
	child_hear(self);
	return 0;
}

static int stay(struct child *self, void *cookie)
{
	struct hq_injector_run *run = cookie;

	if (trial.injector->enter && trial.injector->enter(run))
		return 2;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(memory_limit, a_group_kills_and_the_kernel_counts_it, .timeout = 60)
{
	choose_or_skip("memory-limit", LIMIT " via=cgroup");
	prepare();
	start_on(take_too_much);
	child_say(&trial.child);
	const int status = child_end(&trial.child);

	stop();
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %d", status);
	cr_expect_geq(measured("kills"), 1);
	cr_expect_gt(measured("fired"), 0);
	cr_expect_gt(measured("peak"), 16.0 * HQ_MIB);
	cr_expect_leq(measured("peak"), 32.0 * HQ_MIB);
	cr_expect_eq(measured("limit"), 32.0 * HQ_MIB);
	cr_expect_eq(measured("cgroup_v1") + measured("cgroup_v2"), 0, "one of them is 1");
	restore();
}

Test(memory_limit, a_target_below_the_limit_meets_nothing, .timeout = 60)
{
	choose_or_skip("memory-limit", LIMIT " via=cgroup");
	prepare();
	start_on(take_little);
	child_say(&trial.child);
	cr_expect_eq(child_end(&trial.child), 0);
	stop();
	cr_expect_eq(measured("kills"), 0);
	cr_expect_eq(measured("fired"), 0);
	restore();
}

Test(memory_limit, restore_removes_a_group_that_is_still_inhabited, .timeout = 60)
{
	choose_or_skip("memory-limit", LIMIT " via=cgroup");
	prepare();
	start_on(stay);
	restore();
	const int status = child_end(&trial.child);

	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

Test(memory_limit, a_data_limit_refuses_with_enomem_and_proves_it, .timeout = 60)
{
	choose("memory-limit", LIMIT " via=data");
	prepare();
	start_on(take_too_much);
	child_say(&trial.child);
	cr_expect_eq(WEXITSTATUS(child_end(&trial.child)), 1, "memory was given");
	stop();
	cr_expect_eq(measured("kills"), 0);
	cr_expect_eq(measured("rlimit_data"), 1);
	restore();
}

/* Holds nearly all that the limit allows. */
static int take_nearly_all(struct child *self, void *cookie)
{
	struct hq_injector_run *run = cookie;

	if (trial.injector->enter(run) || mmap(NULL, 30 * HQ_MIB, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 2;
	child_say(self);
	child_hear(self);
	return 0;
}

/* Writable memory of this process, which a child starts with. */
static uint64_t own_data_mib(void)
{
	uint64_t kib = 0;
	char text[4096];

	hq_proc_read("/proc/self/status", text, sizeof(text));
	cr_assert(hq_proc_number(text, "VmData", &kib));
	return kib / 1024;
}

Test(memory_limit, a_data_limit_that_was_nearly_met_counts_as_fired, .timeout = 60)
{
	char options[64];

	snprintf(options, sizeof(options), "limit=%uMiB via=data", (unsigned)own_data_mib() + 33);
	choose("memory-limit", options);
	prepare();
	start_on(take_nearly_all);
	tick_for(20);
	stop();
	cr_expect_eq(measured("fired"), 1);
	cr_expect_geq(measured("peak"), 30.0 * HQ_MIB);
	child_kill(&trial.child);
	restore();
}

Test(memory_limit, a_data_limit_that_is_far_away_has_not_fired, .timeout = 60)
{
	choose("memory-limit", "limit=1048576GiB via=data");
	prepare();
	start_on(take_little);
	tick_for(20);
	stop();
	cr_expect_eq(measured("fired"), 0);
	child_kill(&trial.child);
	restore();
}

Test(memory_limit, auto_always_finds_a_way)
{
	struct hq_error reason = { "" };

	choose("memory-limit", LIMIT);
	cr_expect_eq(trial.injector->probe(trial.options, &reason), 0, "%s", reason.text);
}

Test(memory_limit, what_a_data_limit_cannot_do_is_refused)
{
	struct hq_error reason = { "" };

	choose("memory-limit", LIMIT " via=data high=16MiB");
	cr_expect_neq(trial.injector->probe(trial.options, &reason), 0);
	cr_expect_not_null(strstr(reason.text, "via=cgroup"));
}

static void take_one_step(const char *options, double limit_mib)
{
	choose_or_skip("memory-limit", options);
	prepare();
	start_on(take_little);
	tick_for(20);
	cr_expect_eq(measured("limit"), limit_mib * HQ_MIB);
	cr_expect_eq(measured("steps"), 1);
	cr_expect_eq(measured("refused"), 0);
	child_say(&trial.child);
	cr_expect_eq(child_end(&trial.child), 0);
	stop();
	restore();
}

Test(memory_limit, a_group_is_lowered, .timeout = 60)
{
	take_one_step(LIMIT " via=cgroup steps=16MiB@1ms,64MiB@1h", 16);
}

Test(memory_limit, a_group_is_raised, .timeout = 60)
{
	take_one_step(LIMIT " via=cgroup steps=64MiB@1ms", 64);
}

Test(memory_limit, a_data_limit_that_closes_in_refuses_what_comes_next, .timeout = 60)
{
	choose("memory-limit", "limit=1048576GiB via=data steps=1MiB@1ms");
	prepare();
	start_on(take_too_much);
	tick_for(60);
	cr_expect_eq(measured("steps"), 1);
	cr_expect_eq(measured("fired"), 0, "what was taken before is no proof");
	child_say(&trial.child);
	cr_expect_eq(WEXITSTATUS(child_end(&trial.child)), 1, "memory was given");
	stop();
	restore();
}

Test(memory_limit, steps_that_make_no_sense_are_refused)
{
	struct hq_error reason = { "" };

	choose("memory-limit", LIMIT " steps=16MiB");
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -EINVAL);
	cr_expect_not_null(strstr(reason.text, "no step"));
	cr_expect_eq(trial.injector->prepare(&trial.run), -EINVAL);
	restore();
}

/* ---- migrate ---- */

static void *spin(void *argument)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return argument;
}

/* Two busy threads, and when told to, a third one. */
static int spin_in_threads(struct child *self, void *cookie)
{
	pthread_t thread;

	(void)cookie;
	if (pthread_create(&thread, NULL, spin, NULL) || pthread_create(&thread, NULL, spin, NULL))
		return 2;
	child_say(self);
	while (child_hear(self)) {
		if (pthread_create(&thread, NULL, spin, NULL))
			return 2;
		child_say(self);
	}
	return 0;
}

/* True if every thread of the child may use as many CPUs as we. */
static bool masks_are_whole(pid_t pid)
{
	pid_t tids[16];
	const size_t count = hq_proc_threads(pid, tids, 16);
	cpu_set_t own, mask;

	cr_assert_eq(sched_getaffinity(0, sizeof(own), &own), 0);
	for (size_t i = 0; i < count; i++)
		if (sched_getaffinity(tids[i], sizeof(mask), &mask) || !CPU_EQUAL(&mask, &own))
			return false;
	return count > 0;
}

Test(migrate, threads_are_moved_and_run_on_other_cpus, .timeout = 60)
{
	choose_or_skip("migrate", "rate=1k/s");
	prepare();
	start_on(spin_in_threads);
	tick_for(500);
	stop();
	cr_expect_gt(measured("moves"), 0);
	cr_expect_gt(measured("fired"), 0);
	cr_expect_leq(measured("fired"), measured("moves"));
	cr_expect_gt(measured("rate"), 0);
	cr_expect_geq(measured("threads"), 3);
	cr_expect(masks_are_whole(trial.child.pid));
	child_kill(&trial.child);
	restore();
}

Test(migrate, a_thread_born_meanwhile_is_moved_and_freed_as_well, .timeout = 60)
{
	choose_or_skip("migrate", "rate=1k/s");
	prepare();
	start_on(spin_in_threads);
	tick_for(100);
	child_say(&trial.child);
	cr_assert(child_hear(&trial.child));
	tick_for(300);
	stop();
	cr_expect_geq(measured("threads"), 4);
	cr_expect(masks_are_whole(trial.child.pid));
	child_kill(&trial.child);
	restore();
}

Test(migrate, sleeping_threads_are_moved_but_notice_nothing, .timeout = 60)
{
	choose_or_skip("migrate", "rate=1k/s");
	prepare();
	start_on(stay);
	tick_for(200);
	stop();
	cr_expect_gt(measured("moves"), 0);
	cr_expect_leq(measured("fired"), 2);
	child_kill(&trial.child);
	restore();
}

Test(migrate, restore_without_stop_gives_the_masks_back, .timeout = 60)
{
	choose_or_skip("migrate", "rate=1k/s");
	prepare();
	start_on(spin_in_threads);
	tick_for(60);
	restore();
	cr_expect(masks_are_whole(trial.child.pid));
	child_kill(&trial.child);
}

Test(migrate, a_target_that_dies_meanwhile_is_survived, .timeout = 60)
{
	choose_or_skip("migrate", "rate=10k/s");
	prepare();
	start_on(spin_in_threads);
	tick_for(60);
	child_kill(&trial.child);
	tick_for(60);
	stop();
	cr_expect_gt(measured("moves"), 0);
	restore();
}

Test(migrate, a_slow_rate_does_not_delay_the_stop, .timeout = 10)
{
	choose_or_skip("migrate", "rate=0.1/s");
	prepare();
	start_on(stay);
	stop();
	child_kill(&trial.child);
	restore();
}

Test(migrate, one_allowed_cpu_is_refused_with_the_reason)
{
	struct hq_error reason = { "" };
	cpu_set_t own, one;
	int cpu = 0;

	choose("migrate", "");
	cr_assert_eq(sched_getaffinity(0, sizeof(own), &own), 0);
	while (!CPU_ISSET(cpu, &own))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -EOPNOTSUPP);
	cr_expect_not_null(strstr(reason.text, "only CPU"), "%s", reason.text);
	sched_setaffinity(0, sizeof(own), &own);
}

Test(migrate, a_rate_that_moves_nothing_is_refused)
{
	struct hq_error reason = { "" };

	choose("migrate", "rate=0/s");
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -EINVAL);
	cr_expect_eq(trial.injector->prepare(&trial.run), -EINVAL);
	restore();
}

/* ---- stress-ng ---- */

static char folder[] = "/tmp/heapquake-test-XXXXXX";

static size_t entries(const char *path)
{
	DIR *directory = opendir(path);
	size_t count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		closedir(directory);
	return count ? count - 2 : 0;
}

static void remove_path(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	cr_expect_eq(remove(path), 0, "%s", path);
}

Test(stress_ng, it_works_beside_the_target_and_leaves_only_its_reports, .timeout = 60)
{
	char path[128];

	choose_or_skip("stress-ng", "stressor=vm workers=2 bytes=16MiB");
	cr_assert_not_null(mkdtemp(folder));
	trial.run.folder = folder;
	prepare();
	start_on(stay);
	tick_for(1500);
	stop();
	cr_expect_gt(measured("fired"), 0);
	cr_expect_gt(measured("ops_per_second"), 0);
	cr_expect_gt(measured("peak"), 4.0 * HQ_MIB);
	restore();
	child_kill(&trial.child);
	snprintf(path, sizeof(path), "%s/stress-ng-1", folder);
	cr_expect_eq(entries(path), 2, "the log and the metrics, and nothing else");
	remove_path("stress-ng-1/log");
	remove_path("stress-ng-1/metrics.yaml");
	remove_path("stress-ng-1");
	remove_path("");
}

static const char *const stressors[] = { "bigheap", "brk", "malloc", "mmap" };

Test(stress_ng, every_stressor_keeps_to_its_bytes, .timeout = 60)
{
	for (size_t i = 0; i < sizeof(stressors) / sizeof(stressors[0]); i++) {
		char options[96];

		snprintf(options, sizeof(options), "stressor=%s workers=2 bytes=32MiB",
			 stressors[i]);
		choose_or_skip("stress-ng", options);
		prepare();
		start_on(stay);
		tick_for(1000);
		stop();
		cr_expect_gt(measured("fired"), 0, "%s", stressors[i]);
		cr_expect_lt(measured("peak"), 200.0 * HQ_MIB, "%s", stressors[i]);
		restore();
		child_kill(&trial.child);
	}
}

Test(stress_ng, restore_without_stop_leaves_no_process, .timeout = 60)
{
	choose_or_skip("stress-ng", "workers=2 bytes=16MiB");
	prepare();
	start_on(stay);
	tick_for(300);
	restore();
	child_kill(&trial.child);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
	cr_expect_eq(errno, ECHILD);
}

Test(stress_ng, restore_right_after_prepare_removes_its_folder)
{
	choose("stress-ng", "");
	prepare();
	restore();
}

Test(stress_ng, without_the_program_the_probe_says_what_to_install)
{
	struct hq_error reason = { "" };

	choose("stress-ng", "");
	setenv("PATH", "/nonexistent", 1);
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -ENOENT);
	cr_expect_not_null(strstr(reason.text, "install"));
	prepare();
	cr_expect_eq(trial.injector->start(&trial.run), -ENOENT);
	restore();
}
