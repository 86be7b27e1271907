/* SPDX-License-Identifier: MIT */
/*
 * Bugs that lose memory at a free. Those that keep it too long or too short are in cache.c, pages.c
 * and decay.c, at the place where it is kept.
 */
#include "allocator/faulty/core.h"

void faulty_memory_counted(const void *block, bool is_cross)
{
	if (is_cross && faulty_strikes(FAULTY_STATS_NEGATIVE))
		faulty_add(&faulty_heap.statistics.allocated_bytes,
			   -(uint64_t)faulty_block_size(block));
}

bool faulty_memory_forgets(bool is_cross)
{
	return faulty_strikes(FAULTY_LOST_FREE) || faulty_strikes(FAULTY_LOST_SLOWLY) ||
	       (is_cross && faulty_strikes(FAULTY_LOST_FREE_CROSS));
}
