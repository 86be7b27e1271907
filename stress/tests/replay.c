/* SPDX-License-Identifier: MIT */
/*
 * Replays a trace on whatever malloc there is and does hardly anything else, for benchmarks: replay
 * TRACE LOOPS THREADS. Each block's first bytes and each of its pages are written to, as a program
 * would. One loop is for the peak of resident memory, which is looked at every so often; the others
 * are for CPU time. Prints both as the programs of allocator/bench do.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/syscall/raw.h"
#include "stress/workload/trace.h"

#define THREADS_MAX 64u
#define SPINS       200u
#define PARKED_NS   1000000
#define LOOK_EVERY  256u /* steps of a thread between two looks at resident memory */
#define HEAD_BYTES  64u
#define PAGE_BYTES  4096u

struct slot {
	char *block;
	_Atomic uint32_t turn;
	uint32_t reserved;
};

static struct {
	struct hq_trace_script script;
	struct slot *slots;
	pthread_barrier_t all;
	uint64_t loops;
	int64_t cpu_us; /* of the loops but the first, when they are over */
	uint64_t system_us, faults;
	_Atomic uint64_t peak_kib;
} replay;

void *hq_host_map(size_t size)
{
	void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Without stdio, which would allocate. */
static uint64_t resident_kib(void)
{
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	const ssize_t length = read(fd, text, sizeof(text) - 1);
	const char *line;

	close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "RssAnon:");
	return line ? strtoull(line + 8, NULL, 10) : 0;
}

static void look(void)
{
	const uint64_t kib = resident_kib();
	uint64_t peak = hq_load_relaxed(&replay.peak_kib);

	while (kib > peak && !hq_cas_weak_relaxed(&replay.peak_kib, &peak, kib))
		;
}

static void await_turn(struct slot *slot, uint32_t turn)
{
	const struct timespec time = { .tv_nsec = PARKED_NS };
	uint32_t seen, spins = 0;

	/* Pairs with the release in make_step. */
	while ((int32_t)((seen = hq_load_acquire(&slot->turn)) - turn) < 0)
		if (++spins > SPINS)
			hq_raw4(SYS_futex, (long)&slot->turn, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen,
				(long)&time);
}

static void touch(char *block, uint64_t size)
{
	if (!block)
		return;
	memset(block, 1, size < HEAD_BYTES ? size : HEAD_BYTES);
	for (uint64_t at = PAGE_BYTES; at < size; at += PAGE_BYTES)
		block[at] = 1;
}

static char *aligned(uint64_t alignment, uint64_t size)
{
	void *block = NULL;

	if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size))
		return NULL;
	return block;
}

static char *call(const struct hq_trace_step *step, char *block)
{
	switch (step->kind) {
	case HQ_TRACE_FREE:
		free(block);
		return NULL;
	case HQ_TRACE_CALLOC:
		block = calloc(1, step->size);
		break;
	case HQ_TRACE_ALIGNED:
		block = aligned(1ull << step->shift, step->size);
		break;
	case HQ_TRACE_RESIZE:
		block = realloc(block, step->size ? step->size : 1);
		break;
	default:
		block = malloc(step->size);
	}
	touch(block, step->size);
	return block;
}

static void make_step(const struct hq_trace_step *step)
{
	struct slot *const slot = &replay.slots[step->slot];

	if (step->waits)
		await_turn(slot, step->turn);
	slot->block = call(step, slot->block);
	if (!step->hands_on)
		return;
	/* Pairs with the acquire in await_turn. */
	hq_store_release(&slot->turn, step->turn + 1);
	hq_raw3(SYS_futex, (long)&slot->turn, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX);
}

static void play(uint32_t thread, bool looks)
{
	const struct hq_trace_steps *const steps = &replay.script.thread[thread];

	for (uint64_t i = 0; i < steps->count; i++) {
		make_step(&steps->steps[i]);
		if (looks && i % LOOK_EVERY == 0)
			look();
	}
	if (looks)
		look();
}

static void clear_share(uint32_t thread)
{
	for (uint32_t i = thread; i < replay.script.slots; i += replay.script.threads) {
		free(replay.slots[i].block);
		replay.slots[i].block = NULL;
		hq_store_relaxed(&replay.slots[i].turn, 0);
	}
}

static int64_t cpu_us(const struct rusage *used)
{
	return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * INT64_C(1000000) +
	       used->ru_utime.tv_usec + used->ru_stime.tv_usec;
}

static void *run(void *argument)
{
	const uint32_t thread = (uint32_t)(uintptr_t)argument;
	struct rusage before = { .ru_minflt = 0 }, after;

	for (uint64_t loop = 0; loop <= replay.loops; loop++) {
		if (loop == 1)
			getrusage(RUSAGE_SELF, &before);
		pthread_barrier_wait(&replay.all);
		play(thread, loop == 0);
		pthread_barrier_wait(&replay.all);
		clear_share(thread);
		pthread_barrier_wait(&replay.all);
	}
	if (thread != 0)
		return NULL;
	getrusage(RUSAGE_SELF, &after);
	replay.cpu_us = cpu_us(&after) - cpu_us(&before);
	replay.system_us = (uint64_t)((after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
				      after.ru_stime.tv_usec - before.ru_stime.tv_usec);
	replay.faults = (uint64_t)(after.ru_minflt - before.ru_minflt);
	return NULL;
}

static int prepare(const char *trace, uint64_t threads)
{
	struct hq_trace_info info;
	struct hq_error error;

	if (hq_trace_script_check(trace, &error) || hq_trace_script_info(trace, &info, &error)) {
		fprintf(stderr, "replay: %s\n", error.text);
		return 2;
	}
	if (threads == 0 || threads > info.threads)
		threads = info.threads;
	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	if (hq_trace_script_load(trace, (uint32_t)threads, &replay.script))
		return 3;
	replay.slots = hq_host_map((replay.script.slots + 1) * sizeof(*replay.slots));
	pthread_barrier_init(&replay.all, NULL, (unsigned int)threads);
	return replay.slots ? 0 : 3;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	int status;

	if (argc != 4) {
		fputs("usage: replay TRACE LOOPS THREADS\n", stderr);
		return 2;
	}
	replay.loops = strtoull(argv[2], NULL, 10);
	status = prepare(argv[1], strtoull(argv[3], NULL, 10));
	if (status)
		return status;
	for (uintptr_t i = 0; i < replay.script.threads; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)i))
			return 3;
	for (uint32_t i = 0; i < replay.script.threads; i++)
		pthread_join(ids[i], NULL);
	printf("cpu_us\t%" PRId64 "\tsystem_us\t%" PRIu64 "\tfaults\t%" PRIu64
	       "\tpeak_kib\t%" PRIu64 "\trequested_kib\t%" PRIu64 "\tleft_kib\t0\n",
	       replay.cpu_us, replay.system_us, replay.faults, hq_load_relaxed(&replay.peak_kib),
	       replay.script.info.peak_bytes / 1024);
	return 0;
}
