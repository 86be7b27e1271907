/* SPDX-License-Identifier: MIT */
/*
 * What knowing its own memory costs a program: checks per second of CPU time for 1 to 8 threads, of
 * each tracker of stress/workload/tracker.h and of an exact reading of resident memory under a
 * lock, and what a block costs that is checked, counted and taken off again. All take turns in each
 * round, and the best of each stands, since a busy machine only ever adds. Last, by how much each
 * passes a limit when threads take as fast as they can.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/units.h"
#include "stress/workload/tracker.h"

#define ROUNDS      5
#define THREADS_MAX 8
#define CHECKS      400000u
#define EXACT       4000u
#define BLOCK       64u
#define LIMIT_BYTES (256 * HQ_MIB)
#define TAKEN_BYTES (64 * HQ_KIB)

enum way { EXACT_LOCKED, STRIPED, CACHED, CREDIT, WAYS };

static const char *const names[WAYS] = { "exact, locked", "striped sum", "cached 50 ms",
					 "credit 256 KiB" };

static struct bench {
	struct hq_tracker tracker;
	pthread_mutex_t lock;
	pthread_barrier_t barrier;
	int statm_fd;
	_Atomic uint64_t sink;
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t held_bytes;
} bench = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct worker {
	pthread_t id;
	uint32_t thread;
	enum way way;
	double cpu_ns; /* of one check, or of one block */
};

static uint64_t read_exactly(void)
{
	unsigned long pages = 0, resident = 0;
	char text[128];

	pthread_mutex_lock(&bench.lock);
	const ssize_t length = pread(bench.statm_fd, text, sizeof(text) - 1, 0);

	pthread_mutex_unlock(&bench.lock);
	text[length > 0 ? length : 0] = '\0';
	sscanf(text, "%lu %lu", &pages, &resident);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void *check(void *argument)
{
	struct worker *const self = argument;
	const uint32_t count = self->way == EXACT_LOCKED ? EXACT : CHECKS;
	uint64_t refused = 0;

	pthread_barrier_wait(&bench.barrier);
	const uint64_t start_ns = hq_thread_cpu_ns();

	if (self->way == EXACT_LOCKED) {
		for (uint32_t i = 0; i < count; i++)
			refused += read_exactly() > LIMIT_BYTES;
	} else {
		for (uint32_t i = 0; i < count; i++)
			refused += hq_tracker_figure(&bench.tracker, self->thread) > LIMIT_BYTES;
	}
	self->cpu_ns = (double)(hq_thread_cpu_ns() - start_ns) / count;
	hq_fetch_add_relaxed(&bench.sink, refused);
	return NULL;
}

static void count_block(const struct worker *worker)
{
	if (hq_tracker_charge(&bench.tracker, worker->thread, BLOCK))
		hq_tracker_discharge(&bench.tracker, worker->thread, BLOCK);
}

/* An exact reading needs no counting. */
static void *count_blocks(void *argument)
{
	struct worker *const self = argument;

	if (self->way == EXACT_LOCKED)
		return check(argument);
	pthread_barrier_wait(&bench.barrier);
	const uint64_t start_ns = hq_thread_cpu_ns();

	for (uint32_t i = 0; i < CHECKS; i++)
		count_block(self);
	self->cpu_ns = (double)(hq_thread_cpu_ns() - start_ns) / CHECKS;
	return NULL;
}

/* Takes until it is refused, and gives nothing back. */
static void *take(void *argument)
{
	struct worker *const self = argument;

	pthread_barrier_wait(&bench.barrier);
	while (hq_tracker_charge(&bench.tracker, self->thread, TAKEN_BYTES)) {
		const uint64_t until_ns = hq_now_ns() + 20000;

		hq_fetch_add_relaxed(&bench.held_bytes, TAKEN_BYTES);
		/* 64 KiB in 20 us: 3 GB a second and thread. */
		while (hq_now_ns() < until_ns)
			;
	}
	return NULL;
}

static void start_tracker(enum way way)
{
	static const enum hq_tracker_form forms[WAYS] = { [STRIPED] = HQ_TRACKER_STRIPED,
							  [CACHED] = HQ_TRACKER_CACHED,
							  [CREDIT] = HQ_TRACKER_CREDIT };
	const struct hq_tracker_settings settings = { .form = forms[way],
						      .hard_bytes = LIMIT_BYTES,
						      .soft_bytes = LIMIT_BYTES,
						      .batch_bytes = 256 * HQ_KIB,
						      .period_ns = 50 * HQ_MS };

	memset(&bench.tracker, 0, sizeof(bench.tracker));
	hq_store_relaxed(&bench.held_bytes, 0);
	hq_tracker_start(&bench.tracker, &settings);
}

/* CPU time of one, the mean over the threads. */
static double run(enum way way, uint32_t threads, void *(*body)(void *))
{
	struct worker workers[THREADS_MAX];
	double sum = 0;

	start_tracker(way);
	pthread_barrier_init(&bench.barrier, NULL, threads);
	for (uint32_t i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .thread = i, .way = way };
		if (pthread_create(&workers[i].id, NULL, body, &workers[i]))
			exit(1);
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(workers[i].id, NULL);
		sum += workers[i].cpu_ns;
	}
	pthread_barrier_destroy(&bench.barrier);
	return sum / threads;
}

