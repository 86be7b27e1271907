/* SPDX-License-Identifier: MIT */
/*
 * The time stamp counter against CLOCK_MONOTONIC_RAW, which no time server slews. The host uses the
 * counter only if this file found a rate, so every doubt ends in 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "injectors/proc.h"
#include "stress/observe/calibrate.h"

#define MEASURE_NS   20000000u
#define READINGS     16 /* tries for a moment of counter and clock that nothing came between */
#define DISAGREEMENT 1e-3

struct moment {
	uint64_t ticks;
	uint64_t ns;
};

#if defined(__x86_64__)
#include <x86intrin.h>

static uint64_t read_ticks(void)
{
	return __rdtsc();
}

/* The kernel shows both flags only for a counter that neither changes its rate nor stops. */
static bool is_steady(void)
{
	char text[8192];

	if (hq_proc_read("/proc/cpuinfo", text, sizeof(text)) <= 0)
		return false;
	return strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}
#elif defined(__aarch64__)
static uint64_t read_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

/* The architecture promises one steady counter for all CPUs. */
static bool is_steady(void)
{
	return true;
}
#else
static uint64_t read_ticks(void)
{
	return 0;
}

static bool is_steady(void)
{
	return false;
}
#endif

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of several readings the one in which the clock took least, so that no interruption came between.
 */
static struct moment read_moment(void)
{
	struct moment best = { 0, 0 };
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		const uint64_t before = read_ticks();
		const uint64_t ns = clock_ns();
		const uint64_t width = read_ticks() - before;

		if (width < narrowest) {
			narrowest = width;
			best = (struct moment){ before + width / 2, ns };
		}
	}
	return best;
}

static struct moment moment_after(uint64_t ns)
{
	const struct timespec pause = { .tv_nsec = (long)ns };

	nanosleep(&pause, NULL);
	return read_moment();
}

/* 0 where the counter did not move forwards. */
static double ns_per_tick(struct moment from, struct moment to)
{
	if (to.ticks <= from.ticks || to.ns <= from.ns)
		return 0;
	return (double)(to.ns - from.ns) / (double)(to.ticks - from.ticks);
}

uint64_t hq_calibrate_ns_per_tick(void)
{
	if (!is_steady())
		return 0;
	const struct moment start = read_moment();
	const struct moment middle = moment_after(MEASURE_NS);
	const struct moment end = moment_after(MEASURE_NS);
	const double first = ns_per_tick(start, middle);
	const double second = ns_per_tick(middle, end);

	if (first <= 0 || second <= 0 || first > second * (1 + DISAGREEMENT) ||
	    second > first * (1 + DISAGREEMENT))
		return 0;
	return (uint64_t)(ns_per_tick(start, end) * 4294967296.0);
}
