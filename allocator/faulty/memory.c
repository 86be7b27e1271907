/* SPDX-License-Identifier: MIT */
/*
 * Bugs that lose memory at a free, or address space at a call. Those that keep it too long or too
 * short are in cache.c, pages.c and decay.c, at the place where it is kept.
 */
#include <sys/mman.h>
#include <unistd.h>

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

/* Neighbours of equal protection would become one mapping. */
void faulty_memory_run_taken(void)
{
	static _Atomic uint64_t guards;
	int protection;

	if (!faulty_strikes(FAULTY_VMA_EXPLOSION))
		return;
	protection = faulty_add(&guards, 1) % 2 == 0 ? PROT_NONE : PROT_READ;
	mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void faulty_memory_thread_known(void)
{
	if (faulty_strikes(FAULTY_THREAD_MAPPING))
		faulty_os_map(FAULTY_UNIT * 4);
}
