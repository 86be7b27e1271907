/* SPDX-License-Identifier: MIT */
/*
 * Where blocks came from and where they went: for an address the thread and the place of its last
 * allocation and of its last free. A table of fixed size, written without locks with every call:
 * newer addresses take the place of older ones, so it is asked only for evidence, and may not know.
 *
 * Threads may write one entry at a time. Each word carries a few bits of the address that it is of,
 * and a reader takes nothing that was mixed from two.
 */
#ifndef HQ_STRESS_GUARD_ORIGIN_H
#define HQ_STRESS_GUARD_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"

#define HQ_ORIGIN_BITS 15

/* Thread ids have 22 bits on every Linux, addresses of code 48. */
#define HQ_ORIGIN_TID_BITS  22
#define HQ_ORIGIN_SITE_BITS 48
#define HQ_ORIGIN_SIZE_MAX  ((1ull << 20) - 1)

struct hq_origin_entry {
	_Atomic uint64_t block; /* address / 8 in the upper 44 bits, then its size */
	_Atomic uint64_t allocated_at, freed_at; /* above the place, 16 bits of the tag */
	_Atomic uint64_t tids;                   /* 20 bits of the tag, who allocated, who freed */
};

/* All zero: nothing is known. */
struct hq_origins {
	struct hq_origin_entry entries[1u << HQ_ORIGIN_BITS];
};

/* What is known of an address; 0: not known. */
struct hq_origin {
	uint64_t size; /* as it was asked for */
	uint64_t allocated_at, freed_at;
	uint32_t allocated_by, freed_by;
};

bool hq_origins_find(const struct hq_origins *origins, uint64_t address, struct hq_origin *origin);

static inline uint64_t hq_origin_hash(uint64_t address)
{
	return (address >> 3) * 0x9e3779b97f4a7c15ull;
}

static inline uint64_t hq_origin_block(uint64_t address)
{
	return address >> 3 << 20;
}

static inline uint64_t hq_origin_index(uint64_t hash)
{
	return hash >> (64 - HQ_ORIGIN_BITS);
}

/* A place with the tag above it. */
static inline uint64_t hq_origin_site(uint64_t hash, uint64_t site)
{
	return (hash << 16 & ~0ull << HQ_ORIGIN_SITE_BITS) |
	       (site & ~(~0ull << HQ_ORIGIN_SITE_BITS));
}

static inline uint64_t hq_origin_tids(uint64_t hash, uint64_t allocated_by, uint64_t freed_by)
{
	return (hash << 16 & ~0ull << 2 * HQ_ORIGIN_TID_BITS) | allocated_by << HQ_ORIGIN_TID_BITS |
	       freed_by;
}

/* Of a place that was freed before, who freed it stays known until it is freed again. */
static inline void hq_origins_allocated(struct hq_origins *origins, uint64_t address, uint64_t size,
					uint64_t site, uint32_t tid)
{
	const uint64_t hash = hq_origin_hash(address);
	struct hq_origin_entry *const entry = &origins->entries[hq_origin_index(hash)];
	const uint64_t kept = size < HQ_ORIGIN_SIZE_MAX ? size : HQ_ORIGIN_SIZE_MAX;
	const uint64_t freed_by =
		(hq_load_relaxed(&entry->block) ^ hq_origin_block(address)) >> 20 == 0
			? hq_load_relaxed(&entry->tids) & ~(~0ull << HQ_ORIGIN_TID_BITS)
			: 0;

	hq_store_relaxed(&entry->block, hq_origin_block(address) | kept);
	hq_store_relaxed(&entry->allocated_at, hq_origin_site(hash, site));
	hq_store_relaxed(&entry->tids, hq_origin_tids(hash, tid, freed_by));
}

static inline void hq_origins_freed(struct hq_origins *origins, uint64_t address, uint64_t site,
				    uint32_t tid)
{
	const uint64_t hash = hq_origin_hash(address);
	struct hq_origin_entry *const entry = &origins->entries[hq_origin_index(hash)];
	const uint64_t tids = hq_load_relaxed(&entry->tids);

	if ((hq_load_relaxed(&entry->block) ^ hq_origin_block(address)) >> 20)
		return;
	hq_store_relaxed(&entry->freed_at, hq_origin_site(hash, site));
	hq_store_relaxed(&entry->tids, (tids & ~0ull << HQ_ORIGIN_TID_BITS) | tid);
}

#endif
