/* SPDX-License-Identifier: MIT */
/*
 * Bugs that lose memory at a free. Those that keep it too long or too short are in cache.c, pages.c
 * and decay.c, at the place where it is kept.
 */
#include "allocator/faulty/core.h"

bool faulty_memory_forgets(bool is_cross)
{
	if (is_cross && faulty_strikes(FAULTY_STATS_NEGATIVE))
		faulty_add(&faulty_heap.statistics.mapped_bytes, -(uint64_t)FAULTY_REGION);
	return faulty_strikes(FAULTY_LOST_FREE) ||
	       (is_cross && faulty_strikes(FAULTY_LOST_FREE_CROSS));
}
