/* SPDX-License-Identifier: MIT */
/* A thread of the controller gets no signals, and its maker as many as before. */
#include <criterion/criterion.h>
#include <signal.h>

#include "injectors/thread.h"

static void *read_mask(void *mask)
{
	pthread_sigmask(SIG_BLOCK, NULL, mask);
	return NULL;
}

Test(thread, no_signal_is_let_into_it)
{
	pthread_t thread;
	sigset_t mask;

	sigemptyset(&mask);
	cr_assert_eq(hq_thread_start(&thread, read_mask, &mask), 0);
	pthread_join(thread, NULL);
	cr_expect(sigismember(&mask, SIGINT));
	cr_expect(sigismember(&mask, SIGTERM));
	cr_expect(sigismember(&mask, SIGCHLD));
}

Test(thread, its_maker_keeps_the_signals_that_it_had)
{
	pthread_t thread;
	sigset_t mask, mine;

	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mine, NULL);
	cr_assert_eq(hq_thread_start(&thread, read_mask, &mask), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &mine);
	cr_expect(sigismember(&mine, SIGUSR1));
	cr_expect_not(sigismember(&mine, SIGINT));
}
