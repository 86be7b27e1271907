/* SPDX-License-Identifier: MIT */
/*
 * What the memory limit costs: a refused request, and work below, near and at the limit.
 *
 * One thread replaces blocks of 64 B to 64 KiB of a set that would like to be 28 MiB. The limit
 * changes from row to row, the work does not. CPU time per operation, and system calls of the
 * allocator per thousand; the least of five rounds in turn.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/residence.h"
#include "allocator/tests/stress.h"

#define MIB            ((uint64_t)1 << 20)
#define BENCH_SLOTS    3000
#define BENCH_TURNS    100000
#define BENCH_REFUSALS 100000
#define BENCH_ROUNDS   5

struct bench_row {
	const char *name;
	uint64_t hard_bytes;
	uint64_t soft_bytes;
	uint64_t least_ns;
	unsigned calls;
	unsigned refused;
};

static struct bench_row rows[] = {
	{ .name = "no limit" },
	{ .name = "limit far away", .hard_bytes = 1024 * MIB },
	{ .name = "limit near, no soft limit", .hard_bytes = 34 * MIB, .soft_bytes = 34 * MIB },
	{ .name = "beyond the soft limit", .hard_bytes = 40 * MIB, .soft_bytes = 24 * MIB },
	{ .name = "at the limit", .hard_bytes = 24 * MIB, .soft_bytes = 24 * MIB },
};

#define BENCH_ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void *slots[BENCH_SLOTS];

static uint64_t bench_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void bench_turn(uint64_t *random, struct bench_row *row)
{
	void **slot = &slots[stress_random(random) % BENCH_SLOTS];
	size_t bytes = (size_t)64 << stress_random(random) % 10;

	bytes += stress_random(random) % bytes;
	bedrock_free(*slot);
	*slot = bedrock_malloc(bytes);
	if (*slot)
		*(char *)*slot = 1;
	else
		row->refused++;
}

static void bench_run(struct bench_row *row)
{
	uint64_t random = 42;

	bedrock_limit_memory(row->hard_bytes, row->soft_bytes);
	for (int i = 0; i < BENCH_SLOTS; i++)
		bench_turn(&random, row);
	row->refused = 0;
	unsigned calls = residence.calls;
	uint64_t start_ns = bench_cpu_ns();

	for (int i = 0; i < BENCH_TURNS; i++)
		bench_turn(&random, row);
	uint64_t took_ns = bench_cpu_ns() - start_ns;

	if (row->least_ns == 0 || took_ns < row->least_ns) {
		row->least_ns = took_ns;
		row->calls = residence.calls - calls;
	}
	for (int i = 0; i < BENCH_SLOTS; i++) {
		bedrock_free(slots[i]);
		slots[i] = NULL;
	}
	bedrock_purge();
}

static void bench_refusals(void)
{
	static void *blocks[4000];
	unsigned count = 0;

	bedrock_limit_memory(16 * MIB, 0);
	while (count < 4000 && (blocks[count] = bedrock_malloc(16000)))
		count++;
	unsigned calls = residence.calls;
	uint64_t start_ns = bench_cpu_ns();

	for (int i = 0; i < BENCH_REFUSALS; i++)
		blocks[count] = bedrock_malloc(16000 + (size_t)i % 200000);
	printf("%-28s %8.1f ns %12.2f\n", "a refused request",
	       (double)(bench_cpu_ns() - start_ns) / BENCH_REFUSALS,
	       (residence.calls - calls) * 1000.0 / BENCH_REFUSALS);
}

int main(void)
{
	residence_install();
	for (int round = 0; round < BENCH_ROUNDS; round++) {
		for (size_t i = 0; i < BENCH_ROW_COUNT; i++)
			bench_run(&rows[i]);
	}
	printf("%-28s %11s %12s %10s\n", "free and malloc", "CPU", "calls/1000", "refused");
	for (size_t i = 0; i < BENCH_ROW_COUNT; i++)
		printf("%-28s %8.1f ns %12.2f %9.1f%%\n", rows[i].name,
		       (double)rows[i].least_ns / BENCH_TURNS, rows[i].calls * 1000.0 / BENCH_TURNS,
		       rows[i].refused * 100.0 / BENCH_TURNS);
	bench_refusals();
	return 0;
}
