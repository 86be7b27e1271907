/* SPDX-License-Identifier: MIT */
/*
 * The course of a run, as a controller sees it: each test is the controller, and a child of its own
 * is the host, on the C library's allocator.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "stress/host/host.h"
#include "stress/wire/wire.h"

#define DEADLINE_NS 20000000000ull

static struct hq_wire *wire;
static int wire_fd;
static pid_t host;

static void start(void)
{
	cr_assert_eq(hq_wire_create(&wire, &wire_fd), 0);
	strcpy(wire->config.workload, "none");
	wire->config.deadline_ns = DEADLINE_NS;
	wire->config.seed = 42;
}

static void stop(void)
{
	hq_wire_destroy(wire, wire_fd);
}

TestSuite(host, .init = start, .fini = stop, .timeout = 60);

static void spawn(void)
{
	host = fork();
	cr_assert_geq(host, 0);
	if (host != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hq_host_bind(wire);
	_exit(hq_host_run(wire));
}

static void await(enum hq_target_state state)
{
	while (hq_load_acquire(&wire->status.state) < (uint32_t)state)
		usleep(500);
}

static int reap(void)
{
	int status;

	cr_assert_eq(waitpid(host, &status, 0), host);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

Test(host, every_state_is_reached_in_turn)
{
	spawn();
	await(HQ_TARGET_READY);
	cr_expect_eq(hq_load_acquire(&wire->status.state), HQ_TARGET_READY);
	hq_store_release(&wire->go, 1);
	await(HQ_TARGET_WORKED);
	cr_expect_gt(hq_load_relaxed(&wire->workers[0].requested_bytes), 0);
	await(HQ_TARGET_FREED);
	cr_expect_eq(hq_load_relaxed(&wire->workers[0].requested_bytes), 0);
	cr_expect_eq(hq_load_relaxed(&wire->workers[0].finished), 1);
	cr_expect_neq(hq_load_relaxed(&wire->workers[0].tid), 0);
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(reap(), 0);
	cr_expect_leq(hq_load_relaxed(&wire->status.ready_ns),
		      hq_load_relaxed(&wire->status.worked_ns));
	cr_expect_lt(hq_load_relaxed(&wire->status.worked_ns),
		     hq_load_relaxed(&wire->status.freed_ns));
}

Test(host, the_threads_touch_the_allocator_only_after_go)
{
	strcpy(wire->config.options, "threads=4");
	spawn();
	await(HQ_TARGET_READY);
	usleep(20000);
	for (int i = 0; i < 4; i++) {
		cr_expect_neq(hq_load_relaxed(&wire->workers[i].tid), 0);
		cr_expect_eq(hq_load_relaxed(&wire->workers[i].mallocs), 0);
	}
	hq_store_release(&wire->go, 1);
	await(HQ_TARGET_FREED);
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(reap(), 0);
}

Test(host, it_says_who_provides_malloc)
{
	spawn();
	await(HQ_TARGET_READY);
	cr_expect_not_null(strstr(wire->status.provider, "/"));
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(reap(), 0);
}

static void expect_failure(const char *part)
{
	spawn();
	cr_assert_eq(reap(), HQ_HOST_EXIT_FAILED);
	cr_assert_eq(hq_load_acquire(&wire->status.state), HQ_TARGET_FAILED);
	cr_assert_not_null(strstr(wire->status.failure, part), "%s", wire->status.failure);
}

Test(host, an_unknown_workload_is_a_failure_with_its_name)
{
	strcpy(wire->config.workload, "nonesuch");
	expect_failure("'nonesuch'");
}

Test(host, an_unknown_option_is_a_failure_with_its_name)
{
	strcpy(wire->config.options, "trheads=4");
	expect_failure("trheads");
}

Test(host, options_that_contradict_each_other_are_a_failure)
{
	strcpy(wire->config.workload, "churn");
	strcpy(wire->config.options, "calloc=80% aligned=80%");
	expect_failure("calloc");
}

Test(host, without_go_it_gives_up_at_its_deadline)
{
	wire->config.deadline_ns = 50000000;
	expect_failure("go");
}

Test(host, a_run_that_is_called_off_before_it_began_ends_well)
{
	hq_store_release(&wire->finish, 1);
	spawn();
	cr_assert_eq(reap(), 0);
}

Test(host, a_long_run_that_is_called_off_frees_everything_and_ends_well)
{
	strcpy(wire->config.workload, "churn");
	strcpy(wire->config.options, "ops=100G");
	hq_store_release(&wire->go, 1);
	spawn();
	await(HQ_TARGET_WORKING);
	usleep(50000);
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(reap(), 0);
	cr_assert_eq(hq_load_acquire(&wire->status.state), HQ_TARGET_FREED);
	cr_assert_eq(hq_load_relaxed(&wire->workers[0].requested_bytes) +
			     hq_load_relaxed(&wire->workers[1].requested_bytes),
		     0);
}

Test(host, while_idle_it_pulses_as_often_as_asked)
{
	strcpy(wire->config.workload, "idle-decay");
	strcpy(wire->config.options,
	       "threads=1 burst=4KiB rounds=1 size=4KiB hold=0 pause=0 pulse=200/s");
	hq_store_release(&wire->go, 1);
	spawn();
	await(HQ_TARGET_FREED);
	for (int i = 0; i < 10000 && hq_load_relaxed(&wire->workers[0].mallocs) < 6; i++)
		usleep(1000);
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(reap(), 0);
	cr_assert_geq(hq_load_relaxed(&wire->workers[0].mallocs), 6);
	cr_assert_eq(hq_load_relaxed(&wire->workers[0].requested_bytes), 0);
}

/* A process between us and the host dies: the host must not stay behind. */
Test(host, it_ends_when_its_controller_is_gone)
{
	const pid_t between = fork();

	cr_assert_geq(between, 0);
	if (between == 0) {
		const pid_t orphan = fork();

		if (orphan != 0) {
			await(HQ_TARGET_READY);
			_exit(0);
		}
		hq_host_bind(wire);
		_exit(hq_host_run(wire));
	}
	waitpid(between, NULL, 0);
	await(HQ_TARGET_FAILED);
	cr_assert_eq(hq_load_acquire(&wire->status.state), HQ_TARGET_FAILED);
}
