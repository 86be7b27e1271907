/* SPDX-License-Identifier: MIT */
/*
 * What it takes to record the latency of one call in the host: the fine histogram alone, both of
 * them, and both behind the look whether a fault has just been made. Values as calls have them,
 * from 30 ns to some microseconds, all drawn beforehand. Best of several, in nanoseconds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "injectors/clock.h"
#include "injectors/syscall/wake.h"
#include "stress/wire/wire.h"

#define VALUES  4096u
#define ROUNDS  200u
#define REPEATS 61

static struct hq_wire_worker *worker;
static struct hq_plane *plane;
static uint64_t values[VALUES];

static void draw_values(void)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < VALUES; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		values[i] = 30 + (state >> 40) % (32u << (state >> 33) % 8);
	}
}

static void by_fine(uint64_t ns)
{
	hq_hist_record(&worker->hist[HQ_LATENCY_MALLOC], ns);
}

static void by_both(uint64_t ns)
{
	by_fine(ns);
	hq_coarse_record(&worker->bands[HQ_LATENCY_MALLOC][hq_band_of(ns)], ns);
}

static void by_window(uint64_t ns)
{
	if (!hq_wake_holds(&plane->faulted_until, ns)) {
		by_both(ns);
		return;
	}
	hq_hist_record(&worker->faulted_hist[HQ_LATENCY_MALLOC], ns);
	hq_coarse_record(&worker->faulted_bands[HQ_LATENCY_MALLOC][hq_band_of(ns)], ns);
}

/* Inlined with each of the three. */
static inline __attribute__((always_inline)) double measure(void (*record)(uint64_t))
{
	double best = 1e18;

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		const uint64_t start = hq_now_ns();

		for (uint32_t round = 0; round < ROUNDS; round++)
			for (uint32_t i = 0; i < VALUES; i++)
				record(values[i]);
		const double each = (double)(hq_now_ns() - start) / (ROUNDS * (double)VALUES);

		best = each < best ? each : best;
	}
	return best;
}

int main(void)
{
	worker = calloc(1, sizeof(*worker));
	plane = calloc(1, sizeof(*plane));
	if (!worker || !plane)
		return 1;
	draw_values();
	printf("one histogram               %5.2f ns\n", measure(by_fine));
	printf("both of a call              %5.2f ns\n", measure(by_both));
	printf("both, in a clean window     %5.2f ns\n", measure(by_window));
	hq_store_relaxed(&plane->faulted_until, HQ_WAKE_ALWAYS);
	printf("both, in a faulted window   %5.2f ns\n", measure(by_window));
	free(plane);
	free(worker);
	return 0;
}
