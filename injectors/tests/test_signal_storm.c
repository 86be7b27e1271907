/* SPDX-License-Identifier: MIT */
/* Signals for a target: those that it catches arrive, no other is sent. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

#include "injectors/tests/trial.h"

static void do_nothing(int number)
{
	(void)number;
}

static int wait_and_catch(struct child *self, void *cookie)
{
	(void)cookie;
	signal(SIGUSR1, do_nothing);
	child_say(self);
	for (;;)
		pause();
	return 0;
}

static int wait_only(struct child *self, void *cookie)
{
	(void)cookie;
	child_say(self);
	for (;;)
		pause();
	return 0;
}

static int wait_and_block(struct child *self, void *cookie)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return wait_and_catch(self, cookie);
}

static void run_on(int (*body)(struct child *self, void *cookie), const char *options)
{
	choose("signal-storm", options);
	prepare();
	start_on(body);
	tick_for(200);
}

static void end(void)
{
	child_kill(&trial.child);
	restore();
}

TestSuite(signal_storm, .timeout = 60);

Test(signal_storm, signals_that_are_caught_are_proved_to_have_arrived)
{
	run_on(wait_and_catch, "rate=500/s");
	tick_until("fired", 1);
	stop();
	cr_expect_gt(measured("fired"), 0);
	cr_expect_leq(measured("fired"), measured("sent"));
	cr_expect_eq(measured("caught"), 1);
	end();
}

Test(signal_storm, a_target_that_does_not_catch_them_is_left_alone)
{
	run_on(wait_only, "rate=500/s");
	stop();
	cr_expect_eq(measured("sent"), 0);
	cr_expect_eq(kill(trial.child.pid, 0), 0, "it lives");
	end();
}

Test(signal_storm, another_signal_than_the_caught_one_is_not_sent)
{
	run_on(wait_and_catch, "signal=PROF");
	stop();
	cr_expect_eq(measured("sent"), 0);
	end();
}

Test(signal_storm, a_signal_that_stays_pending_has_not_fired)
{
	run_on(wait_and_block, "rate=500/s");
	tick_until("sent", 1);
	stop();
	cr_expect_eq(measured("sent"), 1);
	cr_expect_eq(measured("fired"), 0);
	end();
}

Test(signal_storm, a_target_that_dies_meanwhile_is_survived)
{
	choose("signal-storm", "rate=10k/s");
	prepare();
	start_on(wait_and_catch);
	tick_for(40);
	child_kill(&trial.child);
	tick_for(40);
	restore();
}

Test(signal_storm, a_rate_that_sends_nothing_is_refused)
{
	struct hq_error reason = { "" };

	choose("signal-storm", "rate=0/s");
	cr_expect_eq(trial.injector->probe(trial.options, &reason), -EINVAL);
	cr_expect_eq(trial.injector->prepare(&trial.run), -EINVAL);
	restore();
}
