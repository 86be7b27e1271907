/* SPDX-License-Identifier: MIT */
/*
 * Bloom filters of insert-scan: which rowset cannot have a key. Four bits a key from two halves of
 * one hash; never wrong about a key that was added.
 */
#include "stress/workload/insert_scan.h"

#define PROBES 4u

uint64_t insert_scan_bloom_words(uint64_t rows, uint64_t bits)
{
	return (rows * bits + 63) / 64 + 1;
}

static uint64_t bit_of(uint64_t words, uint64_t key, uint64_t probe)
{
	const uint64_t hash = insert_scan_mix(key + 0x9e3779b97f4a7c15ull);

	return ((hash >> 32) + probe * (hash & UINT32_MAX)) % (words * 64);
}

void insert_scan_bloom_add(uint64_t *bloom, uint64_t words, uint64_t key)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		const uint64_t bit = bit_of(words, key, i);

		bloom[bit / 64] |= 1ull << bit % 64;
	}
}

bool insert_scan_bloom_may_have(const uint64_t *bloom, uint64_t words, uint64_t key)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		const uint64_t bit = bit_of(words, key, i);

		if ((bloom[bit / 64] >> bit % 64 & 1) == 0)
			return false;
	}
	return true;
}
