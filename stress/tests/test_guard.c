/* SPDX-License-Identifier: MIT */
/*
 * The guard in front of a program that allocates where it is hard to watch: it lives through it,
 * sees the calls, and finds nothing where nothing is wrong.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/wire/wire.h"

struct run {
	struct hq_wire *wire;
	int fd;
	char build[PATH_MAX];
	int status;
};

/* This test is build/.../stress/tests/test_guard. */
static void locate(struct run *run)
{
	const ssize_t length = readlink("/proc/self/exe", run->build, sizeof(run->build) - 1);

	cr_assert_gt(length, 0);
	run->build[length] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(run->build, '/') = '\0';
}

static void become(const struct run *run, const char *program, const char *mode,
		   const char *preload)
{
	char path[2 * PATH_MAX], libraries[3 * PATH_MAX], wire[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	snprintf(path, sizeof(path), "%s/targets/%s", run->build, program);
	snprintf(libraries, sizeof(libraries), "%s/libheapquake-guard.so%s%s", run->build,
		 preload ? ":" : "", preload ? preload : "");
	snprintf(wire, sizeof(wire), "/proc/%d/fd/%d", (int)getppid(), run->fd);
	setenv(HQ_WIRE_ENV, wire, 1);
	setenv("LD_PRELOAD", libraries, 1);
	execl(path, program, mode, (char *)NULL);
	_exit(127);
}

/* Runs targets/PROGRAM with every `every`th block watched, and waits for its end. */
static struct run run_program(const char *program, const char *mode, uint32_t every, bool tails)
{
	struct run run;
	pid_t child;

	locate(&run);
	cr_assert_eq(hq_wire_create(&run.wire, &run.fd), 0);
	run.wire->config.guard_every = every;
	run.wire->config.guard_tails = tails;
	run.wire->config.seed = 42;
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		become(&run, program, mode, NULL);
	cr_assert_eq(waitpid(child, &run.status, 0), child);
	return run;
}

static void finish(struct run *run)
{
	hq_wire_destroy(run->wire, run->fd);
}

static const struct {
	uint32_t every;
	bool tails;
} ways[] = { { 1, false }, { 1, true }, { 3, false }, { 64, false } };

static void expect_silence(const char *mode)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run run = run_program("heaps", mode, ways[i].every, ways[i].tails);

		cr_expect_eq(run.status, 0, "%s at 1/%u: status %#x", mode, ways[i].every,
			     run.status);
		cr_expect_eq(run.wire->guard.claimed, 0, "%s at 1/%u: an event of kind %u", mode,
			     ways[i].every, run.wire->guard.entries[0].event.kind);
		cr_expect_geq(run.wire->guard.attached, 1);
		cr_expect_gt(run.wire->guard.calls, 0);
		finish(&run);
	}
}

Test(guard, calls_before_constructors_and_after_exit_are_seen_and_right)
{
	expect_silence("early");
}

Test(guard, forks_among_threads_go_on_in_their_children)
{
	expect_silence("fork");
}

Test(guard, program_that_replaces_itself_is_watched_anew)
{
	struct run run = run_program("heaps", "exec", 1, false);

	cr_expect_eq(run.status, 0);
	cr_expect_eq(run.wire->guard.attached, 2);
	cr_expect_eq(run.wire->guard.claimed, 0);
	finish(&run);
}

Test(guard, storm_of_threads_whose_blocks_others_free_is_right)
{
	expect_silence("storm");
}

Test(guard, every_function_and_size_in_threads_is_right)
{
	expect_silence("mix");
}

Test(guard, whole_pages_that_are_written_to_their_ends_are_right)
{
	expect_silence("pages");
}

Test(guard, handler_on_a_small_stack_can_allocate)
{
	expect_silence("stack");
}

Test(guard, finding_on_a_small_stack_is_written_whole)
{
	struct run run = run_program("heaps", "wrong", 1, false);
	const struct hq_guard_entry *const entry = &run.wire->guard.entries[0];

	cr_expect_eq(run.status, 0, "status %#x", run.status);
	cr_expect_eq(run.wire->guard.claimed, 10);
	cr_expect_eq(entry->whole, 1);
	cr_expect_eq(entry->event.kind, HQ_EVENT_PROGRAM_FREE);
	cr_expect(strstr(entry->event.site, "heaps+0x"), "%s", entry->event.site);
	cr_expect_eq(entry->detail.block.size, 100);
	cr_expect_eq(entry->detail.block.live, 0);
	cr_expect(strstr(entry->detail.block.allocated_at, "heaps+0x"));
	cr_expect(strstr(entry->detail.block.freed_at, "heaps+0x"));
	cr_expect_neq(entry->detail.block.freed_by, 0);
	finish(&run);
}

Test(guard, program_at_its_address_limit_lives_and_what_is_not_watched_is_counted)
{
	struct run run = run_program("heaps", "limit", 1, false);

	cr_expect_eq(run.status, 0, "status %#x", run.status);
	cr_expect_eq(run.wire->guard.claimed, 0);
	cr_expect_gt(run.wire->guard.unwatched, 0);
	finish(&run);
}

Test(guard, program_without_a_wire_is_served_and_not_watched)
{
	struct run run;
	pid_t child;

	locate(&run);
	run.fd = 99;
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		become(&run, "heaps", "fork", NULL);
	cr_assert_eq(waitpid(child, &run.status, 0), child);
	cr_expect_eq(run.status, 0);
}

Test(guard, sampling_counts_every_call)
{
	struct run run = run_program("honest", NULL, 64, false);

	cr_expect_eq(run.status, 0);
	/* 4 threads of 20000 rounds; each allocates, and most free. */
	cr_expect_gt(run.wire->guard.calls, 80000);
	cr_expect_lt(run.wire->guard.calls, 200000);
	finish(&run);
}

/* Of blocks that are never freed those that were watched are counted at the end. */
Test(guard, sampling_watches_about_its_share)
{
	static const uint64_t every[] = { 1, 16, 64 };

	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		struct run run = run_program("heaps", "keep", (uint32_t)every[i], false);
		const uint64_t share = 64000 / every[i], watched = run.wire->guard.left_count;

		cr_expect_eq(run.status, 0);
		cr_expect_eq(run.wire->guard.left_known, 1);
		cr_expect_gt(watched, share - share / 5, "1/%lu: %lu", every[i], watched);
		cr_expect_lt(watched, share + share / 5, "1/%lu: %lu", every[i], watched);
		finish(&run);
	}
}
