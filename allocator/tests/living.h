/* SPDX-License-Identifier: MIT */
/*
 * What a program does with the allocator while something is refused, and what it weighs, for unit
 * tests.
 */
#ifndef BEDROCK_TESTS_LIVING_H
#define BEDROCK_TESTS_LIVING_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"

#define LIVING_BLOCKS_MAX 4096

static inline struct bedrock_stats stats_now(void)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	return stats;
}

static inline void sleep_ms(long ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* Resident bytes of this process. */
static inline size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total = 0;
	unsigned long resident = 0;

	cr_assert(file);
	cr_assert_eq(fscanf(file, "%lu %lu", &total, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Fill `count` blocks of `bytes` and free them all: what they covered rests as dirty. */
static inline void make_dirty(size_t count, size_t bytes)
{
	static void *blocks[LIVING_BLOCKS_MAX];

	cr_assert_leq(count, LIVING_BLOCKS_MAX);
	for (size_t i = 0; i < count; i++) {
		blocks[i] = bedrock_malloc(bytes);
		cr_assert(blocks[i]);
		memset(blocks[i], 0x5a, bytes);
	}
	for (size_t i = 0; i < count; i++)
		bedrock_free(blocks[i]);
}

/* Let slow paths run for a while, as a program that is alive would. */
static inline void stay_alive(long ms)
{
	for (long i = 0; i < ms / 10; i++) {
		for (int j = 0; j < 40; j++)
			bedrock_free(bedrock_malloc(100000));
		sleep_ms(10);
	}
}

#endif
