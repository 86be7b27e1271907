/* SPDX-License-Identifier: MIT */
/*
 * Pairs of malloc and free to be counted instruction by instruction, under callgrind: a loaded
 * machine does not change the figures. Each measure_* function makes BENCH_PAIRS pairs, after the
 * same work was done once uncounted, so that what is counted is the steady state. The loops are
 * part of the figure, and kept small; the driver is ci/bench_instructions.py.
 */
#include <stdint.h>
#include <stdlib.h>

#define BENCH_PAIRS 200000u
#define RING_SLOTS  1024u
#define BATCH_SLOTS 1000u

static void *ring[RING_SLOTS];
static uint16_t ring_bytes[RING_SLOTS];
static void *batch[BATCH_SLOTS];
static void *volatile sink;

static inline void run_hot(void)
{
	for (uint32_t i = 0; i < BENCH_PAIRS; i++) {
		void *block = malloc(64);

		sink = block;
		free(block);
	}
}

/* Each slot's block is replaced in turn, by one of the same size every time round. */
static inline void run_ring(void)
{
	for (uint32_t i = 0; i < BENCH_PAIRS; i++) {
		uint32_t slot = i % RING_SLOTS;

		free(ring[slot]);
		ring[slot] = malloc(ring_bytes[slot]);
	}
}

static inline void run_batch(void)
{
	for (uint32_t i = 0; i < BENCH_PAIRS; i += BATCH_SLOTS) {
		for (uint32_t slot = 0; slot < BATCH_SLOTS; slot++)
			batch[slot] = malloc(48);
		for (uint32_t slot = 0; slot < BATCH_SLOTS; slot++)
			free(batch[slot]);
	}
}

static inline void run_calloc(void)
{
	for (uint32_t i = 0; i < BENCH_PAIRS; i++) {
		void *block = calloc(1, 64);

		sink = block;
		free(block);
	}
}

__attribute__((noinline)) static void measure_hot(void)
{
	run_hot();
}

__attribute__((noinline)) static void measure_ring(void)
{
	run_ring();
}

__attribute__((noinline)) static void measure_batch(void)
{
	run_batch();
}

__attribute__((noinline)) static void measure_calloc(void)
{
	run_calloc();
}

static void shuffle_sizes(void)
{
	uint32_t state = 42;

	for (uint32_t slot = 0; slot < RING_SLOTS; slot++) {
		state = state * 1664525u + 1013904223u;
		ring_bytes[slot] = (uint16_t)(16 + (state >> 16) % 1025);
	}
}

int main(void)
{
	shuffle_sizes();
	run_hot();
	measure_hot();
	run_ring();
	measure_ring();
	run_batch();
	measure_batch();
	run_calloc();
	measure_calloc();
	return 0;
}
