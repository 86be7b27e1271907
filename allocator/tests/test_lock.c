/* SPDX-License-Identifier: MIT */
/*
 * The futex lock: it excludes, try does not wait, and sleepers are woken.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "allocator/bedrock/lock.h"
#include "allocator/tests/faults.h"

#define ROUNDS 20000

static struct bedrock_lock lock;
static uint64_t plain_counter;

static void *count(void *argument)
{
	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		bedrock_lock_take(&lock);
		plain_counter++;
		bedrock_lock_give(&lock);
	}
	return NULL;
}

Test(lock, threads_that_count_under_it_lose_no_step, .timeout = 30)
{
	pthread_t threads[4];

	bedrock_lock_init(&lock, BEDROCK_RANK_BIN);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(plain_counter, 4 * ROUNDS);
}

Test(lock, waits_and_wakes_that_are_refused_lose_no_step, .timeout = 60)
{
	struct timespec nap = { .tv_nsec = 50000000 };
	pthread_t threads[4];

	bedrock_lock_init(&lock, BEDROCK_RANK_BIN);
	bedrock_lock_take(&lock);
	fault_install();
	faults.futex.error = EINTR;
	faults.futex.every = 2;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	nanosleep(&nap, NULL);
	bedrock_lock_give(&lock);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(plain_counter, 4 * ROUNDS);
	cr_assert_gt(faults.futex.hit, 0);
}

Test(lock, zeroed_memory_is_a_free_lock)
{
	static struct bedrock_lock zero;

	cr_assert(bedrock_lock_try(&zero));
	cr_assert_eq(bedrock_load_relaxed(&zero.word), 1);
	bedrock_lock_give(&zero);
	cr_assert_eq(bedrock_load_relaxed(&zero.word), 0);
}

static void *try_once(void *argument)
{
	bool *is_taken = argument;

	*is_taken = bedrock_lock_try(&lock);
	return NULL;
}

Test(lock, try_of_a_held_lock_returns_at_once_without_it)
{
	pthread_t thread;
	bool is_taken = true;

	bedrock_lock_init(&lock, BEDROCK_RANK_BIN);
	bedrock_lock_take(&lock);
	pthread_create(&thread, NULL, try_once, &is_taken);
	pthread_join(thread, NULL);
	cr_assert_not(is_taken);
	bedrock_lock_give(&lock);
}

Test(lock, sleeper_is_woken_long_before_its_time_slice_ends, .timeout = 30)
{
	struct timespec nap = { .tv_nsec = 50000000 };
	struct timespec start;
	struct timespec end;
	pthread_t thread;

	bedrock_lock_init(&lock, BEDROCK_RANK_BIN);
	bedrock_lock_take(&lock);
	pthread_create(&thread, NULL, count, NULL);
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	bedrock_lock_give(&lock);
	pthread_join(thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	cr_assert_lt((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000,
		     700);
}
