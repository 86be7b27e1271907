/* SPDX-License-Identifier: MIT */
/*
 * The timing half of tails.c.
 */
#include "allocator/bench/latency.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "allocator/bench/bench.h"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#define STEP_BITS 5u
#define STEPS     (1u << STEP_BITS)
#define BUCKETS   (64u * STEPS)

enum call {
	CALL_MALLOC,
	CALL_FREE,
	CALLS,
};

static const char *const call_names[CALLS] = { "malloc", "free" };

static struct {
	_Atomic(uint64_t) counts[CALLS][BUCKETS];
	_Atomic(uint64_t) left_out;
	uint64_t begin_ticks;
	uint64_t begin_ns;
} all;

static __thread struct {
	uint32_t counts[CALLS][BUCKETS];
	uint32_t left_out;
	/* How often it had waited when that was last looked at. */
	long waits;
} own;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return now_ns();
#endif
}

/* One bucket for each tick up to STEPS, then STEPS buckets per doubling. */
static uint32_t bucket_of(uint64_t ticks)
{
	if (ticks < STEPS)
		return (uint32_t)ticks;
	uint32_t shift = 63 - STEP_BITS - (uint32_t)__builtin_clzll(ticks);

	return shift * STEPS + (uint32_t)(ticks >> shift);
}

/* The middle of a bucket. */
static uint64_t ticks_of(uint32_t bucket)
{
	if (bucket < 2 * STEPS)
		return bucket;
	uint32_t shift = bucket / STEPS - 1;

	return (((uint64_t)(bucket % STEPS + STEPS)) << shift) + (UINT64_C(1) << shift) / 2;
}

#ifdef RSEQ_SIG

/*
 * A restartable sequence that contains no instruction: whenever the thread comes back from being
 * switched out, the kernel finds that it is not in it, and takes the pointer away. The kernel wants
 * the signature in front of where it would continue.
 */
static const uint32_t rseq_end[2] = { RSEQ_SIG, 0 };

static const struct {
	uint32_t version;
	uint32_t flags;
	uint64_t start;
	uint64_t length;
	const void *abort;
} rseq_nothing __attribute__((aligned(32))) = { .start = 4096, .abort = &rseq_end[1] };

/* The second word of the thread's area, or NULL where there is none. */
static inline volatile uint64_t *rseq_word(void)
{
	if (__rseq_size == 0)
		return NULL;
	return (volatile uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset + 8);
}

static inline void watch_switches(void)
{
	volatile uint64_t *word = rseq_word();

	if (word)
		*word = (uintptr_t)&rseq_nothing;
}

static inline bool was_switched(void)
{
	volatile uint64_t *word = rseq_word();

	return word && *word == 0;
}

#else

static inline void watch_switches(void)
{
}

static inline bool was_switched(void)
{
	return false;
}

#endif

static long waits_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

void latency_excuse(void)
{
	own.waits = waits_so_far();
}

static void record(enum call call, uint64_t begin, uint64_t end)
{
	if (was_switched()) {
		long waits = waits_so_far();
		bool has_waited = waits != own.waits;

		own.waits = waits;
		if (!has_waited) {
			own.left_out++;
			return;
		}
	}
	own.counts[call][bucket_of(end > begin ? end - begin : 0)]++;
}

void *latency_malloc(size_t bytes)
{
	watch_switches();
	uint64_t begin = now_ticks();
	void *block = bench_malloc(bytes);
	uint64_t end = now_ticks();

	record(CALL_MALLOC, begin, end);
	return block;
}

void latency_free(void *block)
{
	watch_switches();
	uint64_t begin = now_ticks();

	free(block);
	uint64_t end = now_ticks();

	record(CALL_FREE, begin, end);
}

void latency_begin(void)
{
	all.begin_ns = now_ns();
	all.begin_ticks = now_ticks();
}

void latency_submit(void)
{
	for (uint32_t call = 0; call < CALLS; call++) {
		for (uint32_t i = 0; i < BUCKETS; i++)
			atomic_fetch_add(&all.counts[call][i], own.counts[call][i]);
	}
	atomic_fetch_add(&all.left_out, own.left_out);
}

static uint64_t quantile(enum call call, uint64_t total, double share)
{
	uint64_t wanted = (uint64_t)((double)total * share);
	uint64_t seen = 0;
	uint32_t bucket = 0;

	while (bucket < BUCKETS - 1 && (seen += all.counts[call][bucket]) <= wanted)
		bucket++;
	return ticks_of(bucket);
}

void latency_print(void)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {
		{ "p50", 0.5 },
		{ "p99", 0.99 },
		{ "p99_9", 0.999 },
		{ "p99_99", 0.9999 },
	};
	double ns_per_tick =
		(double)(now_ns() - all.begin_ns) / (double)(now_ticks() - all.begin_ticks);

	for (uint32_t call = 0; call < CALLS; call++) {
		uint64_t total = 0;

		for (uint32_t i = 0; i < BUCKETS; i++)
			total += all.counts[call][i];
		for (uint32_t i = 0; i < 4; i++)
			printf("%s_%s_ns\t%.0f\t", call_names[call], quantiles[i].name,
			       (double)quantile(call, total, quantiles[i].share) * ns_per_tick);
		printf("%s_calls\t%" PRIu64 "\t", call_names[call], total);
	}
	printf("left_out\t%" PRIu64 "\t", all.left_out);
}
