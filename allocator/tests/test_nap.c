/* SPDX-License-Identifier: MIT */
/*
 * Whether threads sleep: sleepers do, runners do not, and what cannot be read is no sleep.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/bedrock/nap.h"
#include "allocator/tests/faults.h"

struct sleeper {
	pthread_t thread;
	_Atomic uint32_t id;
	atomic_bool is_over;
	sem_t alarm;
};

static void setup(void)
{
	fault_install();
	if (!bedrock_nap_is_possible())
		cr_skip_test("the kernel does not tell who sleeps");
}

TestSuite(nap, .init = setup, .timeout = 60);

static void pause_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

static void *sleep_until_woken(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->id = bedrock_os_thread_id();
	while (sem_wait(&sleeper->alarm) == 0 && !sleeper->is_over)
		continue;
	return NULL;
}

static void *spin_until_over(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->id = bedrock_os_thread_id();
	while (!sleeper->is_over)
		continue;
	return NULL;
}

static void *wait_for_a_child(void *argument)
{
	struct sleeper *sleeper = argument;

	sleeper->id = bedrock_os_thread_id();
	if (vfork() == 0) {
		while (!sleeper->is_over)
			pause_ms(1);
		_exit(0);
	}
	return NULL;
}

static void start(struct sleeper *sleeper, void *(*run)(void *))
{
	sem_init(&sleeper->alarm, 0, 0);
	pthread_create(&sleeper->thread, NULL, run, sleeper);
	while (!sleeper->id)
		pause_ms(1);
}

static void end(struct sleeper *sleeper)
{
	sleeper->is_over = true;
	sem_post(&sleeper->alarm);
	pthread_join(sleeper->thread, NULL);
}

static bool falls_asleep(struct sleeper *sleeper, struct bedrock_nap *nap)
{
	for (int i = 0; i < 5000; i++) {
		if (bedrock_nap_begin(nap, sleeper->id))
			return true;
		pause_ms(1);
	}
	return false;
}

Test(nap, thread_that_sleeps_all_the_while_is_known_to)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap nap;

	start(&sleeper, sleep_until_woken);
	cr_assert(falls_asleep(&sleeper, &nap));
	cr_assert(bedrock_nap_lasts(&nap));
	cr_assert(bedrock_nap_lasts(&nap));
	end(&sleeper);
}

Test(nap, thread_that_woke_in_between_has_not_slept_though_it_sleeps_again)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap later;
	struct bedrock_nap nap;

	start(&sleeper, sleep_until_woken);
	cr_assert(falls_asleep(&sleeper, &nap));
	sem_post(&sleeper.alarm);
	pause_ms(10);
	cr_assert(falls_asleep(&sleeper, &later));
	cr_assert_not(bedrock_nap_lasts(&nap));
	end(&sleeper);
}

Test(nap, thread_that_runs_does_not_sleep)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap nap;

	start(&sleeper, spin_until_over);
	for (int i = 0; i < 100; i++)
		cr_assert_not(bedrock_nap_begin(&nap, sleeper.id));
	end(&sleeper);
}

Test(nap, thread_whose_child_runs_on_its_storage_does_not_sleep)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap nap;

	start(&sleeper, wait_for_a_child);
	for (int i = 0; i < 50; i++) {
		cr_assert_not(bedrock_nap_begin(&nap, sleeper.id));
		pause_ms(1);
	}
	end(&sleeper);
}

Test(nap, thread_that_is_gone_does_not_sleep)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap nap;

	start(&sleeper, sleep_until_woken);
	cr_assert(falls_asleep(&sleeper, &nap));
	end(&sleeper);
	cr_assert_not(bedrock_nap_lasts(&nap));
	cr_assert_not(bedrock_nap_begin(&nap, sleeper.id));
}

Test(nap, files_that_are_refused_mean_that_nobody_sleeps)
{
	struct sleeper sleeper = { .id = 0 };
	struct bedrock_nap nap;

	start(&sleeper, sleep_until_woken);
	cr_assert(falls_asleep(&sleeper, &nap));
	faults.open.error = EACCES;
	cr_assert_not(bedrock_nap_is_possible());
	cr_assert_not(bedrock_nap_begin(&nap, sleeper.id));
	faults.open.error = 0;
	faults.read.error = EIO;
	cr_assert_not(bedrock_nap_is_possible());
	cr_assert_not(bedrock_nap_lasts(&nap));
	faults.read.error = 0;
	end(&sleeper);
}

/* What the files say in other places. */
static const char *nap_text;

static ssize_t nap_read(int fd, void *out, size_t bytes)
{
	size_t length = strlen(nap_text);

	(void)fd;
	length = length < bytes ? length : bytes;
	memcpy(out, nap_text, length);
	return (ssize_t)length;
}

Test(nap, text_that_is_not_understood_means_that_nobody_sleeps)
{
	static const char *const texts[] = {
		"",
		"running\n",
		"-1 0x7ffe 0x7f00\n",
		"0 0 0\n",
		"12\n",
		"12 34\n",
		"x 1 1\n",
		"Name:\tx\nNSpid:\t105\t5\n",
		"Name:\tx\nNSpid:\t\n",
		"Name:\tx\nPid:\t5\n",
	};
	struct bedrock_nap nap;

	bedrock_os_table.read = nap_read;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		nap_text = texts[i];
		cr_assert_not(bedrock_nap_is_possible(), "%s", nap_text);
		cr_assert_not(bedrock_nap_begin(&nap, 1), "%s", nap_text);
	}
}
