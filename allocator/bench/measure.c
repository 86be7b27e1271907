/* SPDX-License-Identifier: MIT */
/*
 * The measuring half of every benchmark program: NAME [SCALE [SETTLE_MS]].
 *
 * Prints one line of tab-separated names and values: CPU time and page faults of the work, the peak
 * of resident and of requested memory, and what is resident SETTLE_MS after everything was freed.
 * CPU time, not elapsed time: it says something on a machine that others use as well.
 */
#include "allocator/bench/bench.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Threads report whole blocks of their accounts here, so that counting stays cheap. */
#define BENCH_BLOCK_BYTES ((int64_t)64 << 10)

static struct {
	_Atomic(int64_t) live_bytes;
	_Atomic(int64_t) peak_bytes;
} account;

static __thread int64_t thread_bytes;

static void account_submit(int64_t bytes)
{
	int64_t live = atomic_fetch_add(&account.live_bytes, bytes) + bytes;
	int64_t peak = atomic_load(&account.peak_bytes);

	while (live > peak && !atomic_compare_exchange_weak(&account.peak_bytes, &peak, live))
		;
}

void bench_live_add(size_t bytes)
{
	thread_bytes += (int64_t)bytes;
	if (thread_bytes < BENCH_BLOCK_BYTES)
		return;
	account_submit(thread_bytes);
	thread_bytes = 0;
}

void bench_live_sub(size_t bytes)
{
	thread_bytes -= (int64_t)bytes;
	if (thread_bytes > -BENCH_BLOCK_BYTES)
		return;
	account_submit(thread_bytes);
	thread_bytes = 0;
}

void bench_live_was(size_t peak_bytes)
{
	account_submit((int64_t)peak_bytes);
	account_submit(-(int64_t)peak_bytes);
}

static void fail(const char *what)
{
	(void)!write(STDERR_FILENO, what, strlen(what));
	_exit(3);
}

void *bench_malloc(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		fail("bench: out of memory\n");
	return block;
}

pthread_t bench_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument))
		fail("bench: no thread\n");
	return thread;
}

/* A figure in KiB of a file in /proc/self, without stdio: it would allocate. */
static long read_kib(const char *path, const char *name)
{
	static char text[8192];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[length > 0 ? length : 0] = '\0';
	const char *line = strstr(text, name);

	return line ? strtol(line + strlen(name), NULL, 10) : 0;
}

static int64_t cpu_us(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000) +
	       usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

static void settle(long milliseconds)
{
	struct timespec time = {
		.tv_sec = milliseconds / 1000,
		.tv_nsec = milliseconds % 1000 * 1000000,
	};

	nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
	unsigned scale = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
	long settle_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	struct rusage before;
	struct rusage after;

	getrusage(RUSAGE_SELF, &before);
	bench_run(scale);
	getrusage(RUSAGE_SELF, &after);
	long peak_kib = read_kib("/proc/self/status", "VmHWM:");
	long left_kib = 0;

	if (settle_ms > 0) {
		settle(settle_ms);
		left_kib = read_kib("/proc/self/smaps_rollup", "\nRss:");
	}
	printf("cpu_us\t%" PRId64
	       "\tsystem_us\t%ld\tfaults\t%ld\tpeak_kib\t%ld\trequested_kib\t%" PRId64
	       "\tleft_kib\t%ld\n",
	       cpu_us(&after) - cpu_us(&before),
	       (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000L +
		       after.ru_stime.tv_usec - before.ru_stime.tv_usec,
	       after.ru_minflt - before.ru_minflt, peak_kib,
	       atomic_load(&account.peak_bytes) / 1024, left_kib);
	return 0;
}
