/* SPDX-License-Identifier: MIT */
/*
 * Reading where a block came from.
 */
#include "stress/guard/origin.h"

#define LOW(bits) (~(~0ull << (bits)))

/* A place, if it is of that address; 0 if not. */
static uint64_t site_of(uint64_t word, uint64_t hash)
{
	const uint64_t site = word & LOW(HQ_ORIGIN_SITE_BITS);

	return hq_origin_site(hash, site) == word ? site : 0;
}

bool hq_origins_find(const struct hq_origins *origins, uint64_t address, struct hq_origin *origin)
{
	const uint64_t hash = hq_origin_hash(address);
	const struct hq_origin_entry *const entry = &origins->entries[hq_origin_index(hash)];
	const uint64_t block = hq_load_relaxed(&entry->block);
	const uint64_t tids = hq_load_relaxed(&entry->tids);

	*origin = (struct hq_origin){ .size = 0 };
	if ((block ^ hq_origin_block(address)) >> 20 || address == 0)
		return false;
	origin->allocated_at = site_of(hq_load_relaxed(&entry->allocated_at), hash);
	if (!origin->allocated_at)
		return false;
	origin->size =
		(block & HQ_ORIGIN_SIZE_MAX) < HQ_ORIGIN_SIZE_MAX ? block & HQ_ORIGIN_SIZE_MAX : 0;
	if ((tids ^ hq_origin_tids(hash, 0, 0)) >> 2 * HQ_ORIGIN_TID_BITS)
		return true;
	origin->allocated_by = (uint32_t)(tids >> HQ_ORIGIN_TID_BITS & LOW(HQ_ORIGIN_TID_BITS));
	origin->freed_by = (uint32_t)(tids & LOW(HQ_ORIGIN_TID_BITS));
	if (origin->freed_by)
		origin->freed_at = site_of(hq_load_relaxed(&entry->freed_at), hash);
	return true;
}
