/* SPDX-License-Identifier: MIT */
/*
 * Streams of random numbers: splitmix64, in integers throughout, so that a seed means the same work
 * on every machine and with every C library.
 */
#include "stress/workload/workload.h"

#define GOLDEN        0x9e3779b97f4a7c15ull
#define FRACTION_BITS 32u /* of a logarithm */

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

struct hq_random hq_random_stream(uint64_t seed, uint32_t thread, uint32_t purpose)
{
	const uint64_t place = ((uint64_t)thread << 32 | purpose) + 1;

	return (struct hq_random){ .state = mix(mix(seed + GOLDEN) ^ mix(place * GOLDEN)) };
}

uint64_t hq_random_next(struct hq_random *random)
{
	random->state += GOLDEN;
	return mix(random->state);
}

uint64_t hq_random_below(struct hq_random *random, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)hq_random_next(random) * bound) >> 64);
}

bool hq_random_chance(struct hq_random *random, double share)
{
	/* 53 bits are what a double holds exactly; always below 1, so a share of 1 is certain. */
	return (double)(hq_random_next(random) >> 11) * 0x1p-53 < share;
}

/* log2 with straight lines between the powers of two, and its exact inverse. */
static uint64_t log_of(uint64_t value)
{
	const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(value);
	const uint64_t rest = value - (1ull << exponent);

	return ((uint64_t)exponent << FRACTION_BITS) +
	       (uint64_t)(((unsigned __int128)rest << FRACTION_BITS) >> exponent);
}

static uint64_t power_of(uint64_t logarithm)
{
	const uint32_t exponent = (uint32_t)(logarithm >> FRACTION_BITS);
	const uint64_t rest = logarithm & ((1ull << FRACTION_BITS) - 1);

	return (1ull << exponent) +
	       (uint64_t)(((unsigned __int128)rest << exponent) >> FRACTION_BITS);
}

/* Logarithmic: each doubling of the size is equally likely, and sizes inside it are. */
static uint64_t size_log(struct hq_random *random, uint64_t min_bytes, uint64_t max_bytes)
{
	const uint64_t low = log_of(min_bytes);
	const uint64_t high = log_of(max_bytes + 1);
	const uint64_t size = power_of(low + hq_random_below(random, high - low));

	return size < min_bytes ? min_bytes : size > max_bytes ? max_bytes : size;
}

uint64_t hq_random_size(struct hq_random *random, const struct hq_sizes *sizes)
{
	const uint64_t min_bytes = sizes->min_bytes;
	const uint64_t max_bytes = sizes->max_bytes;

	if (sizes->shape == HQ_SIZES_LOG && min_bytes > 0)
		return size_log(random, min_bytes, max_bytes);
	return min_bytes + hq_random_below(random, max_bytes - min_bytes + 1);
}
