/* SPDX-License-Identifier: MIT */
/*
 * How fast blocks are stamped, verified and entered into the shadow, next to memset, memcpy and
 * memcmp over the same memory: the host's own share in what a workload takes. Ratios mean more than
 * the figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/clock.h"
#include "stress/host/shadow.h"
#include "stress/host/stamp.h"

#define TOTAL_BYTES   (64ull << 20) /* handled in each measurement */
#define REPEATS       7
#define LARGEST_BYTES (16ull << 20)

static struct hq_shadow shadow;
static volatile uint64_t sink;

static void by_memset(uint8_t *block, uint64_t size)
{
	memset(block, (int)size, size);
}

/* The second half of the memory is a copy of the first. */
static void by_memcmp(uint8_t *block, uint64_t size)
{
	sink += (uint64_t)memcmp(block, block + LARGEST_BYTES, size);
}

static void by_memcpy(uint8_t *block, uint64_t size)
{
	memcpy(block + LARGEST_BYTES, block, size);
}

static void by_fill(uint8_t *block, uint64_t size)
{
	hq_stamp_fill(block, size, 42);
}

static void by_verify(uint8_t *block, uint64_t size)
{
	struct hq_damage damage;

	sink += hq_stamp_verify(block, size, 42, &damage);
}

static void by_shadow(uint8_t *block, uint64_t size)
{
	uint64_t offset;

	sink += hq_shadow_set(&shadow, block, size, &offset);
	hq_shadow_clear(&shadow, block, size);
}

/* Best of several, in nanoseconds for one block. */
static double measure(void (*work)(uint8_t *, uint64_t), uint8_t *block, uint64_t size)
{
	const uint64_t rounds = TOTAL_BYTES / size;
	double best = 1e18;

	for (int repeat = 0; repeat < REPEATS; repeat++) {
		const uint64_t start = hq_now_ns();

		for (uint64_t i = 0; i < rounds; i++)
			work(block, size);
		const double each = (double)(hq_now_ns() - start) / (double)rounds;

		best = each < best ? each : best;
	}
	return best;
}

static double measure_equal(uint8_t *block, uint64_t size)
{
	memcpy(block + LARGEST_BYTES, block, size);
	return measure(by_memcmp, block, size);
}

int main(void)
{
	static const uint64_t sizes[] = { 16, 100, 1024, 16384, 1u << 20, LARGEST_BYTES };
	uint8_t *const block = calloc(2, LARGEST_BYTES);

	if (block == NULL || hq_shadow_init(&shadow) != 0)
		return 1;
	printf("%10s  %18s  %18s  %18s  %18s  %18s  %12s\n", "size", "fill", "verify", "memset",
	       "memcpy", "memcmp", "shadow");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const double size = (double)sizes[i];
		const double set = measure(by_memset, block, sizes[i]);
		const double copy = measure(by_memcpy, block, sizes[i]);
		const double compare = measure_equal(block, sizes[i]);
		const double fill = measure(by_fill, block, sizes[i]);
		const double verify = measure(by_verify, block, sizes[i]);
		const double both = measure(by_shadow, block, sizes[i]);

		printf("%8.0f B  %8.1f ns %5.1f GB/s %7.1f ns %5.1f GB/s %7.1f ns %5.1f GB/s "
		       "%7.1f ns %5.1f GB/s %7.1f ns %5.1f GB/s %8.1f ns\n",
		       size, fill, size / fill, verify, size / verify, set, size / set, copy,
		       size / copy, compare, size / compare, both);
	}
	free(block);
	return 0;
}
