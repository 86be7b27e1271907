/* SPDX-License-Identifier: MIT */
/*
 * What the counters of perf_event_open cost the target: CPU time of one page fault, one switch
 * between threads and one thread's life, without and with them. The two take turns, and the least
 * of each stands, since a busy machine only ever adds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/control/spawn.h"
#include "stress/observe/counters.h"

#define ROUNDS     9
#define AREA_BYTES (16 * HQ_MIB)
#define FAULTS     (8 * AREA_BYTES / 4096)
#define SWITCHES   40000
#define THREADS    3000

static void fault(void)
{
	for (uint64_t done = 0; done < FAULTS; done += AREA_BYTES / 4096) {
		char *area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED)
			return;
		madvise(area, AREA_BYTES, MADV_NOHUGEPAGE);
		for (uint64_t offset = 0; offset < AREA_BYTES; offset += 4096)
			area[offset] = 1;
		munmap(area, AREA_BYTES);
	}
}

static void *answer(void *pipes)
{
	const int *fds = pipes;
	char ball;

	while (read(fds[0], &ball, 1) == 1 && write(fds[3], &ball, 1) == 1)
		;
	return NULL;
}

static void change_over(void)
{
	int fds[4];
	char ball = 0;
	pthread_t other;

	if (pipe(fds) || pipe(fds + 2) || pthread_create(&other, NULL, answer, fds))
		return;
	for (int i = 0; i < SWITCHES / 2; i++)
		if (write(fds[1], &ball, 1) != 1 || read(fds[2], &ball, 1) != 1)
			break;
	close(fds[1]);
	pthread_join(other, NULL);
}

static void *live(void *nothing)
{
	return nothing;
}

static void come_and_go(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, live, NULL))
			return;
		pthread_join(thread, NULL);
	}
}

static const struct work {
	const char *name;
	void (*act)(void);
	double count;
} works[] = {
	{ "page fault", fault, FAULTS },
	{ "switch between threads", change_over, SWITCHES },
	{ "thread's life", come_and_go, THREADS },
};

#define WORKS (sizeof(works) / sizeof(works[0]))

static void count(pid_t pid, void *counters)
{
	hq_counters_open(pid, counters);
}

/* CPU time of this program doing work `index`; negative: it did not come to its end. */
static double cpu_ns(char *index, bool counted)
{
	char *argv[] = { "bench_counters", index, NULL };
	char *env[] = { NULL };
	struct hq_counters counters = { 0 };
	const struct hq_spawn spawn = { .file = "/proc/self/exe",
					.argv = argv,
					.env = env,
					.in_fd = -1,
					.out_fd = -1,
					.err_fd = -1,
					.born = counted ? count : NULL,
					.cookie = &counters };
	static struct hq_observations seen;
	struct hq_error error;
	struct rusage usage;
	int status;
	pid_t pid;

	if (hq_spawn(&spawn, &pid, &error))
		return -1;
	wait4(pid, &status, 0, &usage);
	hq_counters_finish(&counters, &seen);
	return status ? -1
		      : 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void compare(size_t index)
{
	char word[2] = { (char)('0' + index), '\0' };
	double least[2] = { 1e18, 1e18 };

	for (int round = 0; round < ROUNDS; round++) {
		for (int counted = 0; counted < 2; counted++) {
			const double ns = cpu_ns(word, counted);

			if (ns >= 0 && ns < least[counted])
				least[counted] = ns;
		}
	}
	const double alone = least[0] / works[index].count, with = least[1] / works[index].count;

	printf("  %-24s %10.0f %10.0f %+8.0f ns\n", works[index].name, alone, with, with - alone);
}

int main(int argc, char **argv)
{
	size_t present = 0;

	if (argc > 1 && argv[1][0] >= '0' && argv[1][0] < '0' + (int)WORKS) {
		alarm(60);
		works[argv[1][0] - '0'].act();
		return 0;
	}
	for (int i = 0; i < HQ_COUNTER_COUNT; i++)
		present += hq_counter_probe((enum hq_counter)i) >= 0;
	printf("CPU time without and with %zu of %d counters\n", present, HQ_COUNTER_COUNT);
	for (size_t i = 0; i < WORKS; i++)
		compare(i);
	return 0;
}
