/* SPDX-License-Identifier: MIT */
/*
 * What the preloaded library reports, when it keeps still, and the mechanism that needs no handler.
 */
#include "stress/tests/preload_run.h"

/* ---- the filter's own answers ---- */

Test(static_mechanism, answers_without_counting)
{
	struct run run = prepare("madvise:advice=DONTNEED:error=EAGAIN");

	run.wire->config.mechanism = HQ_MECHANISM_STATIC;
	cr_assert_eq(run_it(&run, "thread"), 3);
	cr_assert_eq(run.wire->plane.armed, 1);
	cr_assert_eq(total(&run, 0).seen, 0);
}

Test(static_mechanism, with_a_rule_that_needs_a_decider_says_why_it_is_not_armed)
{
	struct run run = prepare(REFUSE ":when=2");

	run.wire->config.mechanism = HQ_MECHANISM_STATIC;
	cr_assert_eq(run_it(&run, "main"), 0);
	cr_assert_eq(run.wire->plane.armed, 0);
	cr_assert_eq(run.wire->plane.arm_error, -EINVAL);
}

/* ---- without a sound wire ---- */

static void does_nothing(const struct run *run, const char *path)
{
	cr_assert_eq(finish(start_with(run, path, "main", NULL)), 0, "%s", path);
	cr_assert_eq(finish(start_with(run, path, "thread", NULL)), 0, "%s", path);
	cr_assert_eq(finish(start_with(run, path, "fork", NULL)), 0, "%s", path);
}

Test(preload, without_a_sound_wire_does_nothing)
{
	struct run run = prepare(REFUSE);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), run.fd);
	does_nothing(&run, "");
	does_nothing(&run, "/nonexistent/wire");
	does_nothing(&run, "/dev/null");
	run.wire->version++;
	does_nothing(&run, path);
	run.wire->version--;
	cr_assert_eq(ftruncate(run.fd, 4096), 0);
	does_nothing(&run, path);
}

Test(preload, reports_who_serves_malloc_and_that_it_is_ready)
{
	struct run run = prepare(REFUSE);

	run_it(&run, "main");
	cr_assert(strstr(run.wire->status.provider, "libc"), "%s", run.wire->status.provider);
	cr_assert_eq(run.wire->status.state, HQ_TARGET_READY);
	cr_assert_neq(run.wire->status.ready_ns, 0);
}

Test(preload, finds_who_serves_a_program_that_only_jumps_to_malloc)
{
	struct run run = prepare(REFUSE);

	snprintf(run.calls, sizeof(run.calls), "%s/targets/fixed_address", run.build);
	if (access(run.calls, X_OK))
		cr_skip_test("the program of this test is not built");
	cr_assert_eq(run_it(&run, "main"), 0);
	cr_assert(strstr(run.wire->status.provider, "libc"), "%s", run.wire->status.provider);
}

Test(preload, leaves_the_allocator_uncalled_until_the_environment_is_there)
{
	struct run run = prepare(REFUSE);
	char allocator[PATH_MAX];

	snprintf(allocator, sizeof(allocator), "%s/targets/lib_early_allocator", run.build);
	if (access(allocator, R_OK))
		cr_skip_test("the allocator of this test is not built");
	strcat(strcat(run.preload, ":"), allocator);
	cr_assert_eq(run_it(&run, "thread"), 3);
	cr_assert(strstr(run.wire->status.provider, "lib_early_allocator"));
}

Test(preload, under_notification_leaves_the_plane_to_the_supervisor)
{
	struct run run = prepare(REFUSE);

	run.wire->config.mechanism = HQ_MECHANISM_NOTIFY;
	cr_assert_eq(run_it(&run, "thread"), 0);
	cr_assert_eq(run_it(&run, "fork"), 0);
	cr_assert_eq(run.wire->plane.claimed, 0);
	cr_assert_eq(run.wire->plane.armed, 0);
	cr_assert_eq(run.wire->status.preloaded, 1);
}

Test(preload, of_the_host_leaves_the_state_to_the_host)
{
	struct run run = prepare(REFUSE);

	run.wire->config.is_host = 1;
	cr_assert_eq(run_it(&run, "inline"), 0, "the host's own text is not listened to");
	cr_assert_eq(run_it(&run, "main"), 3, "what it calls in libraries is");
	cr_assert_eq(run.wire->status.state, HQ_TARGET_STARTING);
}

Test(preload, without_rules_traps_nothing)
{
	struct run run = prepare(NULL);

	cr_assert_eq(run_it(&run, "thread"), 0);
	cr_assert_eq(run.wire->plane.armed, 1);
}

Test(preload, waits_for_the_controller_only_for_a_while)
{
	struct run run = prepare(REFUSE);

	run.wire->go = 0;
	cr_assert_eq(run_it(&run, "main"), 3);
}

Test(preload, waits_as_long_as_the_controller_asks_for)
{
	struct run run = prepare(REFUSE);

	run.wire->config.deadline_ns = 10000000000ull;
	run.wire->plane.gate = 0;
	run.wire->go = 0;
	const pid_t pid = start(&run, "main", NULL);

	usleep(600000);
	cr_assert_eq(waitpid(pid, NULL, WNOHANG), 0, "it did not wait");
	run.wire->plane.gate = 1;
	run.wire->go = 1;
	cr_assert_eq(finish(pid), 3);
}
