/* SPDX-License-Identifier: MIT */
/*
 * What the curve of resident memory costs and what it misses: share of a core, and the peak that
 * was seen of short bursts, at 1 kHz (the default) next to 100 Hz and 10 kHz. The rates take turns,
 * so that a machine that gets busier does so for all.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/observe/sampler.h"
#include "stress/observe/usage.h"

#define ROUNDS         5
#define ROUND_NS       (800 * HQ_MS)
#define BURST_BYTES    (32 * HQ_MIB)
#define BURST_PAUSE_US 3000

/* One rate over all rounds. */
struct row {
	uint64_t period_ns;
	double core_share, samples, missed, seen_bytes, peak_bytes;
};

/* Touches and gives back a burst, again and again. */
static void burst_forever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(120);
	for (;;) {
		char *memory = mmap(NULL, BURST_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory != MAP_FAILED)
			munmap(memory, BURST_BYTES);
		usleep(BURST_PAUSE_US);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * HQ_S + (uint64_t)now.tv_nsec;
}

static int run_round(struct row *row, pid_t target)
{
	const struct timespec pause = { .tv_nsec = ROUND_NS };
	struct hq_observations sampled = { 0 }, kernel = { 0 };
	struct hq_sampler *sampler;

	hq_usage_start(target, &kernel);
	const uint64_t origin = now_ns();

	if (hq_sampler_start(&sampler, target, row->period_ns))
		return 1;
	nanosleep(&pause, NULL);
	hq_sampler_stop(sampler, origin, &sampled);
	hq_usage_update(target, &kernel);
	row->core_share += sampled.sampler_core_share / ROUNDS;
	row->samples += (double)sampled.sample_count / ROUNDS;
	row->missed += (double)sampled.samples_missed / ROUNDS;
	row->seen_bytes += (double)sampled.rss_peak_bytes / ROUNDS;
	row->peak_bytes += (double)kernel.rss_peak_bytes / ROUNDS;
	hq_observations_clear(&sampled);
	return 0;
}

static void print_row(const struct row *row)
{
	char period[HQ_UNITS_TEXT];

	printf("%8s %11.2f%% %11.1f %9.0f %9.0f %13.1f%%\n",
	       hq_units_print_duration(period, row->period_ns), row->core_share * 100,
	       row->core_share * (double)ROUND_NS / row->samples / 1000, row->samples, row->missed,
	       row->seen_bytes / row->peak_bytes * 100);
}

int main(void)
{
	struct row rows[] = { { .period_ns = 10 * HQ_MS },
			      { .period_ns = HQ_MS },
			      { .period_ns = 100 * HQ_US } };
	const size_t count = sizeof(rows) / sizeof(rows[0]);
	const pid_t target = fork();
	int failed = target < 0;

	if (target == 0)
		burst_forever();
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < count; i++)
			failed |= run_round(&rows[i], target);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	if (failed)
		return 1;
	printf("  period  of one core us a sample   samples    missed  of the peak seen\n");
	for (size_t i = 0; i < count; i++)
		print_row(&rows[i]);
	return 0;
}
