/* SPDX-License-Identifier: MIT */
/*
 * The sampling thread. It keeps absolute times, because it starts before the gate opens, and reads
 * through a descriptor that is kept open: 2 us instead of 10.
 *
 * It runs under SCHED_FIFO where that is permitted, since a busy machine starves it otherwise; it
 * sleeps nearly all the time, so it starves nobody.
 *
 * It watches the process itself and not its children.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/thread.h"
#include "stress/observe/sampler.h"
#include "stress/observe/samples.h"

#define PERIOD_DEFAULT_NS 1000000u
#define SAMPLES_MAX       (1u << 20) /* 16 MiB, a quarter of an hour at 1 ms */

struct hq_sampler {
	pthread_t thread;
	int fd;      /* of statm */
	sem_t awake; /* posted once the thread has taken its first sample */
	uint64_t period_ns;
	_Atomic bool stopping;         /* caller */
	_Atomic uint64_t latest_bytes; /* the thread */
	/* The thread's own until it has been joined. */
	struct hq_samples samples;
	uint64_t missed;
	double core_share;
};

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000u),
					.tv_nsec = (long)(ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* 0 when the target has no memory any more: it is dead, reaped or not. */
static uint64_t read_statm(int fd)
{
	char text[128];
	const ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return 0;
	text[length] = '\0';
	return hq_proc_statm_anonymous_bytes(text);
}

/* The next tick that is still ahead; ticks that are more than a period late are counted as missed.
 */
static uint64_t next_tick(struct hq_sampler *sampler, uint64_t tick)
{
	const uint64_t late = hq_now_ns() - tick;
	const uint64_t lost = late / sampler->period_ns;

	sampler->missed += lost;
	return tick + (lost + 1) * sampler->period_ns;
}

static void take(struct hq_sampler *sampler)
{
	const uint64_t now = hq_now_ns();
	const uint64_t rss_bytes = read_statm(sampler->fd);

	hq_store_relaxed(&sampler->latest_bytes, rss_bytes);
	if (rss_bytes)
		hq_samples_add(&sampler->samples, now, rss_bytes);
}

static void *sample(void *argument)
{
	const struct sched_param priority = { .sched_priority = 1 };
	struct hq_sampler *sampler = argument;
	const uint64_t start = hq_now_ns();
	uint64_t tick = start;

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority); /* late samples otherwise */
	take(sampler);
	sem_post(&sampler->awake);
	while (!hq_load_relaxed(&sampler->stopping)) {
		tick = next_tick(sampler, tick);
		sleep_until(tick);
		take(sampler);
	}
	const uint64_t wall = hq_now_ns() - start;

	if (wall)
		sampler->core_share = (double)hq_thread_cpu_ns() / (double)wall;
	return NULL;
}

static int start_thread(struct hq_sampler *sampler)
{
	const int status = hq_thread_start(&sampler->thread, sample, sampler);

	if (status)
		return status;
	pthread_setname_np(sampler->thread, "hq-sampler");
	/* On a busy machine a short run would be over before the thread got to run at all. */
	while (sem_wait(&sampler->awake) && errno == EINTR)
		;
	return 0;
}

int hq_sampler_start(struct hq_sampler **sampler, pid_t target, uint64_t period_ns)
{
	struct hq_sampler *made = calloc(1, sizeof(*made));
	char path[48];
	int status;

	if (!made)
		return -ENOMEM;
	made->period_ns = period_ns ? period_ns : PERIOD_DEFAULT_NS;
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)target);
	made->fd = open(path, O_RDONLY | O_CLOEXEC);
	status = made->fd < 0 ? -errno : 0;
	if (status)
		goto free_made;
	status = hq_samples_init(&made->samples, SAMPLES_MAX);
	if (status)
		goto close_fd;
	sem_init(&made->awake, 0, 0);
	status = start_thread(made);
	if (status)
		goto clear_samples;
	*sampler = made;
	return 0;
clear_samples:
	hq_samples_clear(&made->samples);
close_fd:
	close(made->fd);
free_made:
	free(made);
	return status;
}

uint64_t hq_sampler_read_bytes(const struct hq_sampler *sampler)
{
	return read_statm(sampler->fd);
}

uint64_t hq_sampler_latest_bytes(const struct hq_sampler *sampler)
{
	return hq_load_relaxed(&sampler->latest_bytes);
}

void hq_sampler_stop(struct hq_sampler *sampler, uint64_t origin_ns, struct hq_observations *seen)
{
	hq_store_relaxed(&sampler->stopping, true);
	pthread_join(sampler->thread, NULL);
	hq_samples_hand_over(&sampler->samples, origin_ns, seen);
	seen->samples_missed = sampler->missed;
	seen->sampler_core_share = sampler->core_share;
	hq_samples_clear(&sampler->samples);
	close(sampler->fd);
	free(sampler);
}