static void measure(uint32_t threads, void *(*body)(void *), double best[WAYS])
{
	for (int way = 0; way < WAYS; way++)
		best[way] = 1e18;
	for (int round = 0; round < ROUNDS; round++) {
		for (int way = 0; way < WAYS; way++) {
			const double one = run((enum way)way, threads, body);

			best[way] = one < best[way] ? one : best[way];
		}
	}
}

static void compare(const char *what, void *(*body)(void *))
{
	printf("%s\n%-8s", what, "threads");
	for (int way = 0; way < WAYS; way++)
		printf(" %22s", names[way]);
	printf("  cached over exact, striped; credit over cached\n");
	for (uint32_t threads = 1; threads <= THREADS_MAX; threads *= 2) {
		double ns[WAYS];

		measure(threads, body, ns);
		printf("%-8u", threads);
		for (int way = 0; way < WAYS; way++)
			printf(" %8.1f ns %8.3g /s", ns[way], 1e9 / ns[way]);
		printf("  %5.0f %6.1f %6.1f times\n", ns[EXACT_LOCKED] / ns[CACHED],
		       ns[STRIPED] / ns[CACHED], ns[CACHED] / ns[CREDIT]);
	}
	printf("\n");
}

static void compare_overshoot(void)
{
	printf("beyond a limit of 256 MiB, of 64 KiB every 20 us and thread, the most of %d\n"
	       "%-8s",
	       ROUNDS, "threads");
	for (int way = STRIPED; way < WAYS; way++)
		printf(" %22s", names[way]);
	printf("\n");
	for (uint32_t threads = 1; threads <= THREADS_MAX; threads *= 2) {
		printf("%-8u", threads);
		for (int way = STRIPED; way < WAYS; way++) {
			uint64_t most = 0;

			for (int round = 0; round < ROUNDS; round++) {
				run((enum way)way, threads, take);
				const uint64_t held = hq_load_relaxed(&bench.held_bytes);

				most = held > LIMIT_BYTES && held - LIMIT_BYTES > most
					       ? held - LIMIT_BYTES
					       : most;
			}
			printf(" %18.1f MiB", (double)most / HQ_MIB);
		}
		printf("\n");
	}
}

int main(void)
{
	bench.statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (bench.statm_fd < 0)
		return 1;
	alarm(120);
	compare("a request that is checked", check);
	compare("a block of a request that is checked, counted and taken off again", count_blocks);
	compare_overshoot();
	return 0;
}
